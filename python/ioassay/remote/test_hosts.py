from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.remote.hosts import Host, hosts


def names(*typed: str) -> list[str]:
    return [host.name for host in hosts(typed, "client", "ssh")]


def test_hosts_are_lists_and_hostfiles_without_repetitions(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# the rack\nnode03 slots=4\n\nnode04  # slow?\nnode01\n")
    assert names("node01, node02", f"@{file}") == ["node01", "node02", "node03", "node04"]


def test_a_command_goes_through_the_given_ssh_and_a_shell() -> None:
    (host,) = hosts(["node01"], "client", "ssh -p 2222")
    assert host.command("sh", "-c", "echo 'a b'") == ["ssh", "-p", "2222", "node01", """sh -c 'echo '"'"'a b'"'"''"""]


def test_a_step_of_a_job_takes_the_command_word_by_word() -> None:
    host = Host("node01", ("srun", "-w", "node01"), has_shell=False)
    assert host.command("sh", "-c", "echo 'a b'") == ["srun", "-w", "node01", "sh", "-c", "echo 'a b'"]


def test_a_server_without_a_listener_needs_no_address() -> None:
    (host,) = hosts(["no-such-host.invalid"], "server", "ssh", listening=False)
    assert (host.name, host.address) == ("no-such-host.invalid", None)


def test_a_server_has_its_typed_address() -> None:
    (host,) = hosts(["oss1=10.1.2.3"], "server", "ssh")
    assert (host.name, host.address) == ("oss1", "10.1.2.3")
    (host,) = hosts(["oss1=fe00::1"], "server", "ssh")
    assert host.address == "fe00::1"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("-oProxyCommand=x", "is not a host"),
        ("lab:", "needs the name of a lab"),
        ("oss1=nowhere", "not an address"),
        ("localhost", "which other hosts cannot reach"),
        ("@/nowhere", "cannot be read"),
        (",", "lists no hosts"),
    ],
)
def test_invalid_hosts_are_refused(typed: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        hosts([typed], "server", "ssh")

from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.net.hosts import hosts, refuse_same
from ioassay.net.patterns import DIRECTIONS, PATTERNS, Meeting, meetings


def names(*typed: str) -> list[str]:
    return [host.name for host in hosts(typed, "client", "ssh")]


def test_hosts_are_lists_repeated_and_files_as_mpirun_has_them(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# the rack\nnode03 slots=4\n\nnode04  # slow?\nnode01\n")
    assert names("node01, node02", f"@{file}") == ["node01", "node02", "node03", "node04"]


def test_a_command_goes_through_what_was_asked_for_and_a_shell() -> None:
    (host,) = hosts(["node01"], "client", "ssh -p 2222")
    assert host.command("sh", "-c", "echo 'a b'") == ["ssh", "-p", "2222", "node01", """sh -c 'echo '"'"'a b'"'"''"""]


def test_a_server_has_the_address_that_was_typed() -> None:
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
def test_what_cannot_be_meant_is_refused(typed: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        hosts([typed], "server", "ssh")


def test_a_host_is_not_both_ends() -> None:
    (host,) = hosts(["node01"], "client", "ssh")
    with pytest.raises(UsageError, match="node01"):
        refuse_same([host], [host])


def test_paths_are_measured_once_each_from_small_to_large() -> None:
    found = meetings(PATTERNS, ["to-servers"], 20, 4)
    assert [(one.clients, one.servers) for one in found] == [(1, 1), (1, 4), (20, 1), (20, 4)]
    assert len(meetings(PATTERNS, DIRECTIONS, 1, 1)) == 2
    assert [(one.clients, one.servers) for one in meetings(["n-m"], ["to-servers"], 3, 1)] == [(3, 1)]


def test_flows_are_dealt_out_so_that_every_host_takes_part() -> None:
    assert Meeting(20, 4, "to-servers").pairs[:5] == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 0)]
    assert Meeting(1, 4, "to-servers").pairs == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert len(Meeting(8, 1, "to-clients").pairs) == 8

"""Commands on hosts, here on this one."""

from __future__ import annotations

from pathlib import Path

from ioassay.remote import process
from ioassay.remote.hosts import Host
from ioassay.remote.process import until

HERE = Host("here", (), has_shell=False)


def _never() -> bool:
    return False


def test_a_fed_command_starts_at_once_and_ends_on_request(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("before\n")
    words = ["sh", "-c", "cat; echo; echo $$; exec sleep 1000"]
    with process.fed(HERE, words, '{"a": "b c\'"}', out, tmp_path / "err") as fed:
        until(lambda: len(out.read_text().splitlines()) == 3, 30, _never, lambda: "nothing came")
        assert not fed.has_ended
        before, text, pid = out.read_text().splitlines()
    assert (before, text) == ("before", '{"a": "b c\'"}')
    assert not Path(f"/proc/{pid}").exists()


def test_errors_of_a_failed_command_are_kept(tmp_path: Path) -> None:
    with process.fed(HERE, ["sh", "-c", "echo why >&2; exit 3"], "", tmp_path / "out", tmp_path / "err") as fed:
        until(lambda: fed.has_ended, 30, _never, lambda: "it goes on")
        assert (fed.errors, fed.result().code) == ("why", 3)

"""The journal: what it says after a kill, damage, another machine, a full disk."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ioassay.errors import CannotRun, UsageError
from ioassay.testing.tuned_machine import made_up_machine
from ioassay.tuning.journal import (
    Closed,
    Failed,
    Header,
    Journal,
    LeftAlone,
    OtherMachine,
    Restored,
    Set,
    WillSet,
    default_place,
    find,
    journals,
    machine,
    now,
    open_journals,
    read,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made_up_machine(tmp_path / "root", "sda")


@pytest.fixture
def journal(tmp_path: Path, root: Path) -> Journal:
    return Journal.create(tmp_path / "journals", ["ioassay"], root=root)


def will_set(name: str, before: str = "1", wanted: str | None = "2", order: int = 1) -> WillSet:
    return WillSet(name=name, before=before, wanted=wanted, order=order, moment=now())


def test_written_lines_are_read_back(journal: Journal) -> None:
    journal.write(will_set("a"), Set(name="a", read_back="2"))
    journal.write(will_set("b", order=2))
    journal.close()
    state, whole_bytes = read(journal.path)
    assert whole_bytes == journal.path.stat().st_size
    assert state == journal.state
    assert [
        (open_entry.name, open_entry.before, open_entry.ours, open_entry.is_pending)
        for open_entry in state.open_entries
    ] == [
        ("a", "1", "2", False),
        ("b", "1", None, True),
    ]
    first = json.loads(journal.path.read_text().splitlines()[0])
    assert first["kind"] == "tuning-journal"
    assert first["host"] == socket.gethostname()
    assert json.loads(journal.path.read_text().splitlines()[1])["will-set"] == "a"


def test_the_value_of_before_is_the_one_of_the_first_change(journal: Journal) -> None:
    journal.write(will_set("a"), Set(name="a", read_back="2"))
    journal.write(will_set("a", before="1", wanted="3"))
    entry = journal.state.entries["a"]
    assert (entry.before, entry.earlier, entry.is_pending) == ("1", {"2"}, True)
    journal.write(Failed(name="a", why="EINVAL"))
    assert (entry.ours, entry.is_pending, entry.is_done) == ("2", False, False)
    journal.write(Restored(name="a"))
    assert journal.state.open_entries == []
    journal.write(will_set("a", before="9"))
    assert journal.state.entries["a"].before == "9"


def test_a_torn_last_line_is_a_step_that_was_not_taken(journal: Journal, root: Path) -> None:
    journal.write(will_set("a"), Set(name="a", read_back="2"))
    journal.close()
    whole = journal.path.read_bytes()
    for torn in (b"{", b'{"will-set":"b","before":"1"', b"\0" * 100):
        journal.path.write_bytes(whole + torn)
        assert [*read(journal.path)[0].entries] == ["a"]
    with Journal.reopen(journal.path, root) as opened:
        opened.write(LeftAlone(name="a", value="3", why="changed"), Closed(moment=now()))
    state, _ = read(journal.path)
    assert state.is_closed


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{]", ":3: not JSON"),
        ("[]", ":3: not a record"),
        ('{"unknown": 1}', ":3: an unknown record"),
        ('{"set": "b", "read_back": "2"}', ":3: b was never announced"),
        ('{"set": "a"}', ":3: read_back: Field required"),
        ('{"set": "a", "read_back": "2", "more": 1}', ":3: more: Extra inputs are not permitted"),
        ("\x00\x00\x00", ":3: not JSON"),
    ],
)
def test_any_other_damage_is_refused_with_its_line(journal: Journal, root: Path, line: str, message: str) -> None:
    journal.write(will_set("a"))
    journal.close()
    with journal.path.open("a") as file:
        file.write(f"{line}\n")
    for use in (lambda: read(journal.path), lambda: Journal.reopen(journal.path, root)):
        with pytest.raises(UsageError) as refused:
            use()
        assert f"{journal.path}{message}" in refused.value.message
        assert "nothing was changed" in refused.value.remedy
    (damaged,) = open_journals(journal.path.parent, root).damaged
    assert message in damaged.message


def test_a_line_after_the_last_one_is_refused(journal: Journal) -> None:
    journal.write(Closed(moment=now()))
    journal.write(will_set("a"))
    journal.close()
    with pytest.raises(UsageError, match=":3: follows the line that closes the journal"):
        read(journal.path)


@pytest.mark.parametrize("text", ["", '{"kind":"tuning-jou'])
def test_a_journal_that_was_killed_at_its_birth_is_passed_over(tmp_path: Path, root: Path, text: str) -> None:
    (tmp_path / "20260101T000000Z-0000.jsonl").write_text(text)
    open_now = open_journals(tmp_path, root)
    assert (open_now.states, open_now.damaged) == ({}, [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "run"}, "not the header of a tuning journal"),
        ({"version": 2}, "version 2 of the journal"),
        ({"id": "../x"}, "id: String should match pattern"),
        ({"started": "yesterday"}, "started"),
    ],
)
def test_another_file_is_not_a_journal(journal: Journal, change: dict[str, object], message: str) -> None:
    journal.close()
    header = json.loads(journal.path.read_text())
    journal.path.write_text(json.dumps(header | change) + "\n")
    with pytest.raises(UsageError, match=message):
        read(journal.path)


def test_a_journal_of_another_machine_is_refused(journal: Journal, root: Path, tmp_path: Path) -> None:
    journal.close()
    other = made_up_machine(tmp_path / "other")
    (other / "etc/machine-id").write_text("f" * 32)
    with pytest.raises(OtherMachine, match=f"was written on another machine, {socket.gethostname()}"):
        Journal.reopen(journal.path, other)
    open_now = open_journals(journal.path.parent, other)
    assert (open_now.states, open_now.of_other_machines) == ({}, [journal.path])
    Journal.reopen(journal.path, root).close()


def test_a_node_with_the_same_machine_id_is_another_machine_by_its_name(journal: Journal, root: Path) -> None:
    journal.close()
    header = Header.model_validate_json(journal.path.read_text()).model_copy(update={"host": "node17"})
    journal.path.write_text(header.model_dump_json() + "\n")
    with pytest.raises(OtherMachine) as refused:
        Journal.reopen(journal.path, root)
    assert "add --host node17" in refused.value.remedy
    Journal.reopen(journal.path, root, host="node17").close()


def test_the_machine_id_cannot_be_read_out_of_a_journal(root: Path) -> None:
    assert (root / "etc/machine-id").read_text().strip() not in machine(root)
    assert len(machine(root)) == 64


def test_a_second_process_cannot_write_at_the_same_time(journal: Journal, root: Path) -> None:
    with pytest.raises(UsageError, match=f"Process {os.getpid()} is changing settings"):
        Journal.create(journal.path.parent, [], root=root)
    with pytest.raises(UsageError, match=f"Process {os.getpid()} is changing settings"):
        Journal.reopen(journal.path, root)
    journal.close()
    Journal.reopen(journal.path, root).close()


def test_a_machine_has_one_lock_for_all_directories(tmp_path: Path, root: Path) -> None:
    (root / "run").mkdir()
    with (
        Journal.create(tmp_path / "a", [], root=root),
        pytest.raises(UsageError, match=r"run/ioassay-tuning\.lock"),
    ):
        Journal.create(tmp_path / "b", [], root=root)


def test_a_journal_that_others_can_change_is_refused(journal: Journal) -> None:
    journal.close()
    journal.path.chmod(0o666)
    with pytest.raises(UsageError, match="can be changed by others"):
        read(journal.path)


@pytest.mark.skipif(os.geteuid() != 0, reason="it gives a file to another user")
def test_a_journal_of_another_user_is_refused(journal: Journal) -> None:
    journal.close()
    os.chown(journal.path, 65534, 65534)
    with pytest.raises(UsageError, match="belongs to user 65534"):
        read(journal.path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_a_full_disk_prevents_every_announcement(tmp_path: Path, root: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", place], check=True)
    try:
        journal = Journal.create(place, [], root=root)
        journal.write(will_set("a"))
        with pytest.raises(CannotRun, match=f"The journal {journal.path} cannot be written: No space left on device"):
            journal.write(*(will_set(f"{number}" * 100) for number in range(200)))
        journal.close()
        assert [*read(journal.path)[0].entries] == ["a"]
        with pytest.raises(CannotRun, match="cannot be written: No space left on device"):
            Journal.create(place, ["x" * 20000], root=root)
        assert [*journals(place)] == [journal.path]
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_a_read_only_directory_is_refused_before_anything_is_changed(tmp_path: Path, root: Path) -> None:
    place = tmp_path / "fixed"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", place], check=True)
    try:
        with pytest.raises(CannotRun, match="cannot be written: Read-only file system"):
            Journal.create(place / "journals", [], root=root)
    finally:
        subprocess.run(["umount", place], check=True)


def test_open_journals_come_the_newest_first_also_of_one_second(tmp_path: Path, root: Path) -> None:
    created = []
    for name in ("z", "a", "m"):
        with Journal.create(tmp_path, [], root=root, journal_id=name) as journal:
            created.append(journal.path)
    assert [*open_journals(tmp_path, root).states] == created[::-1]


def test_a_journal_is_found_by_its_id(journal: Journal) -> None:
    assert find(journal.path.parent, journal.id) == journal.path
    with pytest.raises(UsageError, match="has no journal x"):
        find(journal.path.parent, "x")


def test_the_place_of_journals(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("IOASSAY_TUNING_JOURNAL", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_place() == Path("/var/lib/ioassay/tuning")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_place() == tmp_path / "ioassay/tuning"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert default_place() == Path.home() / ".local/state/ioassay/tuning"
    monkeypatch.setenv("IOASSAY_TUNING_JOURNAL", "/elsewhere")
    assert default_place() == Path("/elsewhere")


def test_a_kill_leaves_every_announced_step_on_the_disk(tmp_path: Path, root: Path) -> None:
    program = f"""
import os, signal
from pathlib import Path
from ioassay.tuning.journal import *
journal = Journal.create(Path({str(tmp_path)!r}), [], root=Path({str(root)!r}))
for number in range(5):
    journal.write(WillSet(name=str(number), before="1", wanted="2", order=number, moment=now()))
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", program], check=False)
    (state,) = open_journals(tmp_path, root).states.values()
    assert [entry.name for entry in state.open_entries] == ["0", "1", "2", "3", "4"]
    (path,) = journals(tmp_path)
    Journal.reopen(path, root).close()

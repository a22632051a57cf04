"""The tables of a recorded command are kept with checksums, or left where they are if the disk is full."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ioassay.profiles.model import Profile
from ioassay.profiles.records.profile import load_profile

from .support import until

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(engine: Path) -> Run:
    """Runs the engine with these arguments."""

    def do(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([engine, *arguments], capture_output=True, text=True, check=False)

    return do


def document(record: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((record / "record.json").read_text())
    return loaded


def totals(profile: Profile) -> list[Any]:
    return profile.process_operations.group_by("operation").agg(pl.sum("calls", "bytes")).sort("operation").rows()


def test_a_changed_byte_of_a_record_is_a_loss(run: Run, tmp_path: Path) -> None:
    work = "for number in 1 2 3 4 5 6 7 8; do seq 1000 >file$number; cat file$number >/dev/null; done"
    recording = run("record", "--out", tmp_path / "record", "--", "sh", "-c", f"cd {tmp_path} && {work}")
    assert recording.returncode == 0, recording.stderr
    (tables,) = (tmp_path / "record").glob("*.tables")
    intact = tables.read_bytes()
    assert load_profile([tmp_path / "record"]).losses == ()
    for seed in range(25):
        draw, content = random.Random(seed), bytearray(intact)
        for place in draw.sample(range(len(content)), draw.randint(1, 8)):
            content[place] ^= draw.randint(1, 255)
        tables.write_bytes(content)
        losses = load_profile([tmp_path / "record"]).losses
        assert sum(loss.amount for loss in losses if loss.kind == "damaged-bytes") > 0, seed


def fill_and_fail(disk: Path) -> list[str]:
    """A command that leaves no space on a disk, and ends with exit code 7."""
    return ["sh", "-c", f"head -c 1G /dev/zero >{disk}/filler 2>/dev/null; exit 7"]


@pytest.fixture(params=["tmpfs", "ext4"])
def small(request: pytest.FixtureRequest) -> Path:
    """A disk that can be filled."""
    kind, size = {"tmpfs": ("mount", "size=4m"), "ext4": ("disk", "500m")}[request.param]
    directory: Path = request.getfixturevalue(kind)(size)
    return directory


@pytest.mark.parametrize("trace", [(), ("--trace",)], ids=["", "trace"])
def test_a_record_on_a_full_disk_is_incomplete_and_can_be_completed(
    run: Run, small: Path, tmp_path: Path, trace: tuple[str, ...]
) -> None:
    tables, record = tmp_path / "tables", small / "record"
    tables.mkdir()
    recording = run("record", *trace, "--tables", tables, "--out", record, "--", *fill_and_fail(small))
    assert recording.returncode == 7, recording.stderr
    (left,) = tables.iterdir()
    assert f"ioassay-engine: its tables are in {left}" in recording.stderr
    assert f"ioassay-engine complete {record}" in recording.stderr
    assert [path.name for path in record.iterdir()] == ["record.json"]
    record_document = document(record)
    assert (record_document["state"], record_document["exit_status"], record_document["tables"]) == (
        "incomplete",
        7,
        str(left),
    )
    assert "No space left on device (ENOSPC)" in record_document["reason"]

    before = load_profile([record])
    assert not before.is_running
    (loss,) = before.losses
    assert (loss.kind, loss.where) == ("partial", str(record))
    assert f"the tables are still in {left}" in loss.reason

    (small / "filler").unlink()
    # ext4 gives blocks away again once its journal says that they are free, all of them.
    subprocess.run(["sync", "--file-system", small], check=True)
    completed = run("complete", record)
    assert completed.returncode == 0, completed.stderr
    assert list(tables.iterdir()) == []
    record_document = document(record)
    assert (record_document["state"], record_document["exit_status"], record_document["tables"]) == (
        "complete",
        7,
        None,
    )
    after = load_profile([record])
    assert (after.losses, totals(after)) == ((), totals(before))
    if trace:
        assert '"path":"/dev/zero"' in run("calls", record).stdout
    assert "is not an incomplete record" in run("complete", record).stderr


WRITE_FOR_EVER = (
    "import time\nwith open({path!r}, 'wb', buffering=0) as file:\n    while file.write(bytes(1000)): time.sleep(0.01)"
)


def test_a_record_whose_recording_was_killed_runs_as_long_as_its_processes_and_can_be_completed(
    engine: Path, run: Run, tmp_path: Path
) -> None:
    record, written = tmp_path / "record", tmp_path / "written"
    program = [sys.executable, "-c", WRITE_FOR_EVER.format(path=str(written))]
    (tmp_path / "tables").mkdir()
    recording = subprocess.Popen([engine, "record", "--tables", tmp_path / "tables", "--out", record, "--", *program])
    until(lambda: written.exists() and written.stat().st_size > 0, "the application to write")
    (application,) = map(int, Path(f"/proc/{recording.pid}/task/{recording.pid}/children").read_text().split())
    try:
        assert load_profile([record]).is_running
        assert "goes on" in run("complete", record).stderr
        recording.kill()
        recording.wait()
        assert load_profile([record]).is_running
        assert f"process {application} of {record} still runs" in run("complete", record).stderr
    finally:
        os.kill(application, signal.SIGKILL)
    until(lambda: not load_profile([record]).is_running, "the application to end")
    left = load_profile([record])
    assert left.processes["state"].to_list() == ["killed"]
    assert ["the recording was killed" in loss.reason for loss in left.losses] == [True]
    completed = run("complete", record)
    assert completed.returncode == 0, completed.stderr
    assert not list((tmp_path / "tables").iterdir())
    after = load_profile([record])
    assert (document(record)["state"], after.losses, totals(after)) == ("complete", (), totals(left))
    assert {name: moved for name, _, moved in totals(after)}["write"] == written.stat().st_size


def test_a_record_without_space_for_its_document_leaves_nothing(run: Run, mount: Callable[[str], Path]) -> None:
    small = mount("size=64k")
    subprocess.run(["dd", "if=/dev/zero", f"of={small}/filler"], capture_output=True, check=False)
    failed = run("record", "--out", small / "record", "--", "true")
    assert failed.returncode == 3
    assert "No space left on device (ENOSPC)\n  try: give another directory with --out" in failed.stderr
    assert [path.name for path in small.iterdir()] == ["filler"]


@pytest.mark.parametrize("via", ["preload", "ptrace"])
def test_a_command_that_cannot_be_started_leaves_nothing(run: Run, tmp_path: Path, via: str) -> None:
    (tmp_path / "tables").mkdir()
    where = ["--via", via, "--tables", tmp_path / "tables", "--out", tmp_path / "record"]
    failed = run("record", *where, "--", "/nonexistent/program")
    assert failed.returncode == 3
    assert "/nonexistent/program cannot be started: No such file" in failed.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["tables"]
    assert run("record", *where, "--", "true").returncode == 0


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (["--tables", "missing", "--out", "record"], "name another one with --tables"),
        (["--out", "file/record"], "give another directory with --out"),
        (["--out", "."], ". exists; a record is a new directory"),
    ],
    ids=["tables", "below a file", "here"],
)
def test_a_record_that_cannot_begin_names_the_option_to_change(
    engine: Path, tmp_path: Path, options: list[str], remedy: str
) -> None:
    (tmp_path / "file").touch()
    command = [str(engine), "record", *options, "--", "true"]
    failed = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (failed.returncode, [path.name for path in tmp_path.iterdir()]) == (3, ["file"])
    assert remedy in failed.stderr, failed.stderr


def test_the_library_is_written_into_a_new_directory(run: Run, tmp_path: Path) -> None:
    written = run("library", tmp_path / "new" / "lib")
    assert (written.returncode, written.stdout) == (0, f"{tmp_path}/new/lib/libioassay-recorder.so\n"), written.stderr
    assert len(list((tmp_path / "new" / "lib").iterdir())) == 3
    refused = run("library", tmp_path / "with space")
    assert f"no program can be loaded from {tmp_path}/with space: its name has a space" in refused.stderr
    assert "--tables" not in refused.stderr


def test_a_static_program_that_is_the_command_is_named(run: Run, tmp_path: Path) -> None:
    program, record = tmp_path / "static", tmp_path / "record"
    source = "int main(void) { return 0; }"
    subprocess.run(["gcc", "-static", "-x", "c", "-o", program, "-"], input=source, text=True, check=True)
    recording = run("record", "--out", record, "--", program)
    assert f"ioassay-engine: {program} (process " in recording.stderr
    assert "was not recorded: it is linked statically" in recording.stderr
    (escaped,) = document(record)["escaped"]
    assert (escaped["path"], escaped["reason"]) == (str(program), "static")


def test_an_incomplete_record_without_its_tables_is_refused(run: Run, mount: Callable[[str], Path]) -> None:
    small, tables = mount("size=4m"), mount("size=4m")
    recording = run("record", "--tables", tables, "--out", small / "record", "--", *fill_and_fail(small))
    (left,) = tables.iterdir()
    left.rename(tables / "moved")
    assert recording.returncode == 7
    refused = run("complete", small / "record")
    assert (refused.returncode, document(small / "record")["state"]) == (3, "incomplete")
    assert str(left) in refused.stderr

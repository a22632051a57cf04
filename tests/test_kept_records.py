"""What becomes of the tables of a recorded command: kept with checksums, or left where they are if the disk is full."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ioassay.results.profile_model import Profile
from ioassay.results.records.profile import load_profile

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
    ran = run("record", "--out", tmp_path / "record", "--", "sh", "-c", f"cd {tmp_path} && {work}")
    assert ran.returncode == 0, ran.stderr
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
    made: Path = request.getfixturevalue(kind)(size)
    return made


@pytest.mark.parametrize("trace", [(), ("--trace",)], ids=["", "trace"])
def test_a_record_on_a_full_disk_is_incomplete_and_can_be_completed(
    run: Run, small: Path, tmp_path: Path, trace: tuple[str, ...]
) -> None:
    tables, record = tmp_path / "tables", small / "record"
    tables.mkdir()
    ran = run("record", *trace, "--tables", tables, "--out", record, "--", *fill_and_fail(small))
    assert ran.returncode == 7, ran.stderr
    (left,) = tables.iterdir()
    assert f"ioassay-engine: its tables are in {left}" in ran.stderr
    assert f"ioassay-engine complete {record}" in ran.stderr
    assert [path.name for path in record.iterdir()] == ["record.json"]
    found = document(record)
    assert (found["state"], found["exit_status"], found["tables"]) == ("incomplete", 7, str(left))
    assert "No space left on device (ENOSPC)" in found["reason"]

    before = load_profile([record])
    assert not before.is_running
    (loss,) = before.losses
    assert (loss.kind, loss.where) == ("partial", str(record))
    assert f"the tables are still in {left}" in loss.reason

    (small / "filler").unlink()
    completed = run("complete", record)
    assert completed.returncode == 0, completed.stderr
    assert list(tables.iterdir()) == []
    found = document(record)
    assert (found["state"], found["exit_status"], found["tables"]) == ("complete", 7, None)
    after = load_profile([record])
    assert (after.losses, totals(after)) == ((), totals(before))
    if trace:
        assert '"path":"/dev/zero"' in run("calls", record).stdout
    assert "is not an incomplete record" in run("complete", record).stderr


def test_an_incomplete_record_whose_tables_are_gone_says_so(run: Run, mount: Callable[[str], Path]) -> None:
    small, tables = mount("size=4m"), mount("size=4m")
    ran = run("record", "--tables", tables, "--out", small / "record", "--", *fill_and_fail(small))
    (left,) = tables.iterdir()
    left.rename(tables / "moved")
    assert ran.returncode == 7
    refused = run("complete", small / "record")
    assert (refused.returncode, document(small / "record")["state"]) == (3, "incomplete")
    assert str(left) in refused.stderr

"""`ioassay profile --against`: a changed program against what it was, and a profile by what a run measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ioassay.processes.engine import find_engine

from .support import ioassay

PROGRAM = """\
import os, sys
size = int(sys.argv[1])
data = os.open("data", os.O_CREAT | os.O_RDWR)
for at in range((16 << 20) // size):
    os.write(data, b"x" * size)
os.lseek(data, 0, os.SEEK_SET)
while os.read(data, size):
    pass
"""

SIZES = """\
name: sizes
title: Transfer sizes
question: How small is small?
clients: [1]
repetitions: 2
steps: [write]
workloads:
  sizes:
    title: Transfer sizes
    layout: N-N
    order: sequential
    total: 16MiB
    sweep: {transfer: [4KiB, 64KiB]}
"""


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Records of `PROGRAM` with transfers of each size, each in a directory of its own."""
    found = {}
    for size in (4096, 1 << 20):
        place = tmp_path_factory.mktemp(f"transfers-{size}")
        (place / "program.py").write_text(PROGRAM)
        command = [sys.executable, "program.py", str(size)]
        found[size] = place / "record"
        subprocess.run(
            [find_engine(), "record", "--out", found[size], "--", *command], cwd=place, check=True, capture_output=True
        )
    return found


def compared(*arguments: str | Path) -> dict[str, Any]:
    code, out, err = ioassay("profile", *arguments, "--json")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def test_larger_buffers_are_fewer_calls_for_the_same_bytes_of_the_same_file(records: dict[int, Path]) -> None:
    found = compared(records[1 << 20], "--against", records[4096])
    write = next(one for one in found["operations"] if one["class"] == "write")
    assert (write["reference"]["calls"], write["other"]["calls"]) == (4096, 16)
    assert write["ratios"]["bytes"] == 1
    assert write["size_distance"] == 1
    assert write["other"]["sizes"]["p50"] == {"begin_bytes": 1 << 20, "end_bytes": (1 << 20) + 1}
    moved = [one for one in found["files"] if one["other"]["path"].endswith("/data")]
    assert [one["other"]["written_bytes"] for one in moved] == [16 << 20]
    assert moved[0]["reference"]["path"] != moved[0]["other"]["path"]
    assert ("small-requests", "gone") in {(one["kind"], one["change"]) for one in found["findings"]}
    assert [one["what"] for one in found["conditions"] if one["what"] in ("source", "processes", "nodes")] == []


def test_a_record_is_no_different_from_itself(records: dict[int, Path]) -> None:
    found = compared(records[4096], "--against", records[4096])
    assert found["conditions"] == []
    assert found["span_s"]["ratio"] == 1
    ratios = {ratio for one in found["operations"] for ratio in one["ratios"].values()}
    assert ratios <= {1, None}
    assert {one["size_distance"] for one in found["operations"]} <= {0, None}
    assert {one["timeline_distance"] for one in found["operations"]} <= {0, None}
    assert {one["change"] for one in found["findings"]} == {"in both"}


def test_the_terminal_says_first_what_was_unlike(records: dict[int, Path]) -> None:
    code, out, err = ioassay("profile", records[1 << 20], "--against", records[4096])
    assert (code, err) == (0, "")
    assert out.startswith("Different commands: ")
    assert "Each profile is a single observation" in out


def test_a_run_on_the_storage_says_what_is_small(records: dict[int, Path], tmp_path: Path, target: Path) -> None:
    study = tmp_path / "sizes.yaml"
    study.write_text(SIZES)
    run = tmp_path / "run"
    assert ioassay("run", study, "--target", target, "--out", run)[0] in (0, 1)
    found = compared(records[4096], "--against", run)
    (limit,) = [one for one in found["limits"] if one["origin"] == "measured"]
    assert (limit["name"], limit["about"], limit["value"] in (4096, 65536)) == ("small_request_bytes", "write", True)
    assert limit["source"] == "run: sizes, write, 1 rank"
    code, out, _ = ioassay("profile", records[4096], "--against", run)
    assert code == 0
    assert "small_request_bytes of writes: " in out
    both = compared(records[1 << 20], "--against", records[4096], "--against", run)
    assert both["reference"]["name"] == str(records[4096])


def test_what_is_neither_a_run_nor_a_profile_is_one_sentence(records: dict[int, Path], tmp_path: Path) -> None:
    code, out, err = ioassay("profile", records[4096], "--against", tmp_path / "missing")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        f"ioassay: There is no {tmp_path / 'missing'}.",
        "  Name a run, a record, a folder of either, a Darshan log, or a trace of DFTracer or Recorder.",
    ]

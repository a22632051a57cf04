"""`ioassay profile --against`: a changed program compared with its earlier version, and a profile judged by a run."""

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
    """Records of `PROGRAM` by transfer size, each in its own directory."""
    records_by_size = {}
    for size in (4096, 1 << 20):
        place = tmp_path_factory.mktemp(f"transfers-{size}")
        (place / "program.py").write_text(PROGRAM)
        command = [sys.executable, "program.py", str(size)]
        records_by_size[size] = place / "record"
        subprocess.run(
            [find_engine(), "record", "--out", records_by_size[size], "--", *command],
            cwd=place,
            check=True,
            capture_output=True,
        )
    return records_by_size


def compared(*arguments: str | Path) -> dict[str, Any]:
    code, out, err = ioassay("profile", *arguments, "--json")
    assert (code, err) == (0, "")
    comparison: dict[str, Any] = json.loads(out)
    return comparison


def test_larger_buffers_are_fewer_calls_for_the_same_bytes_of_the_same_file(records: dict[int, Path]) -> None:
    comparison = compared(records[1 << 20], "--against", records[4096])
    write = next(operation for operation in comparison["operations"] if operation["class"] == "write")
    assert (write["reference"]["calls"], write["other"]["calls"]) == (4096, 16)
    assert write["ratios"]["bytes"] == 1
    assert write["size_distance"] == 1
    assert write["other"]["sizes"]["p50"] == {"begin_bytes": 1 << 20, "end_bytes": (1 << 20) + 1}
    moved = [file for file in comparison["files"] if file["other"]["path"].endswith("/data")]
    assert [file["other"]["written_bytes"] for file in moved] == [16 << 20]
    assert moved[0]["reference"]["path"] != moved[0]["other"]["path"]
    assert ("small-requests", "gone") in {(finding["kind"], finding["change"]) for finding in comparison["findings"]}
    assert [
        condition["what"]
        for condition in comparison["conditions"]
        if condition["what"] in ("source", "processes", "nodes")
    ] == []


def test_a_record_is_no_different_from_itself(records: dict[int, Path]) -> None:
    comparison = compared(records[4096], "--against", records[4096])
    assert comparison["conditions"] == []
    assert comparison["span_s"]["ratio"] == 1
    ratios = {ratio for entry in comparison["operations"] for ratio in entry["ratios"].values()}
    assert ratios <= {1, None}
    assert {entry["size_distance"] for entry in comparison["operations"]} <= {0, None}
    assert {entry["timeline_distance"] for entry in comparison["operations"]} <= {0, None}
    assert {entry["change"] for entry in comparison["findings"]} == {"in both"}


def test_the_terminal_shows_different_conditions_first(records: dict[int, Path]) -> None:
    code, out, err = ioassay("profile", records[1 << 20], "--against", records[4096])
    assert (code, err) == (0, "")
    assert out.startswith("Different commands: ")
    assert "Each profile is a single observation" in out


def test_a_run_on_the_storage_determines_the_size_of_small_requests(
    records: dict[int, Path], tmp_path: Path, target: Path
) -> None:
    study = tmp_path / "sizes.yaml"
    study.write_text(SIZES)
    run = tmp_path / "run"
    assert ioassay("run", study, "--target", target, "--out", run)[0] in (0, 1)
    comparison = compared(records[4096], "--against", run)
    (limit,) = [candidate for candidate in comparison["limits"] if candidate["origin"] == "measured"]
    assert (limit["name"], limit["about"], limit["value"] in (4096, 65536)) == ("small_request_bytes", "write", True)
    assert limit["source"] == "run: sizes, write, 1 rank"
    code, out, _ = ioassay("profile", records[4096], "--against", run)
    assert code == 0
    assert "small_request_bytes of writes: " in out
    both = compared(records[1 << 20], "--against", records[4096], "--against", run)
    assert both["reference"]["name"] == str(records[4096])


def test_an_argument_that_is_neither_run_nor_profile_is_refused_in_one_sentence(
    records: dict[int, Path], tmp_path: Path
) -> None:
    code, out, err = ioassay("profile", records[4096], "--against", tmp_path / "missing")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        f"ioassay: There is no {tmp_path / 'missing'}.",
        "  Name a run, a record, a folder of either, a Darshan log, or a trace of DFTracer or Recorder.",
    ]

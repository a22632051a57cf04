"""Bytes that a program moves through streams of the C library, also by macros that call nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from ioassay.processes.engine import find_engine
from ioassay.profiles.records.profile import load_profile

SOURCE = Path(__file__).with_name("recorded_streams.c")

INPUT_BYTES = 6000

WRITTEN = {
    "closed": 6000,
    "returns": 6000,
    "exits": 6000,
    "flushes all": 6000,
    "has a buffer": 6000,
    "unbuffered": 6000,
    "by line": 6000,
    "appends": 12_000,
    "only macros": 6000,
    "long texts": 6000,
    "forks": 6000,
}
"""What each way to write writes."""

READ = {"reads": INPUT_BYTES, "reads by turns": INPUT_BYTES, "reads parts": 1000}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    program = tmp_path_factory.mktemp("program") / "streams"
    subprocess.run(["cc", "-O2", "-w", "-o", program, SOURCE], check=True)
    return program


def recorded(program: Path, way: str, tmp_path: Path) -> dict[str, int]:
    """Bytes by operation of streams."""
    out = tmp_path / "record"
    command = [find_engine(), "record", "--out", out, "--", program, way, tmp_path / "data"]
    subprocess.run(command, check=True, capture_output=True)
    streams = load_profile([out]).process_operations.filter(pl.col("operation").str.starts_with("stream "))
    return dict(streams.group_by("operation").agg(pl.col("bytes").sum()).iter_rows())


@pytest.mark.parametrize("way", WRITTEN)
def test_bytes_that_macros_write_to_a_stream_are_counted(program: Path, tmp_path: Path, way: str) -> None:
    assert recorded(program, way, tmp_path)["stream write"] == WRITTEN[way] == (tmp_path / "data").stat().st_size


@pytest.mark.parametrize("way", READ)
def test_bytes_that_macros_read_from_a_stream_are_counted(program: Path, tmp_path: Path, way: str) -> None:
    (tmp_path / "data").write_bytes((b"x" * 99 + b"\n") * (INPUT_BYTES // 100))
    assert recorded(program, way, tmp_path)["stream read"] == READ[way]


def test_a_stream_that_is_read_and_written_alternately_has_both(program: Path, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"x" * INPUT_BYTES)
    bytes_by_operation = recorded(program, "updates", tmp_path)
    assert (bytes_by_operation["stream read"], bytes_by_operation["stream write"]) == (130, 50)


def test_calls_of_several_threads_on_one_stream_are_counted_once(program: Path, tmp_path: Path) -> None:
    assert (
        recorded(program, "threads", tmp_path)["stream write"] == (tmp_path / "data").stat().st_size == 4 * 5000 * 105
    )

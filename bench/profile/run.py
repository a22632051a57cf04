"""What a profile of a large record costs: time and memory of 4,096 processes that were recorded for an hour.

    python bench/profile/run.py DIR [PROCESSES [SECONDS]]

makes the record in DIR where it is not there yet, and profiles it in each format, in a process of its own on one
processor. The goal is 30 s and 2 GB. Not: a test. Timing never decides a test.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from ioassay import __version__
from ioassay.protocol.record_layout import OPERATIONS, SECOND
from ioassay.testing.record_tables import BEGIN_NS, TableBuilder

FORMATS = ("json", "csv", "md", "html")

ROWS_OF_A_SECOND = ("read", "write", "open", "stat")

OWN_FILES, SHARED_FILES = 16, 8


def make(directory: Path, processes: int, seconds: int) -> None:
    """The record: each process does four kinds of calls in every second, on files of its own and on shared ones."""
    dice = np.random.default_rng(1)
    rows = np.zeros(seconds * len(ROWS_OF_A_SECOND), SECOND)
    rows["second"] = BEGIN_NS // 10**9 + np.repeat(np.arange(seconds), len(ROWS_OF_A_SECOND))
    rows["operation"] = np.tile([OPERATIONS.index(name) for name in ROWS_OF_A_SECOND], seconds)
    moves = np.isin(rows["operation"], [OPERATIONS.index(name) for name in ("read", "write")])
    busy = (np.arange(len(rows)) // (300 * len(ROWS_OF_A_SECOND))) % 2 == 0
    directory.mkdir(parents=True)
    with (directory / "all.tables").open("wb") as file:
        for rank in range(processes):
            rows["calls"] = dice.integers(1, 200, len(rows)) * np.where(busy, 10, 1)
            rows["bytes"] = np.where(moves, rows["calls"] * 65536, 0)
            rows["ticks"] = rows["calls"] * dice.integers(1000, 200_000, len(rows))
            rows["slowest_ticks"] = rows["ticks"] // 3
            file.write(process(rank, seconds, rows))


def process(rank: int, seconds: int, rows: np.ndarray[tuple[int], np.dtype[np.void]]) -> bytes:
    """The table of one process."""
    end_ns = BEGIN_NS + seconds * 10**9 - rank * 1000
    table = TableBuilder(1000 + rank, end_ns=end_ns, job={"SLURM_PROCID": str(rank)}, command=["solver", "in.nml"])
    table.seconds(rows)
    of_each = [rows[rows["operation"] == OPERATIONS.index(name)] for name in ("read", "write")]
    table.thread(
        1000 + rank,
        kernel=[int(operation_rows[name].sum()) for name in ("bytes", "calls") for operation_rows in of_each],
    )
    for index in range(OWN_FILES + SHARED_FILES):
        is_own = index < OWN_FILES
        name = f"/scratch/job/out.{rank:05}.{index}" if is_own else f"/scratch/job/input.{index}"
        inode = rank * OWN_FILES + index if is_own else 10**9 + index
        file = table.file(name, {"open": 3, "close": 3, "stat": 100}, inode=1 + inode, closed_ns=end_ns)
        table.transfers(file, "write" if is_own else "read", {65536: 1000, 8: 100}, ns=10**9, consecutive=1000)
    for operation in ROWS_OF_A_SECOND:
        table.latencies(operation, {10**power: 1000 for power in range(3, 8)})
    return table.build()


def measure(record: Path, form: str) -> tuple[float, float, float, float]:
    """Profiles the record: seconds, seconds of processors, peak memory in MiB, size of the document in MiB."""
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory) / f"profile.{form}"
        began = time.monotonic()
        profile = subprocess.Popen(
            [
                "taskset",
                "--cpu-list",
                "0",
                sys.executable,
                "-m",
                "ioassay",
                "profile",
                str(record),
                "--format",
                form,
                "-o",
                str(output),
            ],
            stderr=subprocess.DEVNULL,
            env=os.environ | {"POLARS_MAX_THREADS": "1"},
        )
        _, status, usage = os.wait4(profile.pid, 0)
        took_s = time.monotonic() - began
        assert os.waitstatus_to_exitcode(status) == 0
        return took_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output.stat().st_size / 2**20


def main(directory: Path, processes: int = 4096, seconds: int = 3600) -> None:
    """Prints a table in Markdown."""
    record = directory / f"record-{processes}-{seconds}"
    if not record.exists():
        # In a process of its own: children of one that has had so much memory count it as theirs.
        subprocess.run([sys.executable, __file__, "--make", str(record), str(processes), str(seconds)], check=True)
    size = sum(file.stat().st_size for file in record.iterdir())
    print(
        f"ioassay {__version__}, polars {pl.__version__}, numpy {np.__version__}, {platform.machine()}, one processor"
    )
    print(f"{processes} processes, {seconds} s, {size / 1e9:.2f} GB of tables\n")
    print("| format | time | processor time | peak memory | document |")
    print("| -- | -- | -- | -- | -- |")
    for form in FORMATS:
        took_s, processor_s, memory_mib, size_mib = measure(record, form)
        cells = (f"{took_s:.1f} s", f"{processor_s:.1f} s", f"{memory_mib:.0f} MiB", f"{size_mib:.2f} MiB")
        print(f"| {form} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--make":
        make(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    else:
        main(Path(sys.argv[1]), *map(int, sys.argv[2:]))

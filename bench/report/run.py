"""What a report of 10 million samples costs: time, memory, and the size of the page.

    python bench/report/run.py DIR          builds the runs below DIR where they are not there yet, and reports each
    python bench/report/run.py DIR SHAPE    only builds this one

Each report is a process of its own, as a user starts it. The runs are made from a rate model: see `shapes`.
Not: a test. Timing never decides a test.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from ioassay import __version__
from ioassay.reports import FORMATS
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY
from ioassay.store.run_files import DOCUMENT, table_path
from ioassay.testing.measured_study import measured
from ioassay.testing.stored import store

STUDY = """\
name: large
title: A run of ten million samples
question: What does a report of many samples cost?
clients: {clients}
ranks_per_client: {ranks}
repetitions: {repetitions}
steps: [write, read]
workloads:
  n-n: {{title: A file for each rank, layout: N-N, order: sequential, transfer: 1MiB, per_rank: {samples}GiB}}
{more}figures:
  - {{title: Write, workloads: [n-n], operation: write, unit: GB/s}}
  - {{title: Read, workloads: [n-n], operation: read, unit: GB/s}}
summary:
  - {{label: A file for each rank, workload: n-n, unit: GB/s}}
"""

N_1 = (
    "  n-1: {{title: One file for all ranks, layout: N-1, order: sequential, transfer: 1MiB, per_rank: {samples}GiB}}\n"
)

BUCKETS = 600
"""Of a latency histogram: 1 % wide, from 0.1 ms to 40 ms."""


def shapes() -> dict[str, str]:
    """Studies whose runs have ten million samples each, by name; 1 GiB takes each rank a second, which is a sample."""
    sweep, both = [8, 16, 24, 32, 48], N_1.format(samples=490)
    return {
        "many-cases": STUDY.format(clients=sweep, ranks=10, repetitions=4, samples=490, more=both),
        "many-ranks": STUDY.format(clients=[64], ranks=64, repetitions=2, samples=610, more=""),
        "many-repetitions": STUDY.format(clients=sweep, ranks=2, repetitions=20, samples=490, more=both),
    }


def build(text: str) -> LoadedRun:
    """The run of a study, with samples, ends and latencies that scatter as real ones do."""
    run = measured(text, lambda case, key: 1024.0 * case.job(key[1], key[2]).ranks)
    dice = np.random.default_rng(1)
    samples = run.samples.collect()
    weights = pl.Series(dice.lognormal(0, 0.3, samples.height))
    ends = pl.Series(dice.uniform(0.99, 1, run.ranks.height))
    buckets = np.unique(np.geomspace(1e5, 4e7, BUCKETS).astype(np.int64))
    count = pl.Series(np.maximum(1, dice.normal(500, 100, len(buckets))).astype(np.int64))
    histogram = pl.DataFrame({"lowest_ns": buckets, "highest_ns": (buckets * 1.01).astype(np.int64), "count": count})
    return replace(
        run,
        samples=samples.with_columns(
            (pl.col(column) * weights).cast(pl.Int64).alias(column) for column in ("bytes", "operations")
        ).lazy(),
        ranks=run.ranks.with_columns((pl.col("end_ns") * ends).cast(pl.Int64)),
        latencies=run.latencies.select(*KEY).join(histogram, how="cross"),
    )


def report(path: Path, form: str) -> tuple[float, float, float, float]:
    """Reports the run at `path`: seconds, seconds of processors, peak memory in MiB, size of the report in MiB."""
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory) / f"report.{form}"
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "ioassay", "report", str(path), "--format", form, "-o", str(output)],
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        took_s = time.monotonic() - began
        assert os.waitstatus_to_exitcode(status) == 0
        return took_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output.stat().st_size / 2**20


def main(directory: Path) -> None:
    """Prints a table in Markdown."""
    print(f"ioassay {__version__}, polars {pl.__version__}, {platform.machine()}, {os.cpu_count()} processors\n")
    print("| run | samples | format | time | processor time | peak memory | report |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in shapes():
        path = directory / name
        if not (path / DOCUMENT).exists():
            # In a process of its own: children of one that has had so much memory count it as theirs.
            subprocess.run([sys.executable, __file__, str(directory), name], check=True)
        rows = pl.scan_parquet(table_path(path, "samples")).select(pl.len()).collect().item()
        for form in FORMATS:
            took_s, processor_s, memory_mib, size_mib = report(path, form)
            cells = (f"{took_s:.1f} s", f"{processor_s:.1f} s", f"{memory_mib:.0f} MiB", f"{size_mib:.2f} MiB")
            print(f"| {name} | {rows} | {form} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        store(build(shapes()[sys.argv[2]]), Path(sys.argv[1]) / sys.argv[2])
    else:
        main(Path(sys.argv[1]))

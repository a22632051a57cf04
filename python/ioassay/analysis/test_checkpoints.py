"""What checkpoints cost training, and the answer in a report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from ioassay.analysis.checkpoints import checkpoints
from ioassay.store import schema
from ioassay.store.loaded import LoadedRun
from ioassay.studies.test_checkpoint import CHECKPOINT
from ioassay.studies.test_workloads import HEAD
from ioassay.testing.measured_study import measured

MS = 1_000_000
GB = 10**9


def row(case: str, rank: int, generation: int, own_ms: int, **others: Any) -> dict[str, Any]:
    """A rank that saves 1 GB after 600 ms of computation and waits until 400 ms after that all are done."""
    key = {"case": case, "phase": "save-checkpoint", "job": "save-checkpoint", "operation": "checkpoint"}
    times = {"begin_ns": (600 + 1000 * generation) * MS, "own_ns": own_ms * MS, "stall_ns": 400 * MS}
    spent = {"fill_ns": 10 * MS, "fsync_ns": own_ms * MS // 4}
    return {**key, "rank": rank, "node": f"n{rank}", "generation": generation, "bytes": GB, **times, **spent, **others}


@pytest.fixture(scope="module")
def run() -> LoadedRun:
    return saved(measured(HEAD + CHECKPOINT))


def saved(run: LoadedRun) -> LoadedRun:
    """`run` with two ranks that saved three generations."""
    (case,) = run.measurements["case"].unique().to_list()
    rows = [
        *(row(case, 0, generation, own_ms) for generation, own_ms in enumerate((200, 200, 380))),
        *(row(case, 1, generation, own_ms) for generation, own_ms in enumerate((400, 400, 300))),
    ]
    # The last one is slower for all.
    for last in (rows[2], rows[5]):
        last["stall_ns"] = 500 * MS
    return replace(run, checkpoints=pl.DataFrame(rows, schema=schema.CHECKPOINTS))


def test_ranks_wait_for_the_slowest_one(run: LoadedRun) -> None:
    (phase,) = checkpoints(run)
    assert (phase.is_save, phase.ranks, phase.bytes) == (True, 2, 2 * GB)
    assert phase.last_rank == (1, "n1", 2)
    assert [generation.stall_ns for generation in phase.generations] == [400 * MS, 400 * MS, 500 * MS]
    assert (phase.stall_ns, phase.longest.number) == (400 * MS, 2)
    first, _, last = phase.generations
    assert (first.slowest_rank, last.slowest_rank) == (1, 0)
    assert first.bytes_per_s == pytest.approx(2 * GB / 0.4)
    assert (first.median_ns, first.fsync_share) == (300 * MS, 0.25)
    # 600 ms of computation before each of three.
    assert phase.stall_share == pytest.approx(1300 / 3100)


def test_ranks_without_files_wait_and_have_no_typical_time(run: LoadedRun) -> None:
    case = run.checkpoints["case"][0]
    rows = [row(case, 0, 0, 300), row(case, 1, 0, 1, bytes=0, fsync_ns=0)]
    (phase,) = checkpoints(replace(run, checkpoints=pl.DataFrame(rows, schema=schema.CHECKPOINTS)))
    assert (phase.bytes, phase.generations[0].median_ns) == (GB, 300 * MS)

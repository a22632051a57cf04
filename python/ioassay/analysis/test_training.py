"""Utilisation of accelerators by our definition and by DLIO's."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from ioassay.analysis.derived_doubts import doubted
from ioassay.analysis.training import training
from ioassay.store import schema
from ioassay.store.loaded import LoadedRun
from ioassay.studies.test_train import TRAIN
from ioassay.studies.test_workloads import HEAD
from ioassay.testing.measured_study import measured

MS = 1_000_000


def row(case: str, phase: str, rank: int, **others: Any) -> dict[str, Any]:
    """Ten steps of 20 ms after 50 ms without a batch: each of 10 ms of computation, as it was to be."""
    times = {
        "first_batch_ns": 50 * MS,
        "first_step_ns": 60 * MS,
        "last_step_ns": 240 * MS,
        "first_compute_ns": 10 * MS,
        "compute_ns": 100 * MS,
        "asked_compute_ns": 10 * MS,
        "wait_ns": 140 * MS,
        "sync_ns": 0,
    }
    loader = {"loader_threads": 2, "loader_busy_ns": 240 * MS, "loader_processor_ns": 60 * MS}
    done = {"steps": 10, "samples": 40, "asked_bytes": 4_000_000}
    key = {"case": case, "phase": phase, "job": phase, "operation": "step"}
    return {**key, "rank": rank, "node": "client00", "evaluation": False, **done, **times, **loader, **others}


@pytest.fixture(scope="module")
def run() -> LoadedRun:
    run = measured(HEAD + TRAIN.replace("w:\n", "w:\n    ranks_per_client: 2\n", 1))
    (case,) = run.measurements["case"].unique().to_list()
    late = {"compute_ns": 60 * MS, "first_compute_ns": 6 * MS}
    busy = {"loader_busy_ns": 470 * MS, "loader_processor_ns": 450 * MS}
    rows = [
        row(case, "epoch-1", 0),
        row(case, "epoch-1", 1, **late),
        *(row(case, "epoch-2", rank, **busy) for rank in (0, 1)),
    ]
    return replace(run, training=pl.DataFrame(rows, schema=schema.TRAINING))


def test_utilisation_counts_from_the_start_and_dlio_leaves_out_the_first_step(run: LoadedRun) -> None:
    ((first, second),) = (case.epochs for case in training(run))
    assert first.utilisation == pytest.approx((100 + 60) / 2 / 240)
    assert first.lowest_rank == 1
    assert first.lowest_utilisation == pytest.approx(60 / 240)
    assert first.dlio_repository == pytest.approx((90 + 54) / 2 / 180)
    assert first.dlio_release == pytest.approx(9 * 10 / 180)
    assert first.samples_per_s == pytest.approx(80 / 0.240)
    assert first.wait_ns == pytest.approx(14 * MS)
    assert [first.loader_busy_share, first.loader_processor_share] == pytest.approx([0.5, 0.25])
    assert [first.limit, second.limit] == [None, "processors"]


def test_a_single_step_has_no_utilisation_of_dlio(run: LoadedRun) -> None:
    single_step = run.training.with_columns(pl.lit(1, pl.Int64).alias("steps"))
    ((first, _),) = (case.epochs for case in training(replace(run, training=single_step)))
    assert (first.dlio_repository, first.dlio_release) == (None, None)


def test_an_epoch_that_processors_limit_is_doubted_where_it_misses_its_goal(run: LoadedRun) -> None:
    doubts = doubted(run).doubts.filter(kind="loader-bound")
    assert doubts.select("phase", "operation").rows() == [("epoch-2", "read"), ("epoch-2", "step")]
    assert not doubts["invalidates"].any()
    assert "for 98 % of the time, and were on a processor for 96 % of that" in doubts["message"][0]
    assert json.loads(doubts["evidence"][0])["goal"] == pytest.approx(0.9)


def test_no_epoch_is_doubted_that_reaches_its_goal_or_waits_for_storage(run: LoadedRun) -> None:
    fed = run.training.with_columns(pl.lit(230 * MS, pl.Int64).alias("compute_ns"))
    storage = run.training.with_columns(pl.lit(100 * MS, pl.Int64).alias("loader_processor_ns"))
    for training_of in (fed, storage, run.training.clear()):
        assert doubted(replace(run, training=training_of)).doubts.filter(kind="loader-bound").is_empty()

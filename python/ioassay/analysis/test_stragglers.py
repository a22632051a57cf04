from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from ioassay.analysis.stragglers import Rank, slow_nodes, straggling
from ioassay.store import schema
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY
from ioassay.testing.builder import RunBuilder

SECOND = 10**9
PLACE = ("w-c4-r1", "write", "write", "write")


def _walled(changes: dict[str, Any]) -> LoadedRun:
    """A run of one write by four ranks with a stonewall after 2 s, with these columns changed."""
    run = RunBuilder().workload("w").clients(4).build()
    wall = {
        "duration_ns": 6 * SECOND,
        "rate_bytes_per_s": 1e9,
        "stonewall_ns": 2 * SECOND,
        "stonewall_rate_bytes_per_s": 2.5e9,
        "stonewall_least_operations": 3,
        "stonewall_most_operations": 600,
    }
    columns = [pl.lit(value, schema.MEASUREMENTS[name]).alias(name) for name, value in (wall | changes).items()]
    ranks = pl.DataFrame(
        [
            dict(zip(KEY, PLACE, strict=True))
            | {"rank": rank, "node": f"client0{rank}", "end_ns": end * SECOND, "stonewall_operations": operations}
            for rank, end, operations in ((0, 2, 600), (1, 6, 3), (2, 3, 90), (3, 2, 550))
        ],
        schema=schema.RANKS,
    )
    measurements = run.measurements.filter(operation="write").with_columns(columns)
    return replace(run, measurements=measurements, ranks=ranks)


def test_a_measurement_has_both_rates_and_the_ranks_between_them() -> None:
    run = _walled({})
    (measurement,) = straggling(run.measurements, run.ranks)
    assert (measurement.place, measurement.finish_rate, measurement.stonewall_rate) == (PLACE, 1e9, 2.5e9)
    assert measurement.stretch == 3
    assert measurement.imbalance == 200
    assert measurement.last[0] == Rank(1, "client01")
    assert [rank.rank for rank in measurement.behind] == [1, 2]


@pytest.mark.parametrize(("least", "most", "ratio"), [(0, 5, math.inf), (0, 0, None), (None, None, None), (4, 4, 1)])
def test_the_imbalance_is_reported_if_known(least: int | None, most: int | None, ratio: float | None) -> None:
    run = _walled({"stonewall_least_operations": least, "stonewall_most_operations": most})
    (measurement,) = straggling(run.measurements, run.ranks)
    assert measurement.imbalance == ratio


def test_a_run_without_ranks_names_none() -> None:
    run = _walled({})
    (measurement,) = straggling(run.measurements, run.ranks.clear())
    assert measurement.last == measurement.behind == ()
    nameless = run.ranks.with_columns(pl.lit(None, pl.String).alias("node"))
    assert straggling(run.measurements, nameless)[0].last[0] == Rank(1, None)
    assert slow_nodes(run.measurements, nameless) == []


@pytest.mark.parametrize("unknown", ["stonewall_ns", "stonewall_rate_bytes_per_s", "duration_ns", "rate_bytes_per_s"])
def test_measurements_without_a_known_stonewall_are_left_out(unknown: str) -> None:
    run = _walled({unknown: None})
    assert straggling(run.measurements, run.ranks) == []


def test_metadata_is_counted_in_operations() -> None:
    counts = {"rate_operations_per_s": 10.0, "stonewall_rate_operations_per_s": 15.0, "bytes": 0}
    run = _walled(counts)
    (measurement,) = straggling(run.measurements, run.ranks)
    assert (measurement.finish_rate, measurement.stonewall_rate) == (10.0, 15.0)


Seconds = np.ndarray[Any, np.dtype[np.float64]]
WRITE = (("write",),)


def _phases(
    ends: Seconds, done: Seconds | None = None, operations: Sequence[tuple[str, ...]] = WRITE
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Measurements and ranks of phases; `ends` has the seconds of each node's rank, a row per phase.

    The phases cycle through `operations`. With `done`, the operations of the ranks, a stonewall ended the phases.
    """
    measurements, ranks = [], []
    for index, row in enumerate(ends):
        for operation in operations[index % len(operations)]:
            key = dict(zip(KEY, (f"case-{index}", "phase", "job", operation), strict=True))
            wall = None if done is None else int(row.min() * SECOND)
            measurements.append(
                key | {"valid": True, "duration_ns": int(row.max() * SECOND), "stonewall_ns": wall},
            )
            ranks += [
                key
                | {"rank": node, "node": f"n{node}", "end_ns": int(end * SECOND)}
                | {"operations": 1000 if done is None else int(done[index, node])}
                for node, end in enumerate(row)
            ]
    return pl.DataFrame(measurements, schema=schema.MEASUREMENTS), pl.DataFrame(ranks, schema=schema.RANKS)


def _uniform(seed: int, phases: int, nodes: int = 4) -> Seconds:
    return np.random.default_rng(seed).uniform(8, 10, (phases, nodes))


def test_a_node_that_is_the_slowest_in_all_operations_is_reported() -> None:
    ends = _uniform(1, 24)
    ends[:20, 2] = 12
    (node,) = slow_nodes(*_phases(ends, operations=[("write",), ("read",)]))
    assert (node.node, node.operations) == ("n2", ())
    assert len(node.slowest_in) >= 20
    assert node.by_chance == pytest.approx(node.of / 4)


def test_a_node_that_is_slow_in_one_operation_is_reported_with_it() -> None:
    ends = _uniform(2, 24)
    ends[::2, 1] = 12
    (node,) = slow_nodes(*_phases(ends, operations=[("write",), ("read",)]))
    assert (node.node, node.operations, node.of) == ("n1", ("write",), 12)
    assert {operation for *_, operation in node.slowest_in} == {"write"}


def test_a_node_with_the_least_work_at_every_stonewall_is_reported() -> None:
    ends = np.random.default_rng(3).uniform(10, 10.01, (12, 4))
    done = np.random.default_rng(4).uniform(900, 1000, (12, 4))
    done[:, 3] = 500
    (node,) = slow_nodes(*_phases(ends, done))
    assert (node.node, node.operations) == ("n3", ("write",))
    assert len(node.slowest_in) == 12


def _without_stonewalls(phases: tuple[pl.DataFrame, pl.DataFrame]) -> tuple[pl.DataFrame, pl.DataFrame]:
    measurements, ranks = phases
    return measurements.with_columns(stonewall_ns=pl.lit(None, pl.Int64)), ranks


def test_a_node_with_the_least_work_after_a_minimum_time_is_reported() -> None:
    ends, done = np.full((12, 4), 10.0), np.full((12, 4), 1000.0)
    done[:, 3] = 500
    (node,) = slow_nodes(*_without_stonewalls(_phases(ends, done)))
    assert node.node == "n3"


@pytest.mark.parametrize(("end", "work"), [(20, 1500), (20, 2500), (8, 500), (4, 500)])
def test_nodes_with_different_amounts_to_read_are_not_compared(end: float, work: float) -> None:
    ends, done = np.full((24, 4), 10.0), np.full((24, 4), 1000.0)
    ends[:, 0], done[:, 0] = end, work
    assert slow_nodes(*_without_stonewalls(_phases(ends, done, operations=[("read",)]))) == []


def test_operations_of_one_job_count_once() -> None:
    ends = _uniform(5, 3)
    ends[:, 0] = 12
    assert slow_nodes(*_phases(ends, operations=[("stat", "read", "remove", "create")])) == []


def test_walks_and_nodes_without_work_are_left_out() -> None:
    ends = _uniform(6, 12)
    ends[:, 0] = 12
    assert slow_nodes(*_phases(ends, operations=[("find",)])) == []
    measurements, ranks = _phases(ends, operations=[("create-tree",)])
    idle = pl.when(pl.col("rank") == 0).then(1).otherwise(0).cast(pl.Int64)
    assert slow_nodes(measurements, ranks.with_columns(operations=idle)) == []


@pytest.mark.parametrize("walled", [False, True])
def test_equal_nodes_are_almost_never_reported_as_slow(walled: bool) -> None:
    dice = np.random.default_rng(7)
    operations = [("write",), ("read",), ("create",), ("stat", "read", "remove", "create")]
    false_alarms = 0
    for _ in range(200):
        ends, done = dice.uniform(8, 10, (40, 4)), dice.uniform(20, 30, (40, 4))
        phases = _phases(10 + ends / 1000, done, operations) if walled else _phases(ends, operations=operations)
        false_alarms += bool(slow_nodes(*phases))
    assert false_alarms <= 2


def test_nodes_that_finish_together_are_not_ranked() -> None:
    ends = np.full((30, 4), 10.0)
    ends[:, 3] += 0.01
    assert slow_nodes(*_phases(ends)) == []


def test_ranks_near_the_median_are_not_named_as_behind() -> None:
    run = _walled({})
    slow = pl.col("rank") == 2
    ranks = run.ranks.with_columns(
        stonewall_operations=pl.when(slow).then(300).otherwise(600 - pl.col("rank")).cast(pl.Int64),
        end_ns=pl.when(slow).then(4 * SECOND).otherwise(2 * SECOND + pl.col("rank")),
    )
    (measurement,) = straggling(run.measurements, ranks)
    assert measurement.behind == measurement.last == (Rank(2, "client02"),)

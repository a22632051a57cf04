from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from ioassay.analysis.stragglers import Rank, slow_nodes, straggling
from ioassay.results import schema
from ioassay.results.loaded import LoadedRun
from ioassay.results.schema import KEY
from ioassay.testing.builder import RunBuilder

SECOND = 10**9
PLACE = ("w-c4-r1", "write", "write", "write")


def _walled(changes: dict[str, Any]) -> LoadedRun:
    """A run of one write by four ranks that stopped its clock after 2 s, with these columns changed."""
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


def test_a_measurement_has_the_rate_at_the_stonewall_and_at_the_finish_with_those_between() -> None:
    run = _walled({})
    (one,) = straggling(run.measurements, run.ranks)
    assert (one.place, one.finish_rate, one.stonewall_rate) == (PLACE, 1e9, 2.5e9)
    assert one.stretch == 3
    assert one.imbalance == 200
    assert one.last[0] == Rank(1, "client01")
    assert [rank.rank for rank in one.behind] == [1, 2]


@pytest.mark.parametrize(("least", "most", "ratio"), [(0, 5, math.inf), (0, 0, None), (None, None, None), (4, 4, 1)])
def test_the_imbalance_is_told_where_it_is_known(least: int | None, most: int | None, ratio: float | None) -> None:
    run = _walled({"stonewall_least_operations": least, "stonewall_most_operations": most})
    (one,) = straggling(run.measurements, run.ranks)
    assert one.imbalance == ratio


def test_a_run_that_tells_nothing_of_its_ranks_names_none() -> None:
    run = _walled({})
    (one,) = straggling(run.measurements, run.ranks.clear())
    assert one.last == one.behind == ()
    nameless = run.ranks.with_columns(pl.lit(None, pl.String).alias("node"))
    assert straggling(run.measurements, nameless)[0].last[0] == Rank(1, None)
    assert slow_nodes(run.measurements, nameless) == []


@pytest.mark.parametrize("unknown", ["stonewall_ns", "stonewall_rate_bytes_per_s", "duration_ns", "rate_bytes_per_s"])
def test_what_has_no_stonewall_or_does_not_tell_of_it_is_left_out(unknown: str) -> None:
    run = _walled({unknown: None})
    assert straggling(run.measurements, run.ranks) == []


def test_metadata_is_counted_in_operations() -> None:
    counts = {"rate_operations_per_s": 10.0, "stonewall_rate_operations_per_s": 15.0, "bytes": 0}
    run = _walled(counts)
    (one,) = straggling(run.measurements, run.ranks)
    assert (one.finish_rate, one.stonewall_rate) == (10.0, 15.0)


def _phases(ends: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Measurements and ranks of phases in which each node finished after these seconds; a row per phase."""
    keys = [dict(zip(KEY, (f"case-{at}", "write", "write", "write"), strict=True)) for at in range(len(ends))]
    measurements = [
        key | {"valid": True, "duration_ns": int(row.max() * SECOND)} for key, row in zip(keys, ends, strict=True)
    ]
    ranks = [
        key | {"rank": node, "node": f"n{node}", "end_ns": int(end * SECOND)}
        for key, row in zip(keys, ends, strict=True)
        for node, end in enumerate(row)
    ]
    return pl.DataFrame(measurements, schema=schema.MEASUREMENTS), pl.DataFrame(ranks, schema=schema.RANKS)


def test_a_node_that_is_always_last_is_found() -> None:
    ends = np.random.default_rng(1).uniform(8, 10, (12, 4))
    ends[:10, 2] = 12
    (one,) = slow_nodes(*_phases(ends))
    assert one.node == "n2"
    assert len(one.last_in) >= 10
    assert one.by_chance == pytest.approx(one.of / 4)


def test_of_nodes_that_are_alike_hardly_ever_one_is_called_slow() -> None:
    dice = np.random.default_rng(2)
    found = sum(bool(slow_nodes(*_phases(dice.uniform(8, 10, (20, 4))))) for _ in range(200))
    assert found <= 2


def test_nodes_that_finish_together_are_not_ranked() -> None:
    ends = np.full((30, 4), 10.0)
    ends[:, 3] += 0.01
    assert slow_nodes(*_phases(ends)) == []

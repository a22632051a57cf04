from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis.latency import PERCENTILES, by_sweep_point, is_resolved, percentiles, slowest
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY
from ioassay.store.schema import LATENCIES, RANKS
from ioassay.testing.builder import RunBuilder

histograms = st.dictionaries(st.integers(1, 10**9), st.integers(1, 1000), min_size=1, max_size=40)


def _frame(histogram: dict[int, int]) -> pl.DataFrame:
    buckets = sorted(histogram)
    counts = [histogram[bucket] for bucket in buckets]
    return pl.DataFrame({"of": ["x"] * len(buckets), "lowest_ns": buckets, "highest_ns": buckets, "count": counts})


def test_percentiles_are_the_nearest_rank() -> None:
    row = percentiles(_frame(dict.fromkeys(range(1, 1001), 1)), ["of"]).row(0, named=True)
    assert [row[name] for name in PERCENTILES] == [500, 900, 990, 999, 1000]


def test_a_percentile_is_the_upper_end_of_its_bucket() -> None:
    frame = pl.DataFrame({"of": ["x"], "lowest_ns": [100], "highest_ns": [101], "count": [5]})
    assert percentiles(frame, ["of"])["p50_ns"].item() == 101


@given(histograms)
def test_percentiles_agree_with_sorting_every_operation(histogram: dict[int, int]) -> None:
    row = percentiles(_frame(histogram), ["of"]).row(0, named=True)
    every = sorted(value for value, count in histogram.items() for _ in range(count))
    for name, permille in PERCENTILES.items():
        assert row[name] == every[-(-len(every) * permille // 1000) - 1]


@given(histograms, histograms)
def test_merged_percentiles_lie_between_those_of_the_parts(first: dict[int, int], second: dict[int, int]) -> None:
    parts = [percentiles(_frame(part), ["of"]).row(0, named=True) for part in (first, second)]
    merged = percentiles(pl.concat([_frame(first), _frame(second)]), ["of"]).row(0, named=True)
    for name in PERCENTILES:
        assert min(part[name] for part in parts) <= merged[name] <= max(part[name] for part in parts)


def test_a_percentile_needs_an_operation_beyond_it() -> None:
    assert is_resolved(1000, "p99_9_ns")
    assert not is_resolved(999, "p99_9_ns")
    assert is_resolved(1, "max_ns")


def test_repetitions_are_merged_without_invalid_ones() -> None:
    builder = RunBuilder().workload("w").clients(1).repetitions(3)
    run = builder.doubt("w-c1-r3", "write", "failed", invalidates=True).build()
    valid = run.latencies.filter((pl.col("phase") == "write") & (pl.col("case") != "w-c1-r3"))
    points = by_sweep_point(run.measurements, run.latencies, run.ranks).filter(operation="write")
    assert points["operations"].to_list() == [valid["count"].sum()]


def _measured(*slowest_ns: int | None) -> LoadedRun:
    """A run of one write with operations in two buckets; the arguments are the slowest operation of each rank."""
    run = RunBuilder().workload("w").clients(1).build()
    write = run.measurements.filter(operation="write")
    key = write.select(*KEY).row(0, named=True)
    buckets = [key | {"lowest_ns": lowest_ns, "highest_ns": lowest_ns + 9, "count": 1000} for lowest_ns in (100, 1000)]
    ranks = [key | {"rank": rank, "slowest_ns": value} for rank, value in enumerate(slowest_ns)]
    return replace(
        run,
        measurements=write,
        latencies=pl.DataFrame(buckets, schema=LATENCIES),
        ranks=pl.DataFrame(ranks, schema=RANKS),
    )


@pytest.mark.parametrize(
    ("rank_slowest", "known"),
    [
        ((1004,), 1004),
        ((107, 1003), 1003),
        ((1500,), 1500),  # beyond what a histogram counts
        ((None, None), 1009),
        ((), 1009),
        ((107, None), 1009),  # the rank with the slowest reports none
        ((0,), 1009),  # a front end of an earlier tool
    ],
)
def test_the_slowest_operation_is_that_of_the_ranks_if_they_report_it(
    rank_slowest: tuple[int | None, ...], known: int
) -> None:
    run = _measured(*rank_slowest)
    assert slowest(run.latencies, run.ranks)["slowest_ns"].to_list() == [known]
    assert by_sweep_point(run.measurements, run.latencies, run.ranks)["max_ns"].to_list() == [known]


def test_no_percentile_exceeds_the_slowest() -> None:
    run = _measured(1004)
    row = by_sweep_point(run.measurements, run.latencies, run.ranks).row(0, named=True)
    assert [row[name] for name in PERCENTILES] == [109, 1004, 1004, 1004, 1004]

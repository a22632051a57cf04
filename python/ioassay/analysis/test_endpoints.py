from __future__ import annotations

import polars as pl

from ioassay.analysis.endpoints import by_sweep_point
from ioassay.testing.builder import RunBuilder


def test_the_rate_of_an_endpoint_ends_with_the_last_of_its_ranks() -> None:
    run = RunBuilder().workload("w").clients(4).build()
    turns = pl.when(pl.col("rank") % 2 == 0).then(pl.lit("http://a:1")).otherwise(pl.lit("http://b:1"))
    ends = pl.when(pl.col("rank") == 3).then(4_000_000_000).otherwise(2_000_000_000)
    ranks = run.ranks.with_columns(
        endpoint=turns, end_ns=ends, bytes=pl.lit(6_000_000, pl.Int64), operations=pl.lit(600, pl.Int64)
    )
    rates = by_sweep_point(run.measurements, ranks).filter(operation="write")
    columns = ("endpoint", "endpoint_ranks", "bytes_per_s", "operations_per_s")
    assert rates.select(columns).rows() == [("http://a:1", 2, 6e6, 600.0), ("http://b:1", 2, 3e6, 300.0)]


def test_a_target_with_one_endpoint_has_no_rates_by_endpoint() -> None:
    run = RunBuilder().workload("w").clients(1).build()
    assert by_sweep_point(run.measurements, run.ranks).is_empty()

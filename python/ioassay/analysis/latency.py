"""Latency percentiles from the engine's log-linear histograms.

A percentile is the nearest-rank one: the smallest latency that at least that share of the operations did not
exceed, given as the upper end of its bucket. So it never flatters, and errs by less than the bucket's 1 %
(the method of HdrHistogram's `getValueAtPercentile`).
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ioassay.results.schema import KEY, POINT

PERCENTILES = {"p50_ns": 500, "p90_ns": 900, "p99_ns": 990, "p99_9_ns": 999, "max_ns": 1000}
"""Every percentile by the name of its column, in parts per thousand: integers, so that ranks are exact."""


def percentiles(latencies: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Percentiles of the histograms in `latencies`, those with the same values in the columns `by` merged.

    `latencies` has the columns `by`, lowest_ns, highest_ns and count. Returns `by`, operations and the columns
    of `PERCENTILES`, ascending by `by`.
    """
    by = list(by)
    running = (
        latencies.group_by(*by, "highest_ns")
        .agg(pl.col("count").sum())
        .filter(pl.col("count") > 0)
        .sort(*by, "highest_ns")
        .with_columns(
            pl.col("count").cum_sum().over(by).alias("up_to_here"),
            pl.col("count").sum().over(by).alias("operations"),
        )
    )
    return (
        running.group_by(*by, "operations")
        .agg(
            pl.col("highest_ns").filter(pl.col("up_to_here") >= _nearest_rank(permille)).min().alias(name)
            for name, permille in PERCENTILES.items()
        )
        .sort(by)
    )


def by_sweep_point(measurements: pl.DataFrame, latencies: pl.DataFrame) -> pl.DataFrame:
    """Percentiles over the valid repetitions together. Columns: `schema.POINT`, and as `percentiles`."""
    valid = measurements.filter("valid").select("case", *POINT)
    return percentiles(latencies.join(valid, on=list(KEY)), POINT)


def is_resolved(operations: int, column: str) -> bool:
    """True if so many operations tell the percentile in `column` from the maximum: at least one lies beyond it."""
    permille = PERCENTILES[column]
    return permille == 1000 or operations * (1000 - permille) >= 1000


def _nearest_rank(permille: int) -> pl.Expr:
    """The smallest whole number of operations that is at least that share of all."""
    return (pl.col("operations") * permille + 999) // 1000

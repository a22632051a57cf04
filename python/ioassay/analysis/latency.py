"""Latency percentiles from the engine's log-linear histograms.

A percentile is the nearest-rank one: the smallest latency that at least that share of the operations did not
exceed, given as the upper end of its bucket. So it is never too low, and errs by less than the bucket's 1 %
(the method of HdrHistogram's `getValueAtPercentile`). Ranks report their slowest operation exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ioassay.store.measurement import KEY, POINT

PERCENTILES = {"p50_ns": 500, "p90_ns": 900, "p99_ns": 990, "p99_9_ns": 999, "max_ns": 1000}
"""Every percentile by the name of its column, in parts per thousand: integers, so that ranks are exact."""


def percentiles(latencies: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Percentiles of the histograms in `latencies`, merged by the columns `by`.

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


def slowest(latencies: pl.DataFrame, ranks: pl.DataFrame) -> pl.DataFrame:
    """The slowest operation of each measurement that has any. Columns: those of `measurement.KEY`, slowest_ns.

    Exact if the ranks report theirs, otherwise the end of the last bucket, as in imported runs. A value below that
    bucket is of ranks that do not report all operations.
    """
    counted = latencies.filter(pl.col("count") > 0)
    last = counted.group_by(*KEY, maintain_order=True).agg(pl.col("lowest_ns", "highest_ns").max())
    rows = ranks.group_by(*KEY, maintain_order=True).agg(pl.col("slowest_ns").max())
    exact = pl.col("lowest_ns").is_null() | (pl.col("slowest_ns") >= pl.col("lowest_ns"))
    return (
        rows.join(last, on=list(KEY), how="full", coalesce=True, maintain_order="left_right")
        .select(*KEY, pl.when(exact).then("slowest_ns").otherwise("highest_ns").alias("slowest_ns"))
        .drop_nulls("slowest_ns")
    )


def by_sweep_point(measurements: pl.DataFrame, latencies: pl.DataFrame, ranks: pl.DataFrame) -> pl.DataFrame:
    """Percentiles over the valid repetitions together. Columns: `schema.POINT`, and as `percentiles`.

    `max_ns` is as exact as `slowest`, and no percentile exceeds it.
    """
    valid = measurements.filter("valid").select("case", *POINT)
    most = slowest(latencies, ranks).join(valid, on=list(KEY)).group_by(*POINT).agg(max_ns=pl.col("slowest_ns").max())
    return (
        percentiles(latencies.join(valid, on=list(KEY)), POINT)
        .drop("max_ns")
        .join(most, on=list(POINT), nulls_equal=True, maintain_order="left")
        .with_columns(pl.min_horizontal(name, "max_ns").alias(name) for name in PERCENTILES)
    )


def first_bytes_by_sweep_point(measurements: pl.DataFrame, first_bytes: pl.DataFrame) -> pl.DataFrame:
    """As `by_sweep_point`, for the times to the first byte of reads."""
    valid = measurements.filter("valid").select("case", *POINT)
    return percentiles(first_bytes.join(valid, on=list(KEY)), POINT)


def is_resolved(operations: int, column: str) -> bool:
    """True if operations resolve the percentile in `column`, so that at least one lies beyond it."""
    permille = PERCENTILES[column]
    return permille == 1000 or operations * (1000 - permille) >= 1000


def _nearest_rank(permille: int) -> pl.Expr:
    """The smallest whole number of operations that is at least that share of all."""
    return (pl.col("operations") * permille + 999) // 1000

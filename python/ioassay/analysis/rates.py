"""Rates of a workload's operation against the number of clients: every repetition, and the median.

Only valid measurements enter a median. Invalid ones stay among the points, marked, because a reader has to
see that something was measured and thrown out.
"""

from __future__ import annotations

import polars as pl

from ioassay.analysis.rate_units import RateColumn

_SWEEP_POINT = ["workload", "operation", "clients"]


def points(measurements: pl.DataFrame) -> pl.DataFrame:
    """One row per measurement that has a rate.

    Columns: workload, operation, clients, repetition, case, phase, valid, rate_bytes_per_s and
    rate_operations_per_s (both last-finished, as IOR's). Ascending by workload, operation, clients, repetition.
    """
    return (
        measurements.filter(pl.col("rate_bytes_per_s").is_not_null())
        .select(*_SWEEP_POINT, "repetition", "case", "phase", "valid", "rate_bytes_per_s", "rate_operations_per_s")
        .sort(*_SWEEP_POINT, "repetition", "phase")
    )


def medians(points: pl.DataFrame, column: RateColumn) -> pl.DataFrame:
    """One row per sweep point with at least one valid measurement.

    Columns: workload, operation, clients, repetitions (how many valid ones), lowest, median, highest; the last
    three in the unit of `column`. Ascending by workload, operation, clients.
    """
    return (
        points.filter("valid")
        .group_by(_SWEEP_POINT)
        .agg(
            pl.len().alias("repetitions"),
            pl.col(column).min().alias("lowest"),
            pl.col(column).median().alias("median"),
            pl.col(column).max().alias("highest"),
        )
        .sort(_SWEEP_POINT)
    )


def of(frame: pl.DataFrame, workload: str, operation: str) -> pl.DataFrame:
    """The rows of one workload's operation."""
    return frame.filter((pl.col("workload") == workload) & (pl.col("operation") == operation))

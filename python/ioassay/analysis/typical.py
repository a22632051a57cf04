"""The typical repetition of each point of a sweep: what to show where all of them would be too many.

Not: leaving a repetition out of a median or a table.
"""

from __future__ import annotations

import polars as pl

from ioassay.results.schema import POINT


def typical(measurements: pl.DataFrame) -> pl.DataFrame:
    """Of each point the measurement whose rate is nearest the median of the valid ones, the earliest of equally near.

    The columns are those of `measurements`, which are the columns of `schema.MEASUREMENTS`. Where no repetition is
    valid it is the first one.
    """
    # An imported result may tell only one of them.
    rate = pl.coalesce("rate_operations_per_s", "rate_bytes_per_s")
    distance = (rate - rate.filter(pl.col("valid")).median().over(POINT)).abs()
    return (
        measurements.with_columns(distance.alias("distance"))
        .sort(~pl.col("valid"), "distance", "repetition", nulls_last=True)
        .unique(list(POINT), keep="first", maintain_order=True)
        .drop("distance")
    )

"""How many samples of a run's phases moved less than half of what is usual in their phase."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from ioassay.analysis.rate_units import RateColumn
from ioassay.results.schema import KEY, Measurement

SLOW = 0.5
"""The share of the median below which a sample is slow."""


def slow_share(samples: pl.LazyFrame, places: Collection[Measurement], column: RateColumn) -> float | None:
    """The share of slow samples among all of the measurements `places`; `None` where they have too few.

    A sample is what all ranks together moved in its interval. The last of each phase is left out: the phase ends in it.
    """
    amount = "bytes" if column == "rate_bytes_per_s" else "operations"
    wanted = pl.LazyFrame(list(places), schema=dict.fromkeys(KEY, pl.String), orient="row")
    summed = (
        samples.join(wanted, on=list(KEY), how="semi")
        .group_by(*KEY, "sample")
        .agg(pl.col(amount).sum())
        .filter(pl.col("sample") < pl.col("sample").max().over(*KEY))
        .with_columns((pl.col(amount) < SLOW * pl.col(amount).median().over(*KEY)).alias("slow"))
        .collect()
    )
    share = summed["slow"].mean()
    return share if isinstance(share, float) else None

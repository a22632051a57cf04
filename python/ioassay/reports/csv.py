"""Every measurement as CSV: one tidy table, a row each, numbers unrounded with their unit in the column's name."""

from __future__ import annotations

import polars as pl

from ioassay.reports.workloads import measurements
from ioassay.results.loaded import LoadedRun
from ioassay.results.schema import KEY


def table(run: LoadedRun) -> str:
    """The columns of `schema.MEASUREMENTS`, the shares of the ranks' time, its cost, kinds of doubt joined by `;`."""
    kinds = run.doubts.group_by(*KEY, maintain_order=True).agg(pl.col("kind").str.join(";").alias("doubts"))
    return (
        measurements(run)
        .join(kinds, on=list(KEY), how="left", maintain_order="left")
        .with_columns(pl.col("doubts").fill_null(""))
        .write_csv()
    )

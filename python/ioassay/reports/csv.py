"""Every measurement as CSV: one tidy table, a row each, numbers unrounded with their unit in the column's name."""

from __future__ import annotations

import polars as pl

from ioassay.reports.content import measurements
from ioassay.results.loaded import LoadedRun


def table(run: LoadedRun) -> str:
    """The columns of `schema.MEASUREMENTS`, the shares of the ranks' time, and the kinds of doubt, joined by `;`."""
    kinds = run.doubts.group_by("case", "phase", maintain_order=True).agg(pl.col("kind").str.join(";").alias("doubts"))
    return (
        measurements(run)
        .join(kinds, on=["case", "phase"], how="left", maintain_order="left")
        .with_columns(pl.col("doubts").fill_null(""))
        .write_csv()
    )

"""Every rate of a trend as CSV: one tidy table, a row per run and point."""

from __future__ import annotations

import polars as pl

from ioassay.reports.trend.content import Content
from ioassay.reports.trend.rows import runs


def table(content: Content) -> str:
    """The columns of `rows.runs`. Without a rate nothing but a line's end."""
    return pl.DataFrame(list(runs(content)), infer_schema_length=None).write_csv()

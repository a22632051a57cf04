"""Every ratio of a comparison as CSV: one tidy table, a row each."""

from __future__ import annotations

import polars as pl

from ioassay.reports.compare.content import Content
from ioassay.reports.compare.rows import rows


def table(content: Content) -> str:
    """The columns of `rows.rows`; names of what was unlike joined by `;`. Without a ratio nothing but a line's end."""
    flat = [row | {"unlike": ";".join(unlike["what"] for unlike in row["unlike"])} for row in rows(content)]
    return pl.DataFrame(flat, infer_schema_length=None).write_csv()

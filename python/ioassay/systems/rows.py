"""Figures as a table with a row each, for comparing with measurements. Not: choosing which ones can be compared."""

from __future__ import annotations

from typing import Any

import polars as pl

from ioassay.systems.amounts import BYTES_PER_S, OPERATIONS_PER_S
from ioassay.systems.model import Figure, System

SCHEMA: dict[str, type[pl.DataType]] = {
    "system": pl.String,
    "figure": pl.String,
    "test": pl.String,
    "tool": pl.String,
    "operation": pl.String,
    "layout": pl.String,
    "transfer_bytes": pl.Int64,
    "clients": pl.Int64,
    "threads": pl.Int64,
    "rate_bytes_per_s": pl.Float64,
    "rate_operations_per_s": pl.Float64,
    "level": pl.String,
    "qualifier": pl.String,
    "source": pl.String,
    "line": pl.Int64,
}
"""`source` is the file, URL or title of the document, `line` the first of its lines with the figure."""


def rows(system: System) -> pl.DataFrame:
    """The figures of `system` in their order, in the columns of `SCHEMA`; null where the source does not say.

    Both rates are null for what is no rate: capacities, prices, scores without a unit.
    """
    return pl.DataFrame([_row(system, figure) for figure in system.figures], schema=SCHEMA, orient="row")


def _row(system: System, figure: Figure) -> dict[str, Any]:
    amount, document = figure.amount, system.sources[figure.at.source]
    return {
        "system": system.name,
        "figure": figure.id,
        "test": figure.test,
        "tool": figure.tool,
        "operation": figure.operation,
        "layout": figure.layout,
        "transfer_bytes": figure.transfer,
        "clients": figure.clients,
        "threads": figure.threads,
        "rate_bytes_per_s": amount.base if amount.dimension == BYTES_PER_S else None,
        "rate_operations_per_s": amount.base if amount.dimension == OPERATIONS_PER_S else None,
        "level": figure.level,
        "qualifier": figure.qualifier,
        "source": document.file or document.url or document.title,
        "line": min(figure.at.lines, default=None),
    }

"""Figures as a table with a row each, for comparing with measurements. Not: choosing which ones can be compared."""

from __future__ import annotations

from typing import Any

import polars as pl

from ioassay.systems.amounts import BYTES_PER_S, OPERATIONS_PER_S
from ioassay.systems.model import Figure, System

FACTS: dict[str, tuple[str, type[pl.DataType]]] = {
    "configuration": ("configuration", pl.String),
    "test": ("test", pl.String),
    "tool": ("tool", pl.String),
    "operation": ("operation", pl.String),
    "layout": ("layout", pl.String),
    "order": ("told_order", pl.String),
    "transfer_bytes": ("transfer", pl.Int64),
    "file_set_bytes": ("total", pl.Int64),
    "files": ("files", pl.Int64),
    "clients": ("clients", pl.Int64),
    "threads": ("threads", pl.Int64),
    "qualifier": ("qualifier", pl.String),
    "level": ("level", pl.String),
}
"""The facts about a figure: by column, and by name in a JSON document, the attribute of `Figure` that has it."""

SCHEMA: dict[str, type[pl.DataType]] = {
    "system": pl.String,
    "figure": pl.String,
    **{column: kind for column, (_, kind) in FACTS.items()},
    "rate_bytes_per_s": pl.Float64,
    "rate_operations_per_s": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "source": pl.String,
    "line": pl.Int64,
}
"""`low` and `high` are those of a prediction, in the unit of its rate. `source` is the file, URL or title of the
document, `line` the first of its lines with the figure.
"""


def rows(system: System) -> pl.DataFrame:
    """The figures of `system` in their order, in the columns of `SCHEMA`; null where the source does not say.

    Both rates are null for what is no rate: capacities, prices, scores without a unit.
    """
    return pl.DataFrame([_row(system, figure) for figure in system.figures], schema=SCHEMA, orient="row")


def facts(figure: Figure) -> dict[str, Any]:
    """The facts about a figure, by the names of `FACTS`; `None` where the source does not state one."""
    return {column: getattr(figure, attribute) for column, (attribute, _) in FACTS.items()}


def _row(system: System, figure: Figure) -> dict[str, Any]:
    amount, band = figure.amount, figure.band
    return {
        "system": system.name,
        "figure": figure.id,
        **facts(figure),
        "rate_bytes_per_s": amount.base if amount.dimension == BYTES_PER_S else None,
        "rate_operations_per_s": amount.base if amount.dimension == OPERATIONS_PER_S else None,
        "low": band[0].base if band else None,
        "high": band[1].base if band else None,
        "source": system.sources[figure.at.source].where,
        "line": min(figure.at.lines, default=None),
    }

"""A published system as a subject: its figures of one test, configuration and operation together are a curve.

A figure is one number, so nothing here has an interval. Not: what the figures are (`ioassay.systems`).
"""

from __future__ import annotations

from typing import Any, get_args

import polars as pl

from ioassay.analysis.compare.subject import Conditions, Curve, Point, Rates, Subject
from ioassay.analysis.rate_units import RateColumn
from ioassay.results.document import OPERATIONS
from ioassay.systems.model import System
from ioassay.systems.rows import rows

ORDERS = ("sequential", "random")
"""What a test's name may begin with to tell the order of its transfers."""

_SAME = ("test", "configuration", "tool", "operation", "layout", "transfer_bytes")


def subject(system: System) -> Subject:
    """The system with what it publishes of operations that runs have too.

    Figures count that are a peak, sustained, or of a number of clients. Scores, networks and stated bandwidths are
    none of a workload.
    """
    configurations = pl.Series("configuration", [figure.configuration for figure in system.figures], pl.String)
    figures = rows(system).with_columns(configurations).filter(pl.col("operation").is_in(OPERATIONS))
    curves = [
        _curve(same, column)
        for column in get_args(RateColumn)
        for same in figures.filter(
            pl.col(column) > 0, pl.col("level").is_not_null() | pl.col("clients").is_not_null()
        ).partition_by(*_SAME, maintain_order=True)
    ]
    return Subject(system.name, "published system", tuple(curves))


def _curve(same: pl.DataFrame, column: RateColumn) -> Curve:
    first = same.row(0, named=True)
    points = {row["figure"]: _point(row, column) for row in same.iter_rows(named=True)}
    by_level = {row["level"]: points[row["figure"]] for row in same.sort(column).iter_rows(named=True)}
    swept = sorted((point for point in points.values() if point.clients), key=lambda point: point.clients or 0)
    configuration = first["configuration"] or ""
    return Curve(
        name=(first["test"], configuration),
        title=", ".join(filter(None, (first["test"], configuration, f"({first['operation']})"))).replace(", (", " ("),
        operation=first["operation"],
        column=column,
        rates={column: Rates(tuple(swept), by_level.get("peak"), by_level.get("sustained"))},
    )


def _point(row: dict[str, Any], column: RateColumn) -> Point:
    return Point(
        clients=row["clients"],
        conditions=Conditions(
            tool=row["tool"],
            layout=row["layout"],
            order=next((order for order in ORDERS if row["test"].lower().startswith(order)), None),
            transfer_bytes=row["transfer_bytes"],
            ranks=row["threads"],
        ),
        rates=(row[column],),
    )

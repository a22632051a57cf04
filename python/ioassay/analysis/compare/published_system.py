"""A published system as a subject: its figures of one test, configuration and operation together are a curve.

A prediction of a study is a subject, too: its figures have bands, and each series of the study is one curve, whatever
it sweeps. Published figures are single numbers without intervals. Not: what the figures are (`ioassay.systems`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, get_args

import polars as pl

from ioassay.analysis.compare.subject import Band, Conditions, Curve, Point, Rates, Subject
from ioassay.store.document import OPERATIONS
from ioassay.systems.figure_table import rows
from ioassay.systems.model import System
from ioassay.text.rate_units import RateColumn

_SERIES = ("test", "configuration", "tool", "operation")
_SAME = (*_SERIES, "layout", "order", "transfer_bytes")


def subject(system: System) -> Subject:
    """The system with what it publishes of operations that runs have too.

    Figures count that are a peak, a sustained rate, or measured with a known number of clients. Scores, networks and
    stated bandwidths belong to no workload.
    """
    figures = rows(system).filter(
        pl.col("operation").is_in(OPERATIONS), pl.col("level").is_not_null() | pl.col("clients").is_not_null()
    )
    together = _SERIES if system.predicts else _SAME
    curves = tuple(_curves(figures.partition_by(*together, maintain_order=True)))
    return Subject(system.name, "prediction" if system.predicts else "published system", curves)


def _curves(tests: Iterable[pl.DataFrame]) -> Iterator[Curve]:
    """A curve for each test that has a rate. Its quantity is that of its first figure."""
    for same in tests:
        known = {column: _rates(same, column) for column in get_args(RateColumn) if (same[column] > 0).any()}
        if not known:
            continue
        first = same.row(0, named=True)
        configuration = first["configuration"] or ""
        yield Curve(
            name=(first["test"], configuration),
            title=f"{', '.join(filter(None, (first['test'], configuration)))} ({first['operation']})",
            operation=first["operation"],
            column=max(known, key=lambda column: first[column] or 0),
            rates=known,
        )


def _rates(same: pl.DataFrame, column: RateColumn) -> Rates:
    with_rate = same.filter(pl.col(column) > 0)
    points = {row["figure"]: _point(row, column) for row in with_rate.iter_rows(named=True)}
    by_level = {row["level"]: points[row["figure"]] for row in with_rate.sort(column).iter_rows(named=True)}
    swept = sorted((point for point in points.values() if point.clients), key=lambda point: point.clients or 0)
    return Rates(tuple(swept), by_level.get("peak"), by_level.get("sustained"))


def _point(row: dict[str, Any], column: RateColumn) -> Point:
    return Point(
        clients=row["clients"],
        conditions=Conditions(
            tool=row["tool"],
            layout=row["layout"],
            order=row["order"],
            transfer_bytes=row["transfer_bytes"],
            file_set_bytes=row["file_set_bytes"],
            ranks=row["threads"],
            files=row["files"],
        ),
        rates=(row[column],),
        band=None if row["low"] is None else Band(row["low"], row["high"]),
    )

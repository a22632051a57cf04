"""A configuration beside the limits of its file systems, as a section of a report and for other programs.

Not: the limits (`ioassay.sizing.capacity.limits`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ioassay.reports.document import Column, Notes, Section, Span, Table, Text
from ioassay.reports.sizing import numbers, wording
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Value
from ioassay.sizing.capacity import limits as of_file_systems
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.model import Size
from ioassay.systems.amounts import NUMBER


def limits(catalogue: Catalogue, size: Size, *, only_exceeded: bool = False) -> Iterator[Section]:
    """A row for each limit, or only for those that are exceeded, which are marked; nothing where there is none."""
    rows: list[list[Text]] = []
    notes: list[str] = []
    for limit in of_file_systems.limits(catalogue, size):
        if only_exceeded and limit.is_kept:
            continue
        exceeded = Span(" exceeded", "failed" if limit.kind == "supported" else "warning")
        has = _amount(limit.has) if limit.is_kept else (_amount(limit.has), exceeded)
        rows.append([limit.brick or "all", wording.capital(limit.what), has, f"{_amount(limit.most)} {limit.kind}"])
        notes.append(f"{wording.capital(limit.what)}: {limit.source}")
    if not rows:
        return
    columns = [
        Column("Brick", merges=True),
        Column("What"),
        Column("Has", is_number=True),
        Column("At most", is_number=True),
    ]
    if len(size.bricks) == 1:
        columns, rows = columns[1:], [row[1:] for row in rows]
    yield Section("Limits of the file system", [Table(columns, rows), Notes(list(dict.fromkeys(notes)))])


def _amount(value: Value) -> str:
    return f"{value.nominal:,.0f}" if value.dimension == NUMBER else formulas.binary(value)


def data(catalogue: Catalogue, size: Size) -> list[dict[str, Any]]:
    """The limits for other programs."""
    return [
        {
            "what": limit.what,
            "brick": limit.brick or None,
            **numbers.named({"has": limit.has, "most": limit.most}),
            "kind": limit.kind,
            "is_kept": limit.is_kept,
            "source": limit.source,
        }
        for limit in of_file_systems.limits(catalogue, size)
    ]

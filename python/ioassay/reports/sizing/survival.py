"""The failure domains of each brick: parts that may fail without loss of data or service, as a section of a report.

Not: finding it (`ioassay.sizing.failure_domains`), how fast a brick is meanwhile (`explanation`), how likely losses are
(`times`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ioassay.reports.document import Column, Notes, Section, Span, Table, Text
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.failure_domains import Survival, Tolerance, survives
from ioassay.sizing.model import Size


def survival(catalogue: Catalogue, size: Size) -> Section:
    """A row for drives, servers, enclosures and RAID controllers of each kind of brick."""
    rows = [row for choice in size.bricks for row in _rows(choice.name, survives(catalogue, choice))]
    columns = [
        Column("Brick", merges=True),
        Column("What may fail"),
        Column("At a time", is_number=True),
        Column("Why"),
    ]
    if len(size.bricks) == 1:
        columns, rows = columns[1:], [row[1:] for row in rows]
    notes = [
        "Each is counted alone. A drive and a server at a time may be more than a brick survives.",
        "Bricks do not protect each other: a brick that is lost takes its share of the data with it.",
    ]
    shown = Table(columns, rows, title="Failures without loss of data or service")
    return Section("What it survives", [shown, Notes(notes)])


def data(catalogue: Catalogue, size: Size) -> list[dict[str, Any]]:
    """The failure domains for other programs."""
    return [
        {
            "brick": choice.brick,
            "drive": choice.drive,
            **{
                key: {"count": tolerance.count, "reason": tolerance.reason, "is_assumed": tolerance.is_assumed}
                for key, _, tolerance in _tolerances(survives(catalogue, choice))
            },
        }
        for choice in size.bricks
    ]


def _rows(brick: str, domains: Survival) -> Iterator[list[Text]]:
    for _, what, tolerance in _tolerances(domains):
        why: Text = (tolerance.reason, Span("assumed", "below")) if tolerance.is_assumed else tolerance.reason
        yield [brick, what, str(tolerance.count), why]


def _tolerances(domains: Survival) -> Iterator[tuple[str, str, Tolerance]]:
    yield "drives_of_a_group", "Drives of a group", domains.drives
    yield "controllers_of_a_pair", "RAID controllers of a pair or group", domains.controllers
    yield "enclosures", "Enclosures", domains.enclosures
    yield "servers", "Servers", domains.servers

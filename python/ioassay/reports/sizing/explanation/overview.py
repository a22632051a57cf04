"""All configurations side by side: capacity, rates and resources, each known for at least one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ioassay.reports.document import Block, Column, Span, Table, Text, numbers
from ioassay.reports.sizing import wording
from ioassay.reports.sizing.explanation.explained import Explained
from ioassay.text.format import ABSENT

_CAPTION = "What each configuration holds, does and takes"

ON_A_TERMINAL, ON_A_PAGE = 3, 4
"""Configurations beside one another, on 80 columns and on a page."""

_MOST_MEASURES = 7
"""Columns that a page has room for."""


def tables(explained: Sequence[Explained]) -> list[Block]:
    """A row for each configuration, or where much is known of them a column."""
    measures = list(_measures(explained))
    if len(measures) > _MOST_MEASURES:
        return list(columns(explained, ON_A_PAGE))
    heads = [Column("Configuration"), *numbers(*(head for head, _ in measures))]
    rows: list[list[Text]] = [
        [_name(explanation), *(cells[index] for _, cells in measures)] for index, explanation in enumerate(explained)
    ]
    return [Table(heads, rows, _CAPTION)]


def columns(explained: Sequence[Explained], most: int) -> Iterator[Block]:
    """A column for each configuration, `most` of them beside one another."""
    measures = list(_measures(explained))
    for first in range(0, len(explained), most):
        columns_shown = range(first, min(first + most, len(explained)))
        heads = [Column(""), *numbers(*(explained[index].size.name for index in columns_shown))]
        yield Table(heads, [[head, *(cells[index] for index in columns_shown)] for head, cells in measures], _CAPTION)


def _name(explanation: Explained) -> Text:
    title = explanation.size.configuration.title
    return (explanation.size.name, Span(f" {title}", "faint")) if title else explanation.size.name


def _measures(explained: Sequence[Explained]) -> Iterator[tuple[str, list[Text]]]:
    """The measures that are known for any of them, each with its cells."""
    sizes = [explanation.size for explanation in explained]
    yield "Raw", [wording.cell(size.capacity.raw) for size in sizes]
    yield "After redundancy", [wording.cell(size.capacity.protected) for size in sizes]
    yield "Usable", [wording.cell(size.capacity.usable) for size in sizes]
    for kind in wording.rate_kinds(sizes):
        rates = [size.rates["healthy"].get(kind) for size in sizes]
        yield wording.head(kind), [wording.cell(rate.value if rate else None, kind) for rate in rates]
    if any(size.rack_units for size in sizes):
        yield "Rack units", [wording.cell(size.rack_units) for size in sizes]
    if any(explanation.racks for explanation in explained):
        yield "Racks", [f"{len(explanation.racks)}" if explanation.racks else ABSENT for explanation in explained]
    for head, values in (("Power", [size.power for size in sizes]), ("Weight", [size.weight for size in sizes])):
        if any(values):
            yield head, [wording.cell(value) for value in values]
    if any(size.price for size in sizes):
        yield "Price", [wording.cell(size.price, unit=size.currency or "") for size in sizes]

"""A search as a document, and what the terminal shows of it. Not: figures (`pictures`), sentences (`wording`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ioassay.reports.document import (
    Block,
    Bullets,
    Column,
    Document,
    Figure,
    Notes,
    Paragraph,
    Preformatted,
    Section,
    Span,
    Table,
    Text,
    numbers,
)
from ioassay.reports.format import ABSENT
from ioassay.reports.sizing import bill as bill_table
from ioassay.reports.sizing import racks, steps
from ioassay.reports.sizing import wording as words
from ioassay.reports.sizing.explanation import document as explanation
from ioassay.reports.sizing.search import wording
from ioassay.reports.sizing.search.configuration_yaml import configuration_yaml
from ioassay.sizing.bill import bill
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import RateKind
from ioassay.sizing.search.model import Answer, Search
from ioassay.version import __version__

if TYPE_CHECKING:
    from ioassay.reports.sizing.search.pictures import Pictures

_MOST_MOVEMENTS = 8
"""Rows of what moves the answer on a terminal."""

_MOST_RATES = 3
"""Columns of rates on a terminal of 80 columns."""


def document(search: Search, catalogue: Catalogue, drawn: Pictures | None = None) -> Document:
    """The document, with the figures where they have been drawn."""
    requirements = search.requirements
    return Document(
        requirements.title or requirements.name,
        [
            Section("Answer", [*_verdict(search), _front(search), Figure(drawn.front if drawn else None)], "answer"),
            Section("What is needed", _needs(search), "needs"),
            *(_answer(search, catalogue, at, drawn) for at in range(len(search.answers))),
            Section(
                "What moves the answer",
                [Figure(drawn.sensitivity if drawn else None), *_movements(search, len(search.movements))],
                "sensitivity",
            ),
            Section("Assumptions", _assumed(search, catalogue), "assumed"),
            Section("What was left out", _left_out(search), "left-out"),
        ],
        question="Which configurations meet the requirements, what limits them, and what would change the answer?",
        window=f"{requirements.name}: sizing",
        footer=f"Written by ioassay {__version__}.",
    )


def terminal(search: Search, catalogue: Catalogue) -> list[Block]:
    """What the terminal shows: the verdict, the front, the first configuration, and what moves it."""
    return [
        Section("Answer", [*_verdict(search), _narrow_front(search)]),
        Section("What is needed", _needs(search)),
        *([_first(search, catalogue)] if search.answers else []),
        Section("What moves the answer", _movements(search, _MOST_MOVEMENTS)),
        Section("Assumptions", _assumed(search, catalogue)),
        Section("What was left out", _left_out(search)),
    ]


def _verdict(search: Search) -> Iterator[Block]:
    yield Paragraph(Span(wording.verdict(search), "strong" if search.answers else "failed"))
    yield Bullets([wording.shortfall(one, search.currency) for one in search.shortfalls])
    if any(one.together for one in search.shortfalls):
        yield Paragraph(wording.CONFLICT)
    if search.answers and not search.is_complete:
        yield Paragraph(
            "The time limit ended the search: what was found holds, but there may be better ones.", note=True
        )


def _needs(search: Search) -> list[Block]:
    """Each need, and the arithmetic of those that were computed."""
    rows: list[list[Text]] = [
        [
            words.capital(wording.NEEDS[need.what]),
            "at most" if need.is_most else "at least",
            wording.amount(need.value, need, search.currency),
        ]
        for need in search.needs
    ]
    computed = [need.value for need in search.needs]
    table = Table([Column("Requirement"), Column(""), Column("Value", is_number=True)], rows, "Requirements")
    return [table, *steps.tables({"How they are worked out": computed})]


def _front(search: Search) -> Table:
    """A row for each configuration, the cheapest first."""
    kinds = words.rate_kinds([one.size for one in search.answers])
    table = _rows(search, kinds)
    columns = [*table.columns, Column("Limited by")]
    rows = [[*row, _limits(one)] for row, one in zip(table.rows, search.answers, strict=True)]
    caption = "The front: nothing beats these in capacity, rates and cost together"
    return Table(columns, rows, caption, density="wide" if len(columns) > 8 else "normal")


def _narrow_front(search: Search) -> Table:
    """The same on 80 columns: no rates that nobody asked for."""
    kinds = [kind for one in search.answers for kind in wording.main_kinds(search, one)]
    return _rows(search, list(dict.fromkeys(kinds))[:_MOST_RATES])


def _rows(search: Search, kinds: Sequence[RateKind]) -> Table:
    columns = [
        *numbers(""),
        Column("Configuration", wraps=any(len(one.size.bricks) > 1 for one in search.answers)),
        *numbers("Usable", *map(words.head, kinds), "Racks"),
        Column("Price" if search.cost == "price" else "Space", is_number=True),
    ]
    rows: list[list[Text]] = []
    for number, one in enumerate(search.answers, start=1):
        size = one.size
        known = [size.rates["healthy"].get(kind) for kind in kinds]
        counts = ", ".join(f"{counted.count} × {counted.brick}" for counted in one.configuration.bricks)
        drives = words.listed(list(dict.fromkeys(choice.drive for choice in size.bricks)))
        rows.append(
            [
                f"{number}",
                (counts, Span(f"{drives}, {one.role}", "below")),
                words.cell(size.capacity.usable),
                *(words.cell(rate.value if rate else None, kind) for rate, kind in zip(known, kinds, strict=True)),
                f"{len(one.racks)}" if one.racks else ABSENT,
                wording.cost(search, one.cost),
            ]
        )
    return Table(columns, rows)


def _limits(answer: Answer) -> str:
    """What limits it, each place once."""
    limited = [words.limited_by(rate) for rate in answer.size.rates["healthy"].values()]
    return ", ".join(dict.fromkeys(limited))


def _answer(search: Search, catalogue: Catalogue, at: int, drawn: Pictures | None) -> Section:
    """A configuration with all that is known of it."""
    one = search.answers[at]
    pictures = drawn.answers[at] if drawn else None
    return Section(
        f"{at + 1}. {words.bought(one.size)} ({one.role})",
        [
            Section("Margins", [_margins(search, one)]),
            Section("What limits it", explanation.limits(one.size, pictures)),
            Section("Racks", [*map(Figure, pictures.racks if pictures else ()), racks.table(one.racks)]),
            Section("Bill of materials", bill_table.blocks(bill(catalogue, one.configuration, len(one.racks)))),
            Section("Arithmetic", steps.of_everything(one.size), fold="closed"),
            Section(
                "YAML for ioassay size explain",
                [Preformatted(configuration_yaml(one, search.requirements), "yaml")],
                fold="closed",
            ),
        ],
        f"answer-{at + 1}",
        fold="" if at == 0 else "closed",
    )


def _first(search: Search, catalogue: Catalogue) -> Section:
    """The first configuration on a terminal, whose steps `ioassay size explain` shows."""
    one = search.answers[0]
    return Section(
        words.bought(one.size),
        [
            Section("Margins", [_margins(search, one)]),
            Section("What limits it", explanation.limits(one.size, None)),
            Section("Racks", [racks.table(one.racks)]),
            Section("Bill of materials", bill_table.blocks(bill(catalogue, one.configuration, len(one.racks)))),
        ],
    )


def _margins(search: Search, one: Answer) -> Table:
    rows: list[list[Text]] = [
        [
            words.capital(wording.NEEDS[margin.need.what]),
            f"{'at most' if margin.need.is_most else 'at least'} "
            f"{wording.amount(margin.need.value, margin.need, search.currency)}",
            wording.amount(margin.has, margin.need, search.currency),
            wording.margin(margin),
        ]
        for margin in one.margins
    ]
    return Table([Column("Requirement"), *numbers("Needed", "Has", "Margin")], rows, "What is needed, and what it has")


def _movements(search: Search, most: int) -> list[Block]:
    """Figures that were off, each with what the first configuration then is."""
    if not search.answers or not search.movements:
        return []
    first = search.answers[0]
    rows: list[list[Text]] = [
        [
            words.capital(one.figure),
            one.value.written or words.amount(one.value),
            wording.side(one.factor),
            wording.effect(one, first),
            ABSENT if one.cost is None else wording.cost(search, one.cost),
        ]
        for one in search.movements[:most]
    ]
    columns = [
        Column("Figure", merges=True),
        Column("Value", is_number=True, merges=True),
        Column("If it is"),
        Column("Configuration 1"),
        Column("Price" if search.cost == "price" else "Space", is_number=True),
    ]
    left = len(search.movements) - len(rows)
    return [
        Paragraph(f"Configuration 1 takes {wording.cost(search, first.cost)}. The largest effects stand first."),
        Table(columns, rows, "What moves the answer"),
        *([Notes([f"{left} smaller effects are not shown here."])] if left else []),
    ]


def _assumed(search: Search, catalogue: Catalogue) -> list[Block]:
    sizes = [one.size for one in search.answers]
    values = [value for size in sizes for value in steps.of_size(size)]
    values += [need.value for need in search.needs]
    return [Bullets(steps.scaling(sizes)), steps.assumptions(catalogue, sizes, values)]


def _left_out(search: Search) -> Sequence[Block]:
    return [Paragraph(wording.looked_at(search)), Bullets(search.unknown)]

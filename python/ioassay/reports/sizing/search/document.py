"""A search as a document, and what the terminal shows of it. Not: figures (`pictures`), sentences (`wording`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import structs

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
from ioassay.reports.sizing import bill as bill_table
from ioassay.reports.sizing import file_system_limits, racks, steps, survival, times
from ioassay.reports.sizing import wording as words
from ioassay.reports.sizing.explanation import document as explanation
from ioassay.reports.sizing.search import wording
from ioassay.reports.sizing.search.configuration_yaml import configuration_yaml
from ioassay.sizing import formulas
from ioassay.sizing.arithmetic import Value
from ioassay.sizing.bill import bill
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick
from ioassay.sizing.model import Size
from ioassay.sizing.reliability.failures import drive_failures
from ioassay.sizing.search.model import Answer, Movement, Need, Search, kind_of, tier_of
from ioassay.text.format import ABSENT, count
from ioassay.text.prose import listed
from ioassay.version import __version__

if TYPE_CHECKING:
    from ioassay.reports.sizing.search.pictures import Pictures

_MOST_MOVEMENTS = 8
"""Rows of what moves the answer on a terminal: none that moves nothing."""

_ON_A_TERMINAL, _ON_A_PAGE = 2, 3
"""Columns of rates: those that 80 columns have room for, and a page."""


def document(search: Search, catalogue: Catalogue, drawn: Pictures | None = None) -> Document:
    """The document, with the figures where they have been drawn."""
    requirements = search.requirements
    fronts = map(Figure, drawn.fronts if drawn else ())
    return Document(
        requirements.title or requirements.name,
        [
            Section("Answer", [*_verdict(search), _front(search), *fronts], "answer"),
            Section("What is needed", _needs(search), "needs"),
            *(_answer(search, catalogue, index, drawn) for index in range(len(search.answers))),
            Section(
                "What moves the answer",
                [Figure(drawn.sensitivity if drawn else None), *_movements(search, search.movements)],
                "sensitivity",
            ),
            Section("Assumptions", [_assumed(search, catalogue)], "assumed"),
            Section("What was left out", _left_out(search), "left-out"),
        ],
        question="Which configurations meet the requirements, what limits them, and what would change the answer?",
        window=f"{requirements.name}: sizing",
        footer=f"Written by ioassay {__version__}.",
    )


def terminal(search: Search, catalogue: Catalogue) -> list[Block]:
    """The blocks for the terminal: the verdict, the front, the first configuration, and the sensitivity."""
    return [
        Section("Answer", [*_verdict(search), _front_rows(search, _ON_A_TERMINAL)]),
        Section("What is needed", _needs(search)),
        *([_first(search, catalogue)] if search.answers else []),
        Section("What moves the answer", _movements(search, _largest(search))),
        Section("What was left out", [Paragraph(wording.scope_of_search(search)), *_left_out_count(search)]),
        *_assumed_count(search, catalogue),
    ]


def _verdict(search: Search) -> Iterator[Block]:
    yield Paragraph(Span(wording.verdict(search), "strong" if search.answers else "failed"))
    yield Bullets([wording.shortfall(shortfall, search.currency) for shortfall in search.shortfalls])
    if any(shortfall.together for shortfall in search.shortfalls):
        yield Paragraph(wording.CONFLICT)
    if search.answers and not search.is_complete:
        yield Paragraph(wording.not_proved(search), note=True)


def _needs(search: Search) -> list[Block]:
    """Each need, and the arithmetic of those that were computed."""
    rows: list[list[Text]] = [
        [
            words.capital(wording.noun(need)),
            "at most" if need.is_most else "at least",
            wording.amount(need.value, need, search.currency),
        ]
        for need in search.needs
    ]
    computed = [need.value for need in search.needs]
    table = Table([Column("Requirement"), Column(""), Column("Value", is_number=True)], rows, "Requirements")
    return [table, *steps.tables({"How they are worked out": computed})]


def _front(search: Search) -> Table:
    """A row for each configuration, the cheapest first, with the rates that are required."""
    table = _front_rows(search, _ON_A_PAGE)
    columns = [*table.columns, Column("Limited by")]
    limits = (_limits(search, tier, size) for answer in search.answers for tier, size in answer.parts.items())
    rows = [[*row, limit] for row, limit in zip(table.rows, limits, strict=True)]
    return Table(columns, rows, "The front: nothing beats these in capacity, rates and cost together")


def _front_rows(search: Search, most_rates: int) -> Table:
    """The front without limits; with tiers a row for each of them."""
    parts = [(tier, size) for answer in search.answers for tier, size in answer.parts.items()]
    kinds = dict.fromkeys(kind for tier, size in parts for kind in wording.main_kinds(search, tier, size))
    shown = list(kinds)[:most_rates]
    columns = [
        *numbers(""),
        Column("Configuration"),
        *(Column(head, is_number=True, wraps=False) for head in ("Usable", *map(words.head, shown))),
        Column("Price" if search.cost == "price" else "Space", is_number=True, wraps=False),
    ]
    rows: list[list[Text]] = []
    for position, answer in enumerate(search.answers, start=1):
        for tier, size in answer.parts.items():
            is_first = size is next(iter(answer.parts.values()))
            known = [size.rates["healthy"].get(kind) for kind in shown]
            bricks = [(counted.brick, counted.count) for counted in size.configuration.bricks]
            switches = answer.configuration.switches.items() if is_first else []
            bought = [*bricks, *size.configuration.metadata.items(), *switches]
            counts = ", ".join(f"{number} × {name}" for name, number in bought)
            drives = listed(list(dict.fromkeys(choice.drive for choice in size.bricks)))
            racks = [Span(count(len(answer.racks), "rack"), "below")] if answer.racks else []
            rows.append(
                [
                    f"{position}" if is_first else "",
                    (f"{tier}: {counts}" if tier else counts, Span(f"{drives}, {answer.role}", "below")),
                    words.cell(size.capacity.usable),
                    *(words.cell(rate.value if rate else None, kind) for rate, kind in zip(known, shown, strict=True)),
                    (wording.cost(search, answer.cost), *racks) if is_first else "",
                ]
            )
    return Table(columns, rows)


def _limits(search: Search, tier: str, size: Size) -> str:
    """The limits of the required rates, each place once."""
    rates = size.rates["healthy"]
    return ", ".join(dict.fromkeys(words.limited_by(rates[kind]) for kind in wording.main_kinds(search, tier, size)))


def _answer(search: Search, catalogue: Catalogue, index: int, drawn: Pictures | None) -> Section:
    """A configuration with all that is known of it."""
    answer = search.answers[index]
    pictures = drawn.answers[index] if drawn else None
    ceilings = pictures.ceilings if pictures else {}
    return Section(
        f"{index + 1}. {wording.bought(answer)} ({answer.role})",
        [
            Section("Margins", [_margins(search, answer)]),
            *(_why(search, catalogue, answer) if index == 0 else []),
            *(
                _of_part(tier, part)
                for tier, size in answer.parts.items()
                for part in (
                    Section("What limits it", [*_scaling(size), *explanation.limits(size, ceilings.get(tier))]),
                    survival.survival(catalogue, size),
                    *file_system_limits.limits(catalogue, size),
                    times.times(size, search.requirements, tier),
                    times.failures(drive_failures(catalogue, size)),
                )
            ),
            Section("Racks", [*map(Figure, pictures.racks if pictures else ()), racks.table(answer.racks)]),
            Section("Bill of materials", bill_table.blocks(bill(catalogue, answer.configuration, len(answer.racks)))),
            *(
                _of_part(tier, Section("Arithmetic", steps.of_everything(size), fold="closed"))
                for tier, size in answer.parts.items()
            ),
            Section(
                "YAML for ioassay size explain",
                [Preformatted(configuration_yaml(answer, search.requirements), "yaml")],
                fold="closed",
            ),
        ],
        f"answer-{index + 1}",
        fold="" if index == 0 else "closed",
    )


def _first(search: Search, catalogue: Catalogue) -> Section:
    """The first configuration on a terminal, whose steps `ioassay size explain` shows."""
    answer = search.answers[0]
    return Section(
        wording.bought(answer),
        [
            Section("Margins", [_margins(search, answer)]),
            *_why(search, catalogue, answer),
            *(
                _of_part(tier, part)
                for tier, size in answer.parts.items()
                for part in (
                    Section("What limits it", [*_scaling(size), *explanation.limits(size, None)]),
                    *file_system_limits.limits(catalogue, size, only_exceeded=True),
                    times.times(size, search.requirements, tier),
                )
            ),
            Section("Racks", [racks.table(answer.racks)]),
            Section("Bill of materials", bill_table.blocks(bill(catalogue, answer.configuration, len(answer.racks)))),
        ],
    )


def _of_part(tier: str, section: Section) -> Section:
    """A section of a tier, with its name."""
    return structs.replace(section, title=f"{section.title}: {tier}") if tier else section


def _scaling(size: Size) -> list[Block]:
    return [Paragraph(words.scaling(size), note=True)]


def _margins(search: Search, answer: Answer) -> Table:
    rows: list[list[Text]] = [
        [
            words.capital(wording.noun(margin.need)),
            "at most" if margin.need.is_most else "at least",
            wording.cell(margin.need.value, margin.need, search.currency),
            wording.cell(margin.has, margin.need, search.currency),
            wording.margin(margin),
        ]
        for margin in answer.margins
    ]
    return Table(
        [Column("Requirement"), Column(""), *numbers("Needed", "Has", "Margin")],
        rows,
        "What is needed, and what it has",
    )


def _why(search: Search, catalogue: Catalogue, answer: Answer) -> list[Section]:
    """The number of bricks that each need takes by itself, for needs that grow with it; the largest decides."""
    rows: list[list[Text]] = []
    for tier, size in answer.parts.items():
        needed = [
            (need, sections)
            for need in search.needs
            if (sections := _bricks_for(search, catalogue, need, tier, size)) is not None
        ]
        most = max((number for _, (_, number) in needed), default=0.0)
        for need, (each, number) in needed:
            shown = f"{number:,.2f}"
            rows.append(
                [
                    words.capital(wording.noun(need)),
                    f"{formulas.brief(need.value)} ÷ {formulas.brief(each)}",
                    Span(f"{shown}, which decides", "strong") if number == most else shown,
                ]
            )
    if not rows:
        return []
    columns = [Column("Requirement"), Column("By one brick", is_number=True), Column("Bricks", is_number=True)]
    return [Section("Why so many bricks", [Table(columns, rows)])]


def _bricks_for(search: Search, catalogue: Catalogue, need: Need, tier: str, size: Size) -> tuple[Value, float] | None:
    """The contribution of one brick to a need, and the bricks that meet it; `None` where they do not simply add up."""
    if need.is_most or tier_of(need.what) != tier or len(size.bricks) != 1:
        return None
    ((choice, brick),) = size.bricks.items()
    scaling = catalogue.find(choice.brick, Brick).scaling or search.requirements.scaling
    if scaling is None or scaling.by != "linear":
        return None
    given: dict[str, Value] = {"usable": brick.capacity.usable}
    given |= {kind: rate.value for kind, rate in brick.rates[search.requirements.rates_hold].items()}
    each = given.get(kind_of(need.what))
    return None if each is None else (each, need.value.nominal / each.nominal)


def _movements(search: Search, shown: Sequence[Movement]) -> list[Block]:
    """Figures that were off, each with what the first configuration then is."""
    if not search.answers or not search.movements:
        return []
    first = search.answers[0]
    figures = list(dict.fromkeys(movement.figure for movement in shown))  # those that move it most stand first
    rows: list[list[Text]] = [
        [
            words.capital(movement.figure),
            words.cell(movement.value),
            wording.side(movement.factor),
            wording.effect(movement, first),
            ABSENT if movement.cost is None else wording.cost(search, movement.cost),
        ]
        for movement in sorted(shown, key=lambda movement: (figures.index(movement.figure), movement.factor))
    ]
    columns = [
        Column("Figure", merges=True),
        Column("Value", is_number=True, merges=True),
        Column("If it is"),
        Column("Configuration 1"),
        Column("Price" if search.cost == "price" else "Space", is_number=True),
    ]
    left = len(search.movements) - len(shown)
    whole = count(len(search.movements), "change")
    hidden = f"{left} of {whole} {'is' if left == 1 else 'are'} not shown here: little or nothing moves."
    return [
        Paragraph(f"Configuration 1 takes {wording.cost(search, first.cost)}."),
        Table(columns, rows, "What moves the answer"),
        *([Notes([hidden])] if left else []),
    ]


def _largest(search: Search) -> list[Movement]:
    """The movements that a terminal shows."""
    moving = [
        movement for movement in search.movements if wording.effect(movement, search.answers[0]) != wording.NO_CHANGE
    ]
    return moving[:_MOST_MOVEMENTS]


def _assumed(search: Search, catalogue: Catalogue) -> Table:
    sizes = [size for answer in search.answers for size in answer.parts.values()]
    values = [value for size in sizes for value in steps.of_size(size)]
    return steps.assumptions(catalogue, sizes, [*values, *(need.value for need in search.needs)])


def _assumed_count(search: Search, catalogue: Catalogue) -> list[Block]:
    """The number of assumptions, for a terminal that they would fill."""
    number = len(_assumed(search, catalogue).rows)
    hint = f"{count(number, 'assumption')} and their reasons, and the other configurations: --format md."
    return [Paragraph(Span(hint, "faint"))] if number else []


def _left_out_count(search: Search) -> list[Block]:
    """The number of components left out, for a terminal; the reasons where none is left."""
    if not search.answers and not search.shortfalls:
        return [Bullets(wording.left_out_by_reason(search))]
    reasons = {
        "too little is known of them": search.unknown,
        "they do not survive what they must": search.fragile,
        "their file system is not supported so large": search.beyond_limits,
    }
    counts = [f"{len(names)} because {why}" for why, names in reasons.items() if names]
    whole = f"Bricks and modules left out, or considered alone: {listed(counts)}; --format md names each."
    return [Paragraph(whole)] if counts else []


def _left_out(search: Search) -> Sequence[Block]:
    return [
        Paragraph(wording.scope_of_search(search)),
        Bullets([*search.unknown, *search.fragile, *search.beyond_limits]),
    ]

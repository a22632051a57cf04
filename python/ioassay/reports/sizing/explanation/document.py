"""Configurations as a document, and what the terminal shows of them. Not: figures (`pictures`), words (`wording`)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, get_args

from ioassay.reports.document import (
    Block,
    Bullets,
    Column,
    Contents,
    Document,
    Figure,
    Paragraph,
    Section,
    Span,
    Table,
    Text,
    numbers,
)
from ioassay.reports.sizing import bill as bill_table
from ioassay.reports.sizing import published, racks, steps, wording
from ioassay.reports.sizing.explanation import overview
from ioassay.reports.sizing.explanation.explained import Content, Explained
from ioassay.sizing.bill import bill
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import IoKind, RateKind
from ioassay.sizing.model import Size
from ioassay.sizing.requirements import Condition
from ioassay.version import __version__

if TYPE_CHECKING:
    from ioassay.figures.picture import Picture
    from ioassay.reports.sizing.explanation.pictures import Pictures

SEQUENTIAL: tuple[RateKind, ...] = ("write", "read")
"""Kinds of I/O that a terminal shows for each of several configurations."""


def document(content: Content, drawn: Sequence[Pictures] = ()) -> Document:
    """The document, with the figures where they have been drawn."""
    file, catalogue, explained = content.file, content.catalogue, content.explained
    answer = Section("Answer", [*overview.tables(explained), *_scaling(explained)], "answer")
    sections = [
        _configuration(catalogue, explanation, drawn[index] if drawn else None)
        for index, explanation in enumerate(explained)
    ]
    checked = published.blocks(content.published)
    assumed = _assumed(catalogue, explained)
    contents = [Contents([*sections, assumed])] if len(sections) > 1 else []
    return Document(
        file.title,
        [*contents, answer, *checked, *sections, assumed],
        question="What does it hold, what does it do, what limits it, and how is each number worked out?",
        window=f"{file.name}: size",
        footer=f"Written by ioassay {__version__}.",
    )


def terminal(content: Content) -> list[Block]:
    """The blocks for the terminal: all steps of a single configuration, the results of several."""
    catalogue, explained = content.catalogue, content.explained
    blocks: list[Block] = [
        Section("Answer", [*overview.columns(explained, overview.ON_A_TERMINAL), *_scaling(explained)])
    ]
    if len(explained) == 1:
        (explanation,) = explained
        within = _blocks(catalogue, explanation, None, steps.of_limits(explanation.size))
        return [
            *blocks,
            *published.blocks(content.published),
            Section(explanation.size.name, within),
            _assumed(catalogue, explained),
        ]
    blocks += published.blocks(content.published)
    blocks += [Section(explanation.size.name, [_limits(explanation.size, SEQUENTIAL)]) for explanation in explained]
    hint = "Every step, the bill of materials and what was assumed: --configuration NAME, or --format html."
    return [*blocks, Paragraph(Span(hint, "faint"))]


def _scaling(explained: Sequence[Explained]) -> list[Block]:
    return [
        Paragraph(sentence, note=True) for sentence in steps.scaling([explanation.size for explanation in explained])
    ]


def _configuration(catalogue: Catalogue, explanation: Explained, drawn: Pictures | None) -> Section:
    return Section(
        explanation.size.name,
        _blocks(catalogue, explanation, drawn, steps.of_everything(explanation.size)),
        f"configuration-{explanation.size.name}",
    )


def _blocks(
    catalogue: Catalogue, explanation: Explained, drawn: Pictures | None, arithmetic: Sequence[Block]
) -> list[Block]:
    size = explanation.size
    title = size.configuration.title
    return [
        Paragraph(f"{title}: {wording.bought(size)}." if title else f"{wording.bought(size)}."),
        Section("What limits it", limits(size, drawn.ceilings if drawn else None)),
        *explanation.sections,
        Section("Arithmetic", arithmetic, fold="closed" if drawn else ""),
        Section("Bill of materials", bill_table.blocks(bill(catalogue, size.configuration, len(explanation.racks)))),
        Section("Racks", _racks(explanation, drawn)),
    ]


def _racks(explanation: Explained, drawn: Pictures | None) -> list[Block]:
    if explanation.racks:
        return [*map(Figure, drawn.racks if drawn else ()), racks.table(explanation.racks)]
    rack = explanation.size.configuration.rack
    return [Paragraph(f"Not drawn: the height of a part is unknown, or a brick is higher than {rack}.")]


def limits(size: Size, ceilings: Picture | None) -> list[Block]:
    """The limit of each kind of I/O: in a line, as a figure, and while parts fail."""
    return [_limits(size), Figure(ceilings), _conditions(size)]


def _limits(size: Size, kinds: Collection[RateKind] = ()) -> Bullets:
    """The one-line conclusion for each kind of I/O, or for those of `kinds` that are known."""
    rates = size.rates["healthy"]
    shown = [rate for kind, rate in rates.items() if kind in kinds] or rates.values()
    return Bullets([wording.conclusion(size, rate) for rate in shown])


def _conditions(size: Size) -> Table:
    """The rates of data in each condition, with what limits them where it is something else."""
    conditions: tuple[Condition, ...] = get_args(Condition)
    kinds = [kind for kind in get_args(IoKind) if kind in size.rates["healthy"]]
    rows: list[list[Text]] = [
        [wording.head(kind), *(_rate(size, condition, kind) for condition in conditions)] for kind in kinds
    ]
    columns = [Column("Kind of I/O"), *numbers(*(wording.CONDITIONS[condition] for condition in conditions))]
    return Table(columns, rows, title="Rates while parts fail")


def _rate(size: Size, condition: Condition, kind: RateKind) -> Text:
    rate, healthy = size.rates[condition].get(kind), size.rates["healthy"][kind]
    if rate is None:
        return "no service"
    shown = wording.amount(rate.value, kind)
    if condition != "healthy" and rate.limit.place == healthy.limit.place:
        return shown
    return (shown, Span(rate.limit.place, "below"))


def _assumed(catalogue: Catalogue, explained: Sequence[Explained]) -> Section:
    sizes = [explanation.size for explanation in explained]
    values = [value for size in sizes for value in steps.of_size(size)]
    return Section("Assumptions", [steps.assumptions(catalogue, sizes, values)], "assumed")

"""A comparison as a document, and what the terminal shows of it. Not: sentences (`wording`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ioassay.reports.compare import given_rates, wording
from ioassay.reports.compare.content import Content, Line, SeriesPart
from ioassay.reports.document import (
    Block,
    Bullets,
    Column,
    Document,
    Figure,
    Notes,
    Paragraph,
    Section,
    Span,
    Table,
    numbers,
)
from ioassay.version import __version__

if TYPE_CHECKING:
    from ioassay.figures.picture import Picture


def document(content: Content, drawn: Sequence[Picture | None] = ()) -> Document:
    """The document, with the figures where `pictures` has made them."""
    return Document(
        content.title,
        [Section("Differences", _told(content)), *_series(content, drawn), _given(content), _differences(content)],
        question=f"How fast are the others compared with {content.reference.name}?",
        footer=f"Written by ioassay {__version__}.",
    )


def section(content: Content, drawn: Sequence[Picture | None]) -> list[Block]:
    """What the report of a run says of its comparison."""
    about = f"{content.title}: each ratio is the rate of the other over that of {content.reference.name}."
    return [Paragraph(about), *_told(content), *_series(content, drawn), _given(content), _differences(content)]


def _told(content: Content) -> list[Block]:
    return [Bullets(content.verdict), Notes(content.notes)]


def _series(content: Content, drawn: Sequence[Picture | None]) -> list[Section]:
    return [
        Section(part.title, [Figure(picture), _ratios(content, part), _remarks(part)])
        for part, picture in zip(content.series, drawn or [None] * len(content.series), strict=True)
    ]


def summary(content: Content) -> list[Block]:
    """What the terminal shows: the verdict of each series below its table."""
    series = [
        Section(part.title, [_brief(content, part), *map(Paragraph, part.sentences), _remarks(part)])
        for part in content.series
    ]
    silence = [] if series else map(Paragraph, content.verdict)
    return [*series, *silence, _given(content), Notes([*content.chance, *content.notes]), _differences(content)]


def _given(content: Content) -> Section:
    shown: list[Block] = [given_rates.table(content.given), Notes([given_rates.NOTE])] if content.given else []
    return Section("At a given rate", shown)


def _remarks(part: SeriesPart) -> Notes:
    return Notes([*part.unlike, *part.doubts])


def _ratios(content: Content, part: SeriesPart) -> Table:
    heads = (wording.named(content.reference), "Rate", "Ratio", "Interval")
    return Table(
        [Column("At"), Column("Of"), *numbers(*heads)],
        [[line.at, line.other, *_numbers(line)] for line in part.lines],
        "Ratios; in bold where the interval excludes 1",
    )


def _brief(content: Content, part: SeriesPart) -> Table:
    """Where there is but one other, its name stands above its rates."""
    several = len(content.subjects) > 2
    other = "Rate" if several else wording.named(content.subjects[1])
    heads = (wording.named(content.reference), other, "Ratio", "Interval")
    return Table(
        [Column(), *([Column("Of")] if several else []), *numbers(*heads)],
        [[line.at, *([line.other] if several else []), *_numbers(line)] for line in part.lines],
    )


def _numbers(line: Line) -> list[str | Span]:
    ratio = Span(line.ratio, "strong") if line.differs else line.ratio
    return [line.reference_rate, line.other_rate, ratio, line.interval]


def _differences(content: Content) -> Section:
    columns = [Column(), *(Column(wording.named(subject)) for subject in content.subjects)]
    rows = [[row.what, *row.values] for row in content.differences]
    caption = "Facts that differ; all others are equal or known for one side only"
    return Section("Configuration differences", [Table(columns, rows, caption)])

"""A comparison as a document: as a page, as text, and on the terminal. Not: sentences (`wording`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ioassay.reports.compare.content import Content, Line, SeriesPart
from ioassay.reports.document import Block, Bullets, Column, Document, Figure, Notes, Paragraph, Section, Span, Table
from ioassay.version import __version__

if TYPE_CHECKING:
    from ioassay.figures.picture import Picture


def page(content: Content, drawn: Sequence[Picture | None]) -> Document:
    """With figures: `drawn` is what `pictures` makes of the content."""
    return Document(
        content.title,
        [Section("What can be told", _told(content)), *_series_of_page(content, drawn), *_differences(content)],
        question=f"How many times as fast as {content.reference.name} are the others?",
        footer=f"Written by ioassay {__version__}.",
    )


def section(content: Content, drawn: Sequence[Picture | None]) -> list[Block]:
    """What the page of a run says of its comparison."""
    about = f"{content.title}: each ratio is the rate of the other over that of {content.reference.name}."
    return [Paragraph(about), *_told(content), *_series_of_page(content, drawn), *_differences(content)]


def _told(content: Content) -> list[Block]:
    return [Bullets(content.verdict), Notes(content.notes)]


def _series_of_page(content: Content, drawn: Sequence[Picture | None]) -> list[Section]:
    return [
        Section(part.title, [*([Figure(picture)] if picture else []), _ratios(content, part), _remarks(part)])
        for part, picture in zip(content.series, drawn, strict=True)
    ]


def text(content: Content) -> list[Block]:
    """Without figures."""
    return [
        Section("What can be told", [Bullets(content.verdict)]),
        *(Section(part.title, [_ratios(content, part), _remarks(part)]) for part in content.series),
        *([Section("What to know of all of it", [Notes(content.notes)])] if content.notes else []),
        *_differences(content),
    ]


def summary(content: Content) -> list[Block]:
    """What the terminal shows: the verdict of each series below its table."""
    series = [
        Section(part.title, [_brief(content, part), *map(Paragraph, part.sentences), _remarks(part)])
        for part in content.series
    ]
    silence = [] if series else map(Paragraph, content.verdict)
    return [*series, *silence, Notes([*content.chance, *content.notes]), *_differences(content)]


def _remarks(part: SeriesPart) -> Notes:
    return Notes([*part.unlike, *part.doubts])


def _ratios(content: Content, part: SeriesPart) -> Table:
    heads = (content.reference.name, "Rate", "Ratio", "Interval")
    return Table(
        [Column("At"), Column("Of"), *(Column(head, is_number=True) for head in heads)],
        [[line.at, line.other, *_numbers(line)] for line in part.lines],
        "Ratios; in bold where the interval excludes 1",
    )


def _brief(content: Content, part: SeriesPart) -> Table:
    """Where there is but one other, its name stands above its rates."""
    several = len(content.subjects) > 2
    heads = (content.reference.name, "Rate" if several else content.subjects[1].name, "Ratio", "Interval")
    return Table(
        [Column(), *([Column("Of")] if several else []), *(Column(head, is_number=True) for head in heads)],
        [[line.at, *([line.other] if several else []), *_numbers(line)] for line in part.lines],
    )


def _numbers(line: Line) -> list[str | Span]:
    ratio = Span(line.ratio, "strong") if line.differs else line.ratio
    return [line.reference_rate, line.other_rate, ratio, line.interval]


def _differences(content: Content) -> list[Section]:
    if not content.differences:
        return []
    columns = [Column(), *(Column(subject.name) for subject in content.subjects)]
    rows = [[row.what, *row.values] for row in content.differences]
    caption = "Facts that differ; all others are the same or told by one side alone"
    return [Section("What differs in configuration", [Table(columns, rows, caption)])]

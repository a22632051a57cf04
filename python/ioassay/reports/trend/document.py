"""A trend as a document, and what the terminal shows of it. Not: sentences (`wording`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ioassay.reports.check.document import counted
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
    Text,
)
from ioassay.reports.trend import wording
from ioassay.reports.trend.content import Content, GroupPart, Moment, SeriesPart
from ioassay.version import __version__

if TYPE_CHECKING:
    from ioassay.figures.picture import Picture


def document(content: Content, drawn: Sequence[Sequence[Picture | None]] = ()) -> Document:
    """The document, with the figures where `pictures` has made them."""
    groups = (
        Section(part.title if len(content.groups) > 1 else "What changed", _group(part, pictures))
        for part, pictures in zip(content.groups, drawn or [()] * len(content.groups), strict=True)
    )
    return Document(
        content.title,
        [Notes(content.left_out), *groups, Paragraph(wording.COLUMNS_NOTE, note=True)],
        question="Has it become slower, when, and by how much?",
        window=f"{content.title}: trend",
        footer=f"Written by ioassay {__version__}.",
    )


def _group(part: GroupPart, drawn: Sequence[Picture | None]) -> list[Block]:
    remarks = [*part.trends, *part.missing]
    silence = [] if remarks or part.moments else [Paragraph("No level shift and no trend is significant.")]
    series = (
        Section(series.title, [Figure(picture), *_series(series)])
        for series, picture in zip(part.series, drawn or [None] * len(part.series), strict=True)
    )
    return [
        Paragraph(f"{part.span}."),
        *map(_moment, part.moments),
        Bullets(remarks),
        *silence,
        *series,
        Notes(part.given),
    ]


def _moment(moment: Moment) -> Section:
    columns = [Column(), Column("Before"), Column("After")]
    rows = [[row.what, *row.values] for row in moment.configuration]
    caption = "Configuration changes between the two runs"
    changes = (
        Table(columns, rows, caption, density="narrow")
        if rows
        else Paragraph(wording.configuration_changes(moment.configuration), note=True)
    )
    return Section(moment.between, [Bullets(moment.sentences), changes])


def terminal(content: Content) -> list[Block]:
    """The blocks for the terminal, tables first."""
    groups = (
        Section(
            part.title,
            [
                Paragraph(part.span),
                *(Section(series.title, _series(series)) for series in part.series),
                Section("", [Notes(part.given)]),
                *(
                    Section(
                        f"{moment.between}:",
                        [Bullets([*moment.sentences, wording.configuration_changes(moment.configuration)])],
                    )
                    for moment in part.moments
                ),
                Section(
                    "",
                    [*map(Paragraph, part.trends), *(Paragraph(Span(sentence, "failed")) for sentence in part.missing)],
                ),
            ],
        )
        for part in content.groups
    )
    return [*groups, Notes(content.left_out), *counted(content.lines)]


def _series(series: SeriesPart) -> list[Block]:
    columns = [Column(), *(Column(head, is_number=bool(head)) for head in wording.HEADS)]
    rows: list[list[Text]] = [
        [*row[:-1], Span(row.verdict, course.judgement)]
        for course, row in zip(series.courses, series.rows, strict=True)
    ]
    table = Table(columns, rows, "The latest run against the earlier ones", density="narrow")
    return [table, Notes(series.notes)]

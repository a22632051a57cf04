"""A run on one page of A4, for those who decide: results, warnings, and how reliable they are.

A choice of what the report says, in its words. What would not fit is left out and counted; the report has all of it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from ioassay.figures.picture import Picture
from ioassay.reports.document import Block, Bullets, Document, Figure, Paragraph, Section, Span, Text
from ioassay.reports.run import abstract, io500, levels, pictures, wording
from ioassay.reports.run.content import Content
from ioassay.reports.run.levels import Cell
from ioassay.units import format_count

MOST_ROWS = 5
"""Rows of the table of peaks, or sentences where there is none."""

MOST_FIGURES = 2
"""Figures, side by side."""

MOST_POINTS = 3
"""Sentences of a comparison, and kinds of doubts."""


def document(content: Content) -> Document:
    """The page of a run, with the weightiest of its comparison with others where there is one."""
    run, accepted = content.document, wording.acceptance(content)
    asked, study = wording.asked(content)
    sections = [
        Section("Results", _results(content)),
        *_comparison(content),
        *_warnings(content),
        Section("Reliability", _trust(content)),
    ]
    return Document(
        run.study.title,
        [
            Paragraph(abstract.about(content)),
            *([Paragraph(Span(accepted, content.accepted))] if accepted else []),
            *sections,
        ],
        question=run.study.question,
        window=f"{run.study.title} – summary",
        footer=f"{asked}: {study}. Measured: {wording.measured(content)}. Written by ioassay {run.ioassay_version} "
        f"from the stored run {run.run}; its report has everything else.",
        is_sheet=True,
    )


def _results(content: Content) -> list[Block]:
    """The letters of doubts stay away: nothing on this page explains them."""
    lines = content.summary[:MOST_ROWS]
    sentences = [] if lines else [result.text for result in abstract.key_results(content)]
    nothing = [] if lines or sentences else [Paragraph("Nothing valid was measured.")]
    more = _more(len(content.summary) - len(lines), "workload") or _more(len(sentences) - MOST_ROWS, "result")
    figures = list(map(Figure, _pictures(content)))
    return [
        levels.table(lines, _level),
        Bullets(sentences[:MOST_ROWS]),
        *nothing,
        *_scores(content),
        *more,
        *([Section("", figures)] if figures else []),
    ]


def _level(cell: Cell) -> Text:
    return Span(cell.text, "strong"), Span(cell.rests_on, "below")


def _scores(content: Content) -> list[Block]:
    if len(content.score_tables) != 1:
        return []
    (score,) = content.score_tables
    brief = replace(score, lines=[replace(line, because="", marks=()) for line in score.lines])
    return [replace(io500.table(brief), density="dense")]


def _more(count: int, noun: str) -> list[Paragraph]:
    """That the report has more of something, or nothing."""
    return [Paragraph(f"{format_count(count, f'more {noun}')} in the report.", note=True)] if count > 0 else []


def _pictures(content: Content) -> list[Picture]:
    content = replace(content, doubts=replace(content.doubts, groups=()))
    return list(
        islice((picture for picture in pictures.rates(content) if picture.svg or picture.undrawn), MOST_FIGURES)
    )


def _comparison(content: Content) -> list[Section]:
    """What is reported of a comparison, where there is a difference first."""
    comparison = content.comparison
    if comparison is None:
        return []
    parts = sorted(comparison.series, key=lambda part: not any(line.differs for line in part.lines))
    told = [text for part in parts for text in part.sentences]
    verdict = told[:MOST_POINTS] + comparison.chance if told else comparison.verdict
    return [Section(comparison.title, [Bullets(verdict), *_more(len(told) - MOST_POINTS, "sentence")])]


def _warnings(content: Content) -> list[Section]:
    headlines: list[Text] = [
        (
            *abstract.warning(line.severity),
            line.text,
            f" ({line.findings} such findings)" if line.findings > 1 else "",
        )
        for line in abstract.headlines(content)[:MOST_POINTS]
    ]
    return [Section("Warnings", [Bullets(headlines)])] if headlines else []


def _trust(content: Content) -> list[Block]:
    """What makes numbers invalid first, then what most of them carry."""
    groups = sorted(content.doubts.groups, key=lambda group: (not group.invalidates, -len(group.places)))
    doubts: list[Text] = []
    for group in groups[:MOST_POINTS]:
        kind, remedy = wording.doubt(group.kind), next(filter(None, group.remedies), "")
        invalid = (" ", Span("(invalid)", "strong")) if group.invalidates else ()
        remedies = f": {remedy}." if remedy else "."
        doubts.append((f"{kind}, {format_count(len(group.places), 'measurement')}", *invalid, remedies))
    return [
        Paragraph(wording.trust(content, with_letters=False)),
        Bullets(doubts),
        *_more(len(groups) - MOST_POINTS, "doubt"),
    ]

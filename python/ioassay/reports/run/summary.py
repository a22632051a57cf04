"""The beginning of a run's report, and the same on a page of A4 of its own: verdict, peaks, figures, findings, trust.

For those who decide. A choice of what the report says, in its words; of what would not fit on the page of A4, it says
how much there is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ioassay.figures.picture import Picture
from ioassay.reports import findings
from ioassay.reports.document import (
    Block,
    Bullets,
    Document,
    Figure,
    Paragraph,
    Section,
    Span,
    Text,
    introduced,
    shown,
)
from ioassay.reports.run import abstract, caveats, given_rates, io500, levels, medians, wording
from ioassay.reports.run.content import Content
from ioassay.reports.run.levels import Cell
from ioassay.text.units import format_count

if TYPE_CHECKING:
    from ioassay.reports.run.pictures import Pictures

MOST_ROWS = 5
"""Rows of the table of peaks, or sentences where there is none."""

MOST_POINTS = 3
"""Sentences of a comparison, and kinds of doubts."""


def beginning(content: Content, drawn: Pictures | None) -> list[Block]:
    """The first section of the report; the figures that it has are not among the results."""
    comparison = content.comparison
    headlines: list[Text] = [
        (
            *findings.warning(line.severity),
            line.text,
            caveats.in_brackets(line.caveats),
            " (",
            Span(abstract.where(line), anchor=line.anchor),
            ")",
        )
        for line in abstract.headlines(content)
    ]
    return [
        *_verdict(content),
        Paragraph(abstract.about(content)),
        *_peaks(content),
        *(map(Figure, drawn.of_summary) if drawn else ()),
        *introduced("What the numbers show beyond that:", headlines),
        *(introduced(f"{comparison.title}:", comparison.verdict) if comparison else []),
        Paragraph(wording.trust(content)),
        Bullets(caveats.to_know(content.doubts)),
    ]


def _verdict(content: Content) -> list[Section]:
    accepted = wording.acceptance(content)
    return [Section("", [Paragraph(Span(accepted, content.accepted))], "verdict")] if accepted else []


def _peaks(content: Content) -> list[Block]:
    """The tables of the best rates, or sentences where there is none."""
    if not content.has_valid and not content.score_tables:
        return [Paragraph(abstract.NOTHING_VALID)]
    note = Paragraph(io500.NOTE, note=True)
    scores: list[Block] = [
        block for score in content.score_tables for block in (Paragraph(score.sentence), io500.table(score), note)
    ]
    tables = [
        medians.table(content.medians),
        levels.table(content.summary),
        levels.series_table(content.by_series),
        given_rates.table(content.given_rates),
    ]
    if shown(tables):
        about = (f"{wording.intervals(content)}Terms are defined in the ", Span("method", anchor="method"), ".")
        return [*scores, *tables, Paragraph(about, note=True)]
    results = abstract.key_results(content)
    sentences: list[Block] = [Bullets([(result.text, caveats.in_brackets(result.caveats)) for result in results])]
    return scores or shown(sentences) or [Paragraph(abstract.NOTHING_VALID)]


def document(content: Content) -> Document:
    """The page of A4 of a run, with the weightiest of its comparison with others where there is one."""
    run = content.document
    asked, study = wording.asked(content)
    sections = [
        Section("Results", _results(content)),
        *_comparison(content),
        *_warnings(content),
        Section("Reliability", _trust(content)),
    ]
    return Document(
        run.study.title,
        [*_verdict(content), Paragraph(abstract.about(content)), *sections],
        question=run.study.question,
        window=f"{run.study.title} – summary",
        footer=f"{asked}: {study}. Measured: {wording.measured(content)}. Written by ioassay {run.ioassay_version} "
        f"from the stored run {run.run}; its report has everything else.",
        is_sheet=True,
    )


def _results(content: Content) -> list[Block]:
    """The table of peaks, or sentences where there is none, the scores, and the first figures."""
    if not content.has_valid:
        return [Paragraph(abstract.NOTHING_VALID), *_scores(content)]
    lines = content.summary[:MOST_ROWS]
    sentences = [] if lines else [result.text for result in abstract.key_results(content)]
    nothing = [] if lines or sentences else [Paragraph(abstract.NOTHING_VALID)]
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
    """The number with its gravest doubt: more has no room."""
    gravest = (Span(caveat, "caveat") for caveat in cell.caveats[:1])
    return Span(cell.text, "strong"), Span(cell.rests_on, "below"), *gravest


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
    from ioassay.reports.run import pictures  # noqa: PLC0415

    content = replace(content, doubts=replace(content.doubts, groups=()))
    return pictures.first(pictures.rates(content))


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
            *findings.warning(line.severity),
            line.text,
            f" ({line.findings} such findings)" if line.findings > 1 else "",
        )
        for line in abstract.headlines(content)[:MOST_POINTS]
    ]
    return [Section("Warnings", [Bullets(headlines)])] if headlines else []


def _trust(content: Content) -> list[Block]:
    """What makes numbers invalid first, then what they have in common."""
    told = caveats.to_know(content.doubts)
    return [
        Paragraph(wording.trust(content)),
        Bullets(told[:MOST_POINTS]),
        *_more(len(content.doubts.groups) - len(told[:MOST_POINTS]), "doubt"),
    ]

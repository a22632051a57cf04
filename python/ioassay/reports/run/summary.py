"""A run on one page of A4, for those who decide: what came out, what to beware of, and how far to trust it.

A choice of what the report says, in its words. What would not fit is left out and counted; the report has all of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

from ioassay.figures.picture import Picture
from ioassay.reports.compare.content import Content as Comparison
from ioassay.reports.run import abstract, pictures, wording
from ioassay.reports.run.abstract import Headline, key_results
from ioassay.reports.run.content import Content
from ioassay.reports.run.html import environment
from ioassay.units import format_count

MOST_ROWS = 5
"""Rows of the table of peaks, or sentences where there is none."""

MOST_FIGURES = 2
"""Figures, side by side."""

MOST_POINTS = 3
"""Sentences of a comparison, and kinds of doubts."""


@dataclass(frozen=True)
class DoubtLine:
    """A kind of doubt: how many measurements carry it, and what would help."""

    kind: str
    measurements: int
    invalidates: bool
    remedy: str


def page(content: Content, comparison: Comparison | None = None) -> str:
    """The page of a run, with the weightiest of its comparison with others where there is one."""
    document = content.document
    rows = content.summary[:MOST_ROWS]
    sentences = [] if rows else [result.text for result in key_results(content)]
    verdict, more = _verdict(comparison) if comparison else ([], 0)
    return (
        environment()
        .get_template("summary.html.j2")
        .render(
            content=content,
            document=document,
            study=document.study,
            running=document.study.title,
            about=abstract.about(content),
            acceptance=wording.acceptance(content),
            rows=rows,
            more_rows=_more(len(content.summary) - len(rows), "workload"),
            sentences=sentences[:MOST_ROWS],
            scores=[] if len(content.scores) != 1 else content.score_tables[0].lines,
            more_sentences=_more(len(sentences) - MOST_ROWS, "result"),
            pictures=_pictures(content),
            headlines=_headlines(content),
            comparison=comparison,
            verdict=verdict,
            more_verdict=_more(more, "sentence"),
            trust=wording.trust(content, with_letters=False),
            doubts=_doubts(content),
            more_doubts=_more(len(content.doubts.groups) - MOST_POINTS, "doubt"),
            asked=wording.asked(content),
            measured=wording.measured(content),
        )
    )


def _more(count: int, noun: str) -> str:
    """That the report has more of something, or nothing."""
    return f"{format_count(count, f'more {noun}')} in the report." if count > 0 else ""


def _pictures(content: Content) -> list[Picture]:
    """Without the letters of doubts, which nothing on this page explains."""
    content = replace(content, doubts=replace(content.doubts, groups=()))
    return list(
        islice((picture for picture in pictures.rates(content) if picture.svg or picture.undrawn), MOST_FIGURES)
    )


def _headlines(content: Content) -> list[Headline]:
    return abstract.headlines(content)[:MOST_POINTS]


def _verdict(comparison: Comparison) -> tuple[list[str], int]:
    """What is told of a comparison, where there is a difference first, and how many sentences are not."""
    parts = sorted(comparison.series, key=lambda part: not any(line.differs for line in part.lines))
    told = [text for part in parts for text in part.sentences]
    if not told:
        return comparison.verdict, 0
    return told[:MOST_POINTS] + comparison.chance, max(0, len(told) - MOST_POINTS)


def _doubts(content: Content) -> list[DoubtLine]:
    """What makes numbers invalid first, then what most of them carry."""
    groups = sorted(content.doubts.groups, key=lambda group: (not group.invalidates, -len(group.places)))
    return [
        DoubtLine(
            kind=group.kind.replace("-", " "),
            measurements=len(group.places),
            invalidates=group.invalidates,
            remedy=next(filter(None, group.remedies), ""),
        )
        for group in groups[:MOST_POINTS]
    ]

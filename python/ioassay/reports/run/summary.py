"""The section Summary, and the same as a page of A4 of its own: verdict, what was measured, key results, main findings,
trust.

For those who decide: a choice of what the report says, in its words; of what does not fit on the page of A4, it says
how much there is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from msgspec import structs

from ioassay.analysis.findings import Severity
from ioassay.analysis.findings.peaks import PeakEvidence
from ioassay.analysis.names import sweep_points
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
    non_empty,
)
from ioassay.reports.run import (
    caveats,
    checkpoints,
    given_rates,
    io500,
    kv_cache,
    levels,
    limits,
    medians,
    opening,
    training,
    verdicts,
)
from ioassay.reports.run.content import Content, FindingLine
from ioassay.reports.run.levels import Cell
from ioassay.store.point import SweepPoint
from ioassay.text import format
from ioassay.text.units import format_count

if TYPE_CHECKING:
    from ioassay.figures.picture import Picture
    from ioassay.reports.run.pictures import Pictures


MOST_ROWS = 5
"""Rows of the table of peaks, or sentences where there is none."""

MOST_POINTS = 3
"""Sentences of a comparison, and kinds of doubts."""

NOTHING_VALID = "Nothing valid was measured."
"""Stands for all rates where there is none."""

MOST_HEADLINES = 4
"""The most kinds of findings in an abstract."""

MOST_RESULTS = 10
"""The most sentences; the tables have all results."""

MOST_IN_FULL = 4
"""A workload with more phases has only its peaks in the sentence; the table has all levels."""

MOST_SINGLE = 6
"""Rates in the sentence about a workload that was not swept."""


def beginning(content: Content, drawn: Pictures | None) -> list[Block]:
    """The first section of the report; the figures that it has are not among the results."""
    comparison = content.comparison
    main_findings: list[Text] = [
        (
            *findings.warning(line.severity),
            line.text,
            caveats.in_brackets(line.caveats),
            " (",
            Span(where(line), anchor=line.anchor),
            ")",
        )
        for line in headlines(content)
    ]
    return [
        *_verdict(content),
        Paragraph(about(content)),
        *training.answers(content),
        *kv_cache.answers(content),
        *checkpoints.answers(content),
        *_peaks(content),
        *(map(Figure, drawn.of_summary) if drawn else ()),
        *introduced("What the numbers show beyond that:", main_findings),
        *(introduced(f"{comparison.title}:", comparison.verdict) if comparison else []),
        Paragraph(limits.trust(content)),
        Bullets(caveats.general_remarks(content.doubts)),
    ]


def _verdict(content: Content) -> list[Section]:
    accepted = verdicts.sentence(content.accepted, content.verdicts)
    return [Section("", [Paragraph(Span(accepted, content.accepted))], "verdict")] if accepted else []


def _peaks(content: Content) -> list[Block]:
    """The tables of the best rates, or sentences where there is none."""
    if not content.has_valid and not content.score_tables:
        return [Paragraph(NOTHING_VALID)]
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
    if non_empty(tables):
        about = (f"{intervals(content)}Terms are defined in the ", Span("method", anchor="method"), ".")
        return [*scores, *tables, Paragraph(about, note=True)]
    results = key_results(content)
    sentences: list[Block] = [Bullets([(result.text, caveats.in_brackets(result.caveats)) for result in results])]
    return scores or non_empty(sentences) or [Paragraph(NOTHING_VALID)]


def document(content: Content) -> Document:
    """The page of A4 of a run, with the weightiest of its comparison with others where there is one."""
    run = content.document
    asked, study = opening.asked(content)
    sections = [
        Section("Results", _results(content)),
        *_comparison(content),
        *_warnings(content),
        Section("Reliability", _trust(content)),
    ]
    return Document(
        run.study.title,
        [*_verdict(content), Paragraph(about(content)), *sections],
        question=run.study.question,
        window=f"{run.study.title} – summary",
        footer=f"{asked}: {study}. Measured: {opening.measured(content)}. Written by ioassay {run.ioassay_version} "
        f"from the stored run {run.run}; its report has everything else.",
        is_sheet=True,
    )


def _results(content: Content) -> list[Block]:
    """The table of peaks, or sentences where there is none, the scores, and the first figures."""
    if not content.has_valid:
        return [Paragraph(NOTHING_VALID), *_scores(content)]
    lines = content.summary[:MOST_ROWS]
    sentences = [] if lines else [result.text for result in key_results(content)]
    nothing = [] if lines or sentences else [Paragraph(NOTHING_VALID)]
    more = _more(len(content.summary) - len(lines), "workload") or _more(len(sentences) - MOST_ROWS, "result")
    figures = list(map(Figure, _pictures(content)))
    return [
        *training.answers(content),
        *kv_cache.answers(content),
        *checkpoints.answers(content),
        levels.table(lines, _level),
        Bullets(sentences[:MOST_ROWS]),
        *nothing,
        *_scores(content),
        *more,
        *([Section("", figures)] if figures else []),
    ]


def _level(cell: Cell) -> Text:
    """The number with its most severe doubt: there is no room for more."""
    worst = (Span(caveat, "caveat") for caveat in cell.caveats[:1])
    return Span(cell.text, "strong"), Span(cell.rests_on, "below"), *worst


def _scores(content: Content) -> list[Block]:
    if len(content.score_tables) != 1:
        return []
    (score,) = content.score_tables
    brief = replace(score, lines=[replace(line, because="", marks=()) for line in score.lines])
    return [structs.replace(io500.table(brief), density="dense")]


def _more(count: int, noun: str) -> list[Paragraph]:
    """A note that the report has more; empty where it has not."""
    return [Paragraph(f"{format_count(count, f'more {noun}')} in the report.", note=True)] if count > 0 else []


def _pictures(content: Content) -> list[Picture]:
    from ioassay.reports.run import pictures  # noqa: PLC0415

    content = replace(content, doubts=replace(content.doubts, groups=()))
    return pictures.first(pictures.against_axes(content))


def _comparison(content: Content) -> list[Section]:
    """The sentences of a comparison, series with a difference first."""
    comparison = content.comparison
    if comparison is None:
        return []
    parts = sorted(comparison.series, key=lambda part: not any(line.differs for line in part.lines))
    sentences = [text for part in parts for text in part.sentences]
    verdict = sentences[:MOST_POINTS] + comparison.chance if sentences else comparison.verdict
    return [Section(comparison.title, [Bullets(verdict), *_more(len(sentences) - MOST_POINTS, "sentence")])]


def _warnings(content: Content) -> list[Section]:
    warnings: list[Text] = [
        (
            *findings.warning(line.severity),
            line.text,
            f" ({line.findings} such findings)" if line.findings > 1 else "",
        )
        for line in headlines(content)[:MOST_POINTS]
    ]
    return [Section("Warnings", [Bullets(warnings)])] if warnings else []


def _trust(content: Content) -> list[Block]:
    """Reasons for invalid numbers first, then doubts that all share."""
    remarks = caveats.general_remarks(content.doubts)
    return [
        Paragraph(limits.trust(content)),
        Bullets(remarks[:MOST_POINTS]),
        *_more(len(content.doubts.groups) - len(remarks[:MOST_POINTS]), "doubt"),
    ]


@dataclass(frozen=True)
class Headline:
    """The main point of the first finding of a kind."""

    text: str
    severity: Severity
    anchor: str
    """The place among all findings."""
    findings: int
    """The number of findings of this kind and severity."""
    marks: tuple[str, ...]
    caveats: tuple[str, ...]
    """The doubts that change what it says, in words."""


@dataclass(frozen=True)
class KeyResult:
    """A sentence, or a part of one."""

    text: str
    marks: tuple[str, ...] = ()
    """The marks of the doubts about its numbers, in the order in which the report explains them."""
    caveats: tuple[str, ...] = ()
    """The decisive doubts, in words."""


def about(content: Content) -> str:
    """The measurement in a sentence: what, on what and when; and how it ended, if not well."""
    document = content.document
    measured = set(content.run.measurements["case"])
    cases = [case for case in document.cases if case.id in measured]
    workloads = len({case.workload for case in cases})
    clients = sorted({case.clients for case in cases if case.clients})
    what = format_count(content.doubts.measurements, "measurement")
    what += f" of {format_count(workloads, 'workload')}" if workloads > 1 else ""
    parts = []
    if clients:
        ends = sweep_points(clients) if len(clients) == 1 else f"{clients[0]} to {clients[-1]} clients"
        parts.append(f"with {ends}")
    repetitions: dict[SweepPoint, int] = {}
    for case in cases:
        point = case.sweep_point
        repetitions[point] = max(case.repetition, repetitions.get(point, 0))
    if (most := max(repetitions.values(), default=1)) > 1:
        parts.append(f"{'up to ' if min(repetitions.values()) < most else ''}{most} repetitions of each")
    if document.imported is not None:
        files = format_count(len(document.imported.files), "file")
        parts.append(f"read from {files} written by {opening.imported(document.imported)}")
    else:
        nodes = f" from {format_count(len(document.environment), 'node')}" if document.environment else ""
        parts.append(f"against {document.where}{nodes}")
    day = f", on {opening.day(document.started)}" if document.started else ""
    state = "" if document.state == "complete" else f" {opening.state(content)}"
    return f"{what} {', '.join(parts)}{day}.{state}"


def where(headline: Headline) -> str:
    """The link behind a headline: `1 of 4 such findings`."""
    return "finding" if headline.findings == 1 else f"the first of {headline.findings} such findings"


def anchor(number: int) -> str:
    """The anchor of the finding of this number, counted from 1."""
    return f"finding-{number}"


def headlines(content: Content) -> list[Headline]:
    """The main findings, warnings first, one for each kind."""
    kinds: dict[tuple[Severity, str], list[tuple[int, FindingLine]]] = {}
    for number, line in enumerate(content.findings, start=1):
        if (line.finding.severity, line.finding.kind) == ("notice", PeakEvidence.kind):
            continue  # the key results tell the peaks
        kinds.setdefault((line.finding.severity, line.finding.kind), []).append((number, line))
    return [_headline(lines) for lines in list(kinds.values())[:MOST_HEADLINES]]


def _headline(lines: list[tuple[int, FindingLine]]) -> Headline:
    number, first = lines[0]
    return Headline(
        first.finding.message.headline, first.finding.severity, anchor(number), len(lines), first.marks, first.caveats
    )


def key_results(content: Content) -> list[KeyResult]:
    """A sentence per row of the peak and sustained table, or what stands for it where nothing was swept."""
    results = [
        KeyResult(table.sentence, _marks_in_order(content, (line.marks for line in table.lines)))
        for table in content.score_tables
    ]
    results += [*_write_and_read_results(content), *_other_results(content)]
    results += [KeyResult(line.sentence, caveats=line.caveats) for line in content.given_rates]
    results += [
        KeyResult(grid.sentence, _marks_in_order(content, (cell.marks for _, cells in grid.rows for cell in cells)))
        for survey in content.surveys
        for grid in survey.grids
    ]
    results = results or _unswept_results(content)
    more = len(results) - MOST_RESULTS
    last = [KeyResult(f"{format_count(more, 'more workload')} in the results.")] if more > 0 else []
    return results[:MOST_RESULTS] + last


def _marks_in_order(content: Content, marks: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    present = {mark for some in marks for mark in some}
    return tuple(group.mark for group in content.doubts.groups if group.mark in present)


def _distinct(several: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for some in several for text in some))


def _write_and_read_results(content: Content) -> list[KeyResult]:
    results = []
    # Imported results may not tell how many there were.
    known = " of a known number of clients" if content.document.imported else ""
    for line in content.summary:
        peak_write, peak_read, sustained_write, sustained_read = line.cells
        parts = []
        for operation, peak, sustained in (
            ("writes", peak_write, sustained_write),
            ("reads", peak_read, sustained_read),
        ):
            if peak.text == format.ABSENT:
                parts.append(f"no valid {operation}{known}")
            else:
                parts.append(f"{operation} peak at {peak.text} with {peak.rests_on} and sustain {sustained.text}")
        marks = _marks_in_order(content, (cell.marks for cell in line.cells))
        results.append(
            KeyResult(f"{line.label}: {'; '.join(parts)}.", marks, _distinct(cell.caveats for cell in line.cells))
        )
    return results


def _other_results(content: Content) -> list[KeyResult]:
    parts: dict[str, list[KeyResult]] = {}
    many = Counter(row.label for row in content.by_series)
    for row in content.by_series:
        cells = [row.peak]
        if row.peak.text == format.ABSENT:
            text = f"{row.series}: nothing valid"
        else:
            text = f"{row.series} peaks at {row.peak.text} with {row.peak.rests_on}"
            if many[row.label] <= MOST_IN_FULL:
                text += f" and sustains {row.sustained.text}"
                cells.append(row.sustained)
        parts.setdefault(row.label, []).append(
            KeyResult(
                text,
                _marks_in_order(content, (cell.marks for cell in cells)),
                _distinct(cell.caveats for cell in cells),
            )
        )
    return [_workload_result(content, label, workload_parts, "; ") for label, workload_parts in parts.items()]


def _unswept_results(content: Content) -> list[KeyResult]:
    parts: dict[str, list[KeyResult]] = {}
    for line in content.medians:
        parts.setdefault(line.label, []).append(KeyResult(f"{line.series} {line.median}", line.marks, line.caveats))
    return [
        _workload_result(content, label, _shortened(workload_parts), ", ") for label, workload_parts in parts.items()
    ]


def _shortened(rates: list[KeyResult]) -> list[KeyResult]:
    more = len(rates) - MOST_SINGLE
    return [*rates[:MOST_SINGLE], KeyResult(f"and {format_count(more, 'more rate')}")] if more > 0 else rates


def _workload_result(content: Content, label: str, parts: list[KeyResult], between: str) -> KeyResult:
    text = between.join(part.text for part in parts)
    marks = _marks_in_order(content, (part.marks for part in parts))
    return KeyResult(f"{label}: {text}.", marks, _distinct(part.caveats for part in parts))


def intervals(content: Content) -> str:
    """The meaning of an interval below a rate, if there is one; ends with a space."""
    texts = [cell.interval for line in content.summary for cell in line.cells]
    texts += [line.peak.interval for line in content.by_series] + [line.interval for line in content.medians]
    if not any(texts):
        return ""
    lucky = any(cell.luck for line in content.summary for cell in line.cells) or any(
        line.peak.luck for line in content.by_series
    )
    luck = (
        "Points are alike if repetitions cannot distinguish them from the best; the highest of several equal medians "
        "is too high by the given share on average. "
        if lucky
        else ""
    )
    return (
        "Below each median: its 95 % confidence interval, or the range of too few repetitions; below each peak: that "
        f"of the highest rate of the sweep. {luck}"
    )

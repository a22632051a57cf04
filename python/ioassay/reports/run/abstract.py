"""The abstract of a report: what was measured, what came out, and the findings that its reader must not miss.

Not: how far the numbers can be trusted on the whole (`wording.trust`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ioassay.analysis.findings import Severity
from ioassay.analysis.findings.peaks import PeakEvidence
from ioassay.analysis.names import sweep_points
from ioassay.reports.run import wording
from ioassay.reports.run.content import Content, FindingLine
from ioassay.store.point import SweepPoint
from ioassay.text import format
from ioassay.text.units import format_count

NOTHING_VALID = "Nothing valid was measured."
"""Stands for all rates where there is none."""

MOST_HEADLINES = 4
"""Kinds of findings that an abstract tells."""


MOST_RESULTS = 10
"""Sentences; the tables have all."""

MOST_IN_FULL = 4
"""Of a workload with more phases, the sentence tells the peaks only; the table beside it tells all."""

MOST_SINGLE = 6
"""Rates that a sentence tells of a workload that was not swept."""


@dataclass(frozen=True)
class Headline:
    """The main point of the first finding of a kind."""

    text: str
    severity: Severity
    anchor: str
    """Where it stands among all findings."""
    findings: int
    """Of this kind and severity."""
    marks: tuple[str, ...]
    caveats: tuple[str, ...]
    """The doubts that change what it says, in words."""


def about(content: Content) -> str:
    """What was measured, on what and when, in a sentence; of a run that did not end well also how it ended."""
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
        parts.append(f"read from {files} written by {wording.imported(document.imported)}")
    else:
        nodes = f" from {format_count(len(document.environment), 'node')}" if document.environment else ""
        parts.append(f"against {document.where}{nodes}")
    day = f", on {wording.day(document.started)}" if document.started else ""
    state = "" if document.state == "complete" else f" {wording.state(content)}"
    return f"{what} {', '.join(parts)}{day}.{state}"


def where(headline: Headline) -> str:
    """How the place of a finding is called, behind its headline: `1 of 4 such findings`."""
    return "finding" if headline.findings == 1 else f"the first of {headline.findings} such findings"


def anchor(number: int) -> str:
    """Where the finding of this number, from 1 on, stands among all."""
    return f"finding-{number}"


def headlines(content: Content) -> list[Headline]:
    """The main findings, warnings first, one for each kind."""
    kinds: dict[tuple[Severity, str], list[tuple[int, FindingLine]]] = {}
    for at, line in enumerate(content.findings, start=1):
        if (line.finding.severity, line.finding.kind) == ("notice", PeakEvidence.kind):
            continue  # the key results tell the peaks
        kinds.setdefault((line.finding.severity, line.finding.kind), []).append((at, line))
    return [_headline(lines) for lines in list(kinds.values())[:MOST_HEADLINES]]


def _headline(lines: list[tuple[int, FindingLine]]) -> Headline:
    at, first = lines[0]
    return Headline(
        first.finding.message.headline, first.finding.severity, anchor(at), len(lines), first.marks, first.caveats
    )


@dataclass(frozen=True)
class KeyResult:
    """A sentence, or a part of one."""

    text: str
    marks: tuple[str, ...] = ()
    """Of the doubts about its numbers, in the order in which the report explains them."""
    caveats: tuple[str, ...] = ()
    """Those of them that change what it says, in words."""


def key_results(content: Content) -> list[KeyResult]:
    """A sentence per row of the peak and sustained table, or what stands for it where nothing was swept."""
    results = [
        KeyResult(table.sentence, _joined(content, (line.marks for line in table.lines)))
        for table in content.score_tables
    ]
    results += [*_of_writes_and_reads(content), *_of_other_work(content)]
    results += [KeyResult(line.sentence, caveats=line.caveats) for line in content.given_rates]
    results += [
        KeyResult(grid.sentence, _joined(content, (cell.marks for _, cells in grid.rows for cell in cells)))
        for survey in content.surveys
        for grid in survey.grids
    ]
    results = results or _single(content)
    more = len(results) - MOST_RESULTS
    last = [KeyResult(f"{format_count(more, 'more workload')} in the results.")] if more > 0 else []
    return results[:MOST_RESULTS] + last


def _joined(content: Content, marks: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    found = {mark for some in marks for mark in some}
    return tuple(group.mark for group in content.doubts.groups if group.mark in found)


def _once(several: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for some in several for text in some))


def _of_writes_and_reads(content: Content) -> list[KeyResult]:
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
        marks = _joined(content, (cell.marks for cell in line.cells))
        results.append(
            KeyResult(f"{line.label}: {'; '.join(parts)}.", marks, _once(cell.caveats for cell in line.cells))
        )
    return results


def _of_other_work(content: Content) -> list[KeyResult]:
    parts: dict[str, list[KeyResult]] = {}
    many = Counter(row.label for row in content.by_series)
    for row in content.by_series:
        told = [row.peak]
        if row.peak.text == format.ABSENT:
            said = f"{row.series}: nothing valid"
        else:
            said = f"{row.series} peaks at {row.peak.text} with {row.peak.rests_on}"
            if many[row.label] <= MOST_IN_FULL:
                said += f" and sustains {row.sustained.text}"
                told.append(row.sustained)
        parts.setdefault(row.label, []).append(
            KeyResult(said, _joined(content, (cell.marks for cell in told)), _once(cell.caveats for cell in told))
        )
    return [_of_workload(content, label, own, "; ") for label, own in parts.items()]


def _single(content: Content) -> list[KeyResult]:
    parts: dict[str, list[KeyResult]] = {}
    for line in content.medians:
        parts.setdefault(line.label, []).append(KeyResult(f"{line.series} {line.median}", line.marks, line.caveats))
    return [_of_workload(content, label, _shortened(own), ", ") for label, own in parts.items()]


def _shortened(rates: list[KeyResult]) -> list[KeyResult]:
    more = len(rates) - MOST_SINGLE
    return [*rates[:MOST_SINGLE], KeyResult(f"and {format_count(more, 'more rate')}")] if more > 0 else rates


def _of_workload(content: Content, label: str, parts: list[KeyResult], between: str) -> KeyResult:
    text = between.join(part.text for part in parts)
    marks = _joined(content, (part.marks for part in parts))
    return KeyResult(f"{label}: {text}.", marks, _once(part.caveats for part in parts))

"""The abstract of a report: what was measured, and the findings that its reader must not miss.

Not: the key results and how far they can be trusted (`key_results`, `wording.trust`), which stand between them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ioassay.analysis.findings import Severity
from ioassay.analysis.findings.peaks import PeakEvidence
from ioassay.reports import format, wording
from ioassay.reports.content import Content, FindingLine
from ioassay.results.point import SweepPoint
from ioassay.units import format_count

MOST_HEADLINES = 4
"""Kinds of findings that an abstract tells."""


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


def about(content: Content) -> str:
    """What was measured, on what and when, in a sentence; of a run that did not end well also how it ended."""
    document = content.document
    measured = set(content.points["case"])
    cases = [case for case in document.cases if case.id in measured]
    workloads = len({case.workload for case in cases})
    clients = sorted({case.clients for case in cases if case.clients})
    what = format_count(content.doubts.measurements, "measurement")
    what += f" of {format_count(workloads, 'workload')}" if workloads > 1 else ""
    parts = []
    if clients:
        ends = format.points(clients) if len(clients) == 1 else f"{clients[0]} to {clients[-1]} clients"
        parts.append(f"with {ends}")
    repetitions: dict[SweepPoint, int] = {}
    for case in cases:
        point = case.sweep_point
        repetitions[point] = max(case.repetition, repetitions.get(point, 0))
    if (most := max(repetitions.values(), default=1)) > 1:
        parts.append(f"{'up to ' if min(repetitions.values()) < most else ''}{most} repetitions of each")
    if document.imported is not None:
        files = format_count(len(document.imported.files), "file")
        parts.append(f"read from {files} that {wording.imported(document.imported)} wrote")
    else:
        nodes = f" from {format_count(len(document.environment), 'node')}" if document.environment else ""
        parts.append(f"against {document.where}{nodes}")
    day = f", on {wording.day(document.started)}" if document.started else ""
    state = "" if document.state == "complete" else f" {wording.state(content)}"
    return f"{what} {', '.join(parts)}{day}.{state}"


def where(headline: Headline) -> str:
    """How the place of a finding is called, behind its headline: `1 of 4 such findings`."""
    return "finding" if headline.findings == 1 else f"the first of {headline.findings} such findings"


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
    return Headline(first.message.headline, first.finding.severity, f"finding-{at}", len(lines), first.marks)

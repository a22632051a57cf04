"""How documents show findings of runs and profiles: the remedy, and links to what a finding rests on. Not: their words
(each finder has its own, `ioassay.analysis.findings` and `ioassay.analysis.profile.findings`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ioassay.analysis.finding import (
    Evidence,
    FileLine,
    FileRow,
    Finding,
    Message,
    ProcessRow,
    Reference,
    Severity,
    StepRow,
)
from ioassay.analysis.names import Names
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence
from ioassay.reports.document import Piece, Span
from ioassay.store.measurement import Measurement
from ioassay.text import format


def warning(severity: Severity) -> tuple[Piece, ...]:
    """The word before a warning; nothing before a notice."""
    return (Span("Warning:", "warning"), " ") if severity == "warning" else ()


def remedy(message: Message) -> tuple[Piece, ...]:
    """What to do, behind a finding's text."""
    return (" ", Span("Remedy:", "strong"), " ", message.remedy)


def savings(evidence: Evidence, io_ns: int | None) -> str:
    """What following the remedy of a finding of a profile saves, of `io_ns` in I/O; empty where it saves nothing."""
    assert isinstance(evidence, ProfileEvidence)
    if evidence.saves_ns is None:
        return "How much that saves is unknown."
    if not evidence.saves_ns:
        return ""
    of_io = "" if io_ns is None else f" of {format.duration(io_ns)} in I/O"
    return f"Saves at most {format.duration(evidence.saves_ns)}{of_io}."


def references_of_run(finding: Finding, names: Names, anchors: Mapping[Measurement, str]) -> tuple[Span, ...]:
    """What a finding of a run rests on; measurements without a row in the document are left out."""
    spans = []
    for reference in finding.rests_on:
        match reference:
            case Measurement() if reference in anchors:
                spans.append(Span(names.place(reference), anchor=anchors[reference]))
            case FileLine(file, line):
                spans.append(Span(f"{Path(file).name}, line {line}"))
    return tuple(spans)


def references_of_profile(
    references: Iterable[Reference], paths: Mapping[int, str], processes: Mapping[int, str], shown: set[int]
) -> tuple[Span, ...]:
    """What a finding of a profile rests on: files with a link to their row, where they have one."""
    spans = []
    for reference in references:
        match reference:
            case FileRow(file):
                spans.append(Span(paths[file], "code", anchor=f"file-{file}" if file in shown else ""))
            case ProcessRow(process):
                spans.append(Span(processes[process]))
            case StepRow(start_s, operation):
                spans.append(Span(f"{operation} at {format.duration(start_s * 1e9)}"))
    return tuple(spans)

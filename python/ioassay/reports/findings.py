"""How documents show findings of runs and profiles: the remedy, and links to what a finding rests on. Not: their words
(each finder has its own, `ioassay.analysis.findings` and `ioassay.analysis.profile.findings`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ioassay.analysis.finding import (
    FileLine,
    FileRow,
    Finding,
    Message,
    ProcessRow,
    Reference,
    Severity,
    StepRow,
)
from ioassay.reports.document import Piece, Span
from ioassay.store.measurement import Measurement
from ioassay.text import format

if TYPE_CHECKING:
    from ioassay.analysis.names import Names


def warning(severity: Severity) -> tuple[Piece, ...]:
    """The word before a warning; nothing before a notice."""
    return (Span("Warning:", "warning"), " ") if severity == "warning" else ()


def remedy(message: Message) -> tuple[Piece, ...]:
    """The remedy, behind a finding's text."""
    return (" ", Span("Remedy:", "strong"), " ", message.remedy)


def references_of_run(finding: Finding, names: Names, anchors: Mapping[Measurement, str]) -> tuple[Span, ...]:
    """The references of a finding of a run; measurements without a row in the document are left out."""
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
    """The references of a finding of a profile: files, with a link to their row if there is one."""
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

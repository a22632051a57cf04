"""A finding: a conclusion of an analysis, with its message, remedy, evidence, and the items that it rests on.

Used for runs and for profiles. Not: which findings there are (`ioassay.analysis.findings` has those of runs,
`ioassay.analysis.profile.findings` those of profiles), how a document shows one (`ioassay.reports.findings`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, get_args

from ioassay.store.measurement import Measurement

Severity = Literal["warning", "notice"]
"""`warning`: do not use the number without knowing this."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)


class FileLine(NamedTuple):
    """A line (from 1) of a file that was read; `file` as it was named."""

    file: str
    line: int


class FileRow(NamedTuple):
    """A file of a profile, by its number in the profile."""

    file: int


class ProcessRow(NamedTuple):
    """A process of a profile, by its number in the profile."""

    process: int


class StepRow(NamedTuple):
    """A step of a profile's time line, and an operation in it."""

    start_s: float
    operation: str


Reference = Measurement | FileLine | FileRow | ProcessRow | StepRow
"""An item that a finding can rest on. Another kind needs a type with named fields, and a case in
`ioassay.reports.findings`."""


@dataclass(frozen=True)
class Evidence:
    """The numbers of a finding, in base units; one type for each kind."""

    kind: ClassVar[str]


class Message(NamedTuple):
    """A finding in words, numbers with their units."""

    headline: str
    """The conclusion, in one sentence that can stand alone."""
    remedy: str
    """What to do, in a sentence or two."""
    details: str = ""
    """More about the conclusion."""

    @property
    def text(self) -> str:
        return sentences(self.headline, self.details)


def sentences(*parts: str) -> str:
    """Joins sentences, without empty ones."""
    return " ".join(filter(None, parts))


@dataclass(frozen=True)
class Finding:
    """A conclusion from `rests_on`, which has at least one item and begins with the clearest."""

    severity: Severity
    evidence: Evidence
    rests_on: tuple[Reference, ...]
    message: Message

    @property
    def kind(self) -> str:
        return self.evidence.kind

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return tuple(reference for reference in self.rests_on if isinstance(reference, Measurement))

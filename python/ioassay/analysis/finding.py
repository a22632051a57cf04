"""A finding: what an analysis comes down to, in words with a remedy, its evidence, and what it rests on.

The same for runs and for profiles. Not: which findings there are (`ioassay.analysis.findings` has those of runs,
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
    """A line of a file that was read, from 1; the file as it was named."""

    file: str
    line: int


class FileRow(NamedTuple):
    """A file of a profile, by its number there."""

    file: int


class ProcessRow(NamedTuple):
    """A process of a profile, by its number there."""

    process: int


class StepRow(NamedTuple):
    """A step of a profile's time line, and an operation in it."""

    start_s: float
    operation: str


Reference = Measurement | FileLine | FileRow | ProcessRow | StepRow
"""What a finding can rest on. Another kind is a type with named fields, and a case in `ioassay.reports.findings`."""


@dataclass(frozen=True)
class Evidence:
    """The numbers of a finding, in base units; one type for each kind."""

    kind: ClassVar[str]


class Message(NamedTuple):
    """A finding in words, numbers with their units."""

    headline: str
    """What was found, in one sentence that can stand alone."""
    remedy: str
    """What to do about it, in a sentence or two."""
    details: str = ""
    """More about what was found."""

    @property
    def text(self) -> str:
        """Headline and details."""
        return sentences(self.headline, self.details)


def sentences(*parts: str) -> str:
    """Sentences one after the other, without the empty ones."""
    return " ".join(filter(None, parts))


@dataclass(frozen=True)
class Finding:
    """A conclusion from `rests_on`, which has at least one item; the first shows it best."""

    severity: Severity
    evidence: Evidence
    rests_on: tuple[Reference, ...]
    message: Message

    @property
    def kind(self) -> str:
        """What sort of finding it is."""
        return self.evidence.kind

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """Those of `rests_on` that are measurements."""
        return tuple(reference for reference in self.rests_on if isinstance(reference, Measurement))

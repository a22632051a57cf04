"""A finding: what an analysis comes down to, its evidence, and what it rests on.

The same for whatever is analysed: a finding refers to measurements of a run, to lines of a file, and to what other
analyses add to `Reference`. Not: which findings there are (`ioassay.analysis.findings` has those of runs,
`ioassay.analysis.profile.findings` those of profiles), words (`ioassay.reports.run.findings`,
`ioassay.reports.profile.findings`).
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
"""What a finding can rest on. Another kind is a type with named fields, and a function in
`ioassay.reports.run.findings` or `ioassay.reports.profile.findings` that says how a document shows it.
"""


@dataclass(frozen=True)
class Evidence:
    """The numbers of a finding, in base units; one type for each kind."""

    kind: ClassVar[str]


@dataclass(frozen=True)
class Finding:
    """Something that `rests_on` shows: at least one, the one that shows it best first."""

    severity: Severity
    evidence: Evidence
    rests_on: tuple[Reference, ...]

    @property
    def kind(self) -> str:
        """What sort of finding it is."""
        return self.evidence.kind

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """Those of `rests_on` that are measurements."""
        return tuple(one for one in self.rests_on if isinstance(one, Measurement))

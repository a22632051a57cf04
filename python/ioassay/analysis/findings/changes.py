"""Rates that changed from one level to another within a phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.drift import Change, Drift
from ioassay.analysis.finding import Evidence, Finding, Message, Severity
from ioassay.analysis.findings.run_facts import RunFacts, affected
from ioassay.store.measurement import Measurement
from ioassay.text import format


@dataclass(frozen=True)
class ChangeEvidence(Evidence):
    """Phases of a series in which the level of the rate changed."""

    kind: ClassVar[str] = "change"
    change: Change
    """The largest."""
    drift: Drift
    """The phase with this change."""
    phases: int
    """The number of such phases."""
    of: int
    """Phases of the series with enough samples."""


def changes(facts: RunFacts) -> Iterator[Finding]:
    """A finding for each series: a warning if its largest change is a drop, otherwise a notice."""
    for phases in facts.grouped(facts.drifts, lambda drift: drift.place):
        changed = sorted(
            ((phase, max(phase.changes, key=_size)) for phase in phases if phase.changes),
            key=lambda pair: -_size(pair[1]),
        )
        if changed:
            worst, largest = changed[0]
            severity: Severity = "warning" if largest.after < largest.before else "notice"
            evidence = ChangeEvidence(largest, worst, len(changed), len(phases))
            yield Finding(
                severity, evidence, tuple(phase.place for phase, _ in changed), _message(facts, evidence, worst.place)
            )


def _size(change: Change) -> float:
    """The difference of the levels, as a share of the higher one."""
    return abs(change.after - change.before) / max(change.after, change.before)


def _message(facts: RunFacts, evidence: ChangeEvidence, first: Measurement) -> Message:
    change, column = evidence.change, evidence.drift.column
    is_fall = change.after < change.before
    others = len(evidence.drift.changes) - 1
    more = f", and changed {'once' if others == 1 else f'{others} times'} more" if others else ""
    causes = (
        "a cache or flash buffer that was full, a server or path that failed over, another job"
        if is_fall
        else "another job that ended, a path that came back, a cache that began to serve"
    )
    return Message(
        f"{facts.names.place(first)}: after {format.duration(1e9 * change.at_s)} the rate "
        f"{'fell' if is_fall else 'rose'} from {facts.rate(column, first, change.before)} to "
        f"{facts.rate(column, first, change.after)}{more}.",
        f"Look for the cause at that time: {causes}. Run again with --watch to see what the servers did.",
        affected(evidence.phases, evidence.of, "phase"),
    )

"""Rates that declined or rose gradually within a phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.drift import Drift, Trend
from ioassay.analysis.finding import Evidence, Finding, Message
from ioassay.analysis.findings.run_facts import RunFacts, affected
from ioassay.store.measurement import Measurement
from ioassay.text import format


@dataclass(frozen=True)
class TrendEvidence(Evidence):
    """Phases of a series whose rate declined, or rose."""

    kind: ClassVar[str] = "trend"
    trend: Trend
    """The steepest."""
    drift: Drift
    """The phase with this trend."""
    phases: int
    """The number of such phases."""
    of: int
    """Phases of the series with enough samples."""


def trends(facts: RunFacts) -> Iterator[Finding]:
    """For each series, a warning about phases that declined and a notice about phases that rose."""
    for phases in facts.grouped(facts.drifts, lambda drift: drift.place):
        trended = [(phase, phase.trend) for phase in phases if phase.trend is not None]
        for declines in (True, False):
            same = sorted(
                ((phase, trend) for phase, trend in trended if (trend.change.estimate < 0) == declines),
                key=lambda pair: -abs(pair[1].change.estimate),
            )
            if same:
                evidence = TrendEvidence(same[0][1], same[0][0], len(same), len(phases))
                places = tuple(phase.place for phase, _ in same)
                message = _message(facts, evidence, places[0])
                yield Finding("warning" if declines else "notice", evidence, places, message)


def _message(facts: RunFacts, evidence: TrendEvidence, first: Measurement) -> Message:
    change = evidence.trend.change
    declined = change.estimate < 0
    ends = sorted((abs(change.low), abs(change.high)))
    sure = f"{format.share(ends[0])} to {format.share(ends[1])} with {format.share(change.confidence)} confidence"
    length = format.duration(1e9 * (evidence.drift.end_s - evidence.drift.start_s))
    return Message(
        f"{facts.names.place(first)}: the rate {'declined' if declined else 'rose'} by "
        f"{format.share(abs(change.estimate))} within {length} ({sure}).",
        "Make the phase longer, until the rate is level: caches, flash buffers and free space are used up only then. "
        "Measure again at a quiet time to rule out other jobs."
        if declined
        else "Make the phase longer, until the rate is level, so that its beginning (connections, read-ahead, caches "
        "that fill) weighs less.",
        affected(evidence.phases, evidence.of, "phase"),
    )

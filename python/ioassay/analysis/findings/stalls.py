"""Stalls within a phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.drift import Drift, Stall
from ioassay.analysis.finding import Evidence, Finding, Message
from ioassay.analysis.findings.run_facts import RunFacts, affected
from ioassay.store.measurement import Measurement
from ioassay.text import format


@dataclass(frozen=True)
class StallEvidence(Evidence):
    """Phases of a series that stalled."""

    kind: ClassVar[str] = "stalls"
    longest: Stall
    drift: Drift
    """The phase that was stalled longest."""
    stalled_s: float
    """Total time of its stalls."""
    phases: int
    """The number of such phases."""
    of: int
    """Phases of the series with enough samples."""


def stalls(facts: RunFacts) -> Iterator[Finding]:
    """A warning for each series that stalled."""
    for phases in facts.grouped(facts.drifts, lambda drift: drift.place):
        stalled = sorted((phase for phase in phases if phase.stalls), key=lambda phase: -_stalled_s(phase))
        if stalled:
            worst = stalled[0]
            longest = max(worst.stalls, key=lambda stall: stall.length_s)
            evidence = StallEvidence(longest, worst, _stalled_s(worst), len(stalled), len(phases))
            yield Finding(
                "warning", evidence, tuple(phase.place for phase in stalled), _message(facts, evidence, worst.place)
            )


def _stalled_s(drift: Drift) -> float:
    return sum(stall.length_s for stall in drift.stalls)


def _message(facts: RunFacts, evidence: StallEvidence, first: Measurement) -> Message:
    count = len(evidence.drift.stalls)
    length, start, stalled = (
        format.duration(1e9 * seconds)
        for seconds in (evidence.longest.length_s, evidence.longest.start_s, evidence.stalled_s)
    )
    longest = f"for {length}, {start} after its start"
    several = f"{count} times, {stalled} together, the longest {longest}"
    return Message(
        f"{facts.names.place(first)}: I/O stalled {longest if count == 1 else several}.",
        "Read the logs of servers and clients at that time (failover, evictions, lost connections, full journals), and "
        "run again with --watch to see what the servers did.",
        affected(evidence.phases, evidence.of, "phase"),
    )

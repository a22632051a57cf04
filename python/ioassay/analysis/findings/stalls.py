"""Times within a phase in which I/O stalled."""

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
    """The phase with most time in stalls."""
    stalled_s: float
    """All its stalls."""
    phases: int
    """In how many."""
    of: int
    """Phases of the series with enough samples to tell."""


def stalls(facts: RunFacts) -> Iterator[Finding]:
    """One for each series that stalled, a warning."""
    for own in facts.grouped(facts.drifts, lambda drift: drift.place):
        stalled = sorted((one for one in own if one.stalls), key=lambda one: -_stalled_s(one))
        if stalled:
            worst = stalled[0]
            longest = max(worst.stalls, key=lambda stall: stall.length_s)
            evidence = StallEvidence(longest, worst, _stalled_s(worst), len(stalled), len(own))
            yield Finding(
                "warning", evidence, tuple(one.place for one in stalled), _message(facts, evidence, worst.place)
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

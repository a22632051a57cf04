"""Rates that went up and down within a phase without a trend, a change or a stall that explains it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.drift import Drift
from ioassay.analysis.finding import Evidence, Finding, Message
from ioassay.analysis.findings.run_facts import RunFacts, affected
from ioassay.store.measurement import Measurement

WIDE = 2.0
"""Ratio of the highest to the lowest decile of a phase's rates above which it fluctuated."""


@dataclass(frozen=True)
class FluctuationEvidence(Evidence):
    """Phases of a series whose rate fluctuated."""

    kind: ClassVar[str] = "fluctuations"
    drift: Drift
    """The phase with the widest range."""
    phases: int
    """The number of such phases."""
    of: int
    """Phases of the series with enough samples."""


def fluctuations(facts: RunFacts) -> Iterator[Finding]:
    """A notice for each series that fluctuated."""
    for phases in facts.grouped(facts.drifts, lambda drift: drift.place):
        wide = sorted(
            (
                phase
                for phase in phases
                if phase.high >= WIDE * phase.low and not (phase.trend or phase.changes or phase.stalls)
            ),
            key=lambda phase: phase.low / phase.high,
        )
        if wide:
            evidence = FluctuationEvidence(wide[0], len(wide), len(phases))
            places = tuple(phase.place for phase in wide)
            yield Finding("notice", evidence, places, _message(facts, evidence, places[0]))


def _message(facts: RunFacts, evidence: FluctuationEvidence, first: Measurement) -> Message:
    drift = evidence.drift
    low, high = (facts.rate(drift.column, first, rate) for rate in (drift.low, drift.high))
    return Message(
        f"{facts.names.place(first)}: the rate fluctuated: a tenth of the time it was below {low}, a tenth above "
        f"{high}.",
        "Measure again at a quiet time with --watch, which shows whether servers wrote in bursts or other jobs "
        "interfered. If it stays, use phases many times as long as the fluctuations.",
        affected(evidence.phases, evidence.of, "phase"),
    )

"""Rates that went up and down within a phase without a trend, a change or a stall that explains it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.drift import Drift
from ioassay.analysis.finding import Evidence, Finding
from ioassay.analysis.findings.run_facts import RunFacts

WIDE = 2.0
"""Times the lowest tenth of the steps' rates at which the highest tenth is far above it."""


@dataclass(frozen=True)
class FluctuationEvidence(Evidence):
    """Phases of a series whose rate fluctuated."""

    kind: ClassVar[str] = "fluctuations"
    drift: Drift
    """The phase with the widest range."""
    phases: int
    """In how many."""
    of: int
    """Phases of the series with enough samples to tell."""


def fluctuations(facts: RunFacts) -> Iterator[Finding]:
    """One for each series that fluctuated."""
    for own in facts.grouped(facts.drifts, lambda one: one.place):
        wide = sorted(
            (one for one in own if one.high >= WIDE * one.low and not (one.trend or one.changes or one.stalls)),
            key=lambda one: one.low / one.high,
        )
        if wide:
            yield Finding("notice", FluctuationEvidence(wide[0], len(wide), len(own)), tuple(one.place for one in wide))

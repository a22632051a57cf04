"""Rates that declined or rose gradually within a phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.drift import Drift, Trend
from ioassay.analysis.finding import Evidence, Finding
from ioassay.analysis.findings.run_facts import RunFacts


@dataclass(frozen=True)
class TrendEvidence(Evidence):
    """Phases of a series in which the rate went one way."""

    kind: ClassVar[str] = "trend"
    trend: Trend
    """The steepest."""
    drift: Drift
    """The phase that has it."""
    phases: int
    """In how many."""
    of: int
    """Phases of the series with enough samples to tell."""


def trends(facts: RunFacts) -> Iterator[Finding]:
    """For each series one about the phases that declined, a warning, and one about those that rose."""
    for own in facts.grouped(facts.drifts, lambda one: one.place):
        trended = [(one, one.trend) for one in own if one.trend is not None]
        for declines in (True, False):
            same = sorted(
                ((one, trend) for one, trend in trended if (trend.change.estimate < 0) == declines),
                key=lambda pair: -abs(pair[1].change.estimate),
            )
            if same:
                evidence = TrendEvidence(same[0][1], same[0][0], len(same), len(own))
                yield Finding("warning" if declines else "notice", evidence, tuple(one.place for one, _ in same))

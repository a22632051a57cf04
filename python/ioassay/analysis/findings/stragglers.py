"""Finishes far behind the stonewall, and ranks that had done many times the work of others when it came."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.finding import Evidence, Finding, Severity
from ioassay.analysis.findings.run_facts import RunFacts
from ioassay.analysis.stragglers import Straggling, straggling

STRETCHED = 1.5
"""Times the stonewall at which a finish is far behind."""

UNEQUAL = 10.0
"""Times the operations of another rank that are many."""


@dataclass(frozen=True)
class StragglerEvidence(Evidence):
    """Measurements of a series in which ranks fell behind."""

    kind: ClassVar[str] = "stragglers"
    worst: Straggling
    """The one whose finish is farthest behind its stonewall."""
    measurements: int
    """In how many."""
    of: int
    """Measurements of the series that a stonewall came to."""


def stragglers(facts: RunFacts) -> Iterator[Finding]:
    """One for each series in which ranks fell behind: a warning where the finish did, too."""
    every = straggling(facts.run.measurements, facts.run.ranks)
    for own in facts.grouped(every, lambda one: one.place):
        behind = sorted(
            (one for one in own if one.stretch >= STRETCHED or (one.imbalance or 0) >= UNEQUAL),
            key=lambda one: -one.stretch,
        )
        if behind:
            severity: Severity = "warning" if behind[0].stretch >= STRETCHED else "notice"
            evidence = StragglerEvidence(behind[0], len(behind), len(own))
            yield Finding(severity, evidence, tuple(one.place for one in behind))

"""Whether a sweep shows its peak: by the Universal Scalability Law where it follows it, else by its highest point."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.finding import Evidence, Finding, Severity
from ioassay.analysis.findings.run_facts import RunFacts
from ioassay.analysis.scalability import Reach, Sweep
from ioassay.analysis.series import PREPARATION

FEWEST_FOR_A_PEAK = 3
"""Points of which a sweep that rises to its last is worth a word: of two nobody expects to see a peak."""


@dataclass(frozen=True)
class PeakEvidence(Evidence):
    """The sweep with its law."""

    kind: ClassVar[str] = "peak"
    sweep: Sweep
    reach: Reach


def peaks(facts: RunFacts) -> Iterator[Finding]:
    """One for each sweep that stops too early, that follows the law, or that should and does not."""
    for sweep in facts.sweeps:
        stops_early = sweep.reach == "not reached" and len(sweep.medians) >= FEWEST_FOR_A_PEAK
        if sweep.series.operation not in PREPARATION and (sweep.fit is not None or stops_early):
            severity: Severity = "warning" if sweep.reach == "not reached" else "notice"
            yield Finding(severity, PeakEvidence(sweep, sweep.reach), sweep.rests_on)

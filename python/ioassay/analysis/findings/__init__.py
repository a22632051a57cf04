"""Findings about a run, each with its evidence and the measurements that it rests on.

How to add one: docs/development/adding-a-finding.md. A finding needs the analysis of several ranks, samples or
repetitions; what a single measurement shows is a doubt of the engine. Findings of the same kind in one series are
joined into one, whose evidence is the worst of them.

Not: the estimates themselves (the other files of `ioassay.analysis`), how documents show findings
(`ioassay.reports.findings`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ioassay.analysis.finding import SEVERITIES, Evidence, Finding, Severity
from ioassay.analysis.findings.amplification import amplification
from ioassay.analysis.findings.changes import changes
from ioassay.analysis.findings.counted_bytes import counted_bytes
from ioassay.analysis.findings.counter_clock import counter_clock
from ioassay.analysis.findings.fluctuations import fluctuations
from ioassay.analysis.findings.full_links import full_links
from ioassay.analysis.findings.late_writes import late_writes
from ioassay.analysis.findings.open_time import open_time
from ioassay.analysis.findings.outliers import outliers
from ioassay.analysis.findings.peaks import peaks
from ioassay.analysis.findings.printed_scores import printed
from ioassay.analysis.findings.run_facts import RunFacts
from ioassay.analysis.findings.server_memory import server_memory
from ioassay.analysis.findings.slow_nodes import slow_nodes
from ioassay.analysis.findings.stalls import stalls
from ioassay.analysis.findings.stragglers import stragglers
from ioassay.analysis.findings.trends import trends
from ioassay.analysis.findings.uneven_servers import uneven_servers
from ioassay.analysis.findings.wide_intervals import wide_intervals

__all__ = ["FINDERS", "SEVERITIES", "Evidence", "Finding", "RunFacts", "Severity", "findings"]

FINDERS: tuple[Callable[[RunFacts], Iterable[Finding]], ...] = (
    printed,
    peaks,
    stragglers,
    slow_nodes,
    trends,
    changes,
    stalls,
    fluctuations,
    outliers,
    wide_intervals,
    open_time,
    amplification,
    server_memory,
    late_writes,
    uneven_servers,
    full_links,
    counted_bytes,
    counter_clock,
)
"""Every kind of finding, in the order in which those of one series are reported."""


def findings(facts: RunFacts) -> list[Finding]:
    """The findings of a run: warnings first, then in the order of the study."""
    every = [finding for find in FINDERS for finding in find(facts)]
    return sorted(
        every, key=lambda finding: (SEVERITIES.index(finding.severity), facts.position(finding.measurements[0]))
    )

"""Finishes long after the stonewall, and ranks that had done many times the work of others at the stonewall."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.finding import Evidence, Finding, Message, Severity, sentences
from ioassay.analysis.findings.run_facts import RunFacts, affected
from ioassay.analysis.stragglers import Rank, StonewalledMeasurement, straggling
from ioassay.store.measurement import Measurement
from ioassay.text import format

STRETCHED = 1.5
"""Ratio of the finish to the stonewall above which the finish is late."""

UNEQUAL = 10.0
"""Ratio of most to least operations of a rank above which ranks are imbalanced."""


@dataclass(frozen=True)
class StragglerEvidence(Evidence):
    """Measurements of a series in which ranks fell behind."""

    kind: ClassVar[str] = "stragglers"
    worst: StonewalledMeasurement
    """The measurement with the latest finish relative to its stonewall."""
    measurements: int
    """The number of such measurements."""
    of: int
    """Measurements of the series that reached a stonewall."""


def stragglers(facts: RunFacts) -> Iterator[Finding]:
    """A finding for each series in which ranks fell behind: a warning if the finish is late, otherwise a notice."""
    every = straggling(facts.run.measurements, facts.run.ranks)
    for measured in facts.grouped(every, lambda entry: entry.place):
        behind = sorted(
            (entry for entry in measured if entry.stretch >= STRETCHED or (entry.imbalance or 0) >= UNEQUAL),
            key=lambda entry: -entry.stretch,
        )
        if behind:
            severity: Severity = "warning" if behind[0].stretch >= STRETCHED else "notice"
            evidence = StragglerEvidence(behind[0], len(behind), len(measured))
            yield Finding(
                severity, evidence, tuple(entry.place for entry in behind), _message(facts, evidence, behind[0].place)
            )


def _message(facts: RunFacts, evidence: StragglerEvidence, first: Measurement) -> Message:
    worst = evidence.worst
    apart = ""
    if worst.imbalance == math.inf:
        apart = "A rank had done nothing when it came"
    elif worst.imbalance is not None and worst.imbalance >= 2:
        apart = f"One rank had done {format.significant(worst.imbalance)} times the work of another when it came"
    if apart:
        apart += f" (least: {_ranks(worst.behind)})." if worst.behind else "."
    return Message(
        f"{facts.names.place(first)}: at the stonewall, after {format.duration(worst.stonewall_ns)}, the rate was "
        f"{facts.rate(worst.column, first, worst.stonewall_rate)}; at the finish, after "
        f"{format.significant(worst.stretch)} times that time, {facts.rate(worst.column, first, worst.finish_rate)}.",
        "Check the nodes of the last ranks (link, mount options, other jobs) and the servers that hold their files; "
        "compare rates at the stonewall, where all ranks were at work.",
        sentences(
            apart,
            f"Last to finish: {_ranks(worst.last)}." if worst.last else "",
            affected(evidence.measurements, evidence.of, "measurement"),
        ),
    )


def _ranks(ranks: Iterable[Rank]) -> str:
    return ", ".join(f"rank {rank.rank}" + (f" on {rank.node}" if rank.node else "") for rank in ranks)

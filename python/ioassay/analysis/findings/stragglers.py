"""Finishes far behind the stonewall, and ranks that had done many times the work of others when it came."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.finding import Evidence, Finding, Message, Severity, sentences
from ioassay.analysis.findings.run_facts import RunFacts, affected
from ioassay.analysis.stragglers import Rank, Straggling, straggling
from ioassay.store.measurement import Measurement
from ioassay.text import format

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
            yield Finding(
                severity, evidence, tuple(one.place for one in behind), _message(facts, evidence, behind[0].place)
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

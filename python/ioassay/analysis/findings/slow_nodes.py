"""Nodes that are the slowest more often than chance lets them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis import stragglers
from ioassay.analysis.finding import Evidence, Finding
from ioassay.analysis.findings.run_facts import RunFacts
from ioassay.store.document import Operation


@dataclass(frozen=True)
class SlowNodeEvidence(Evidence):
    """The node."""

    kind: ClassVar[str] = "slow-node"
    node: str
    operations: tuple[Operation, ...]
    """What it is slow in; empty: in all that the run does."""
    slowest_in: int
    of: int
    by_chance: float


def slow_nodes(facts: RunFacts) -> Iterator[Finding]:
    """One for each such node of the run."""
    for one in stragglers.slow_nodes(facts.run.measurements, facts.run.ranks):
        evidence = SlowNodeEvidence(one.node, one.operations, len(one.slowest_in), one.of, one.by_chance)
        yield Finding("warning", evidence, one.slowest_in)

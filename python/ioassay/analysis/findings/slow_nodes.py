"""Nodes that are the last to finish more often than chance lets them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis import stragglers
from ioassay.analysis.findings.facts import Evidence, Facts, Finding


@dataclass(frozen=True)
class SlowNodeEvidence(Evidence):
    """The node."""

    kind: ClassVar[str] = "slow-node"
    node: str
    last_in: int
    of: int
    by_chance: float


def slow_nodes(facts: Facts) -> Iterator[Finding]:
    """One for each such node of the run."""
    for one in stragglers.slow_nodes(facts.run.measurements, facts.run.ranks):
        yield Finding("warning", SlowNodeEvidence(one.node, len(one.last_in), one.of, one.by_chance), one.last_in)

"""Nodes that are the slowest more often than chance explains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis import stragglers
from ioassay.analysis.finding import Evidence, Finding, Message
from ioassay.analysis.findings.run_facts import RunFacts
from ioassay.store.document import Operation
from ioassay.text import format
from ioassay.text.units import format_count


@dataclass(frozen=True)
class SlowNodeEvidence(Evidence):
    """A slow node, and the phases in which it was the slowest."""

    kind: ClassVar[str] = "slow-node"
    node: str
    operations: tuple[Operation, ...]
    """The operations in which it is slow; empty: all operations of the run."""
    slowest_in: int
    of: int
    by_chance: float


def slow_nodes(facts: RunFacts) -> Iterator[Finding]:
    """A warning for each such node of the run."""
    for slow_node in stragglers.slow_nodes(facts.run.measurements, facts.run.ranks):
        evidence = SlowNodeEvidence(
            slow_node.node, slow_node.operations, len(slow_node.slowest_in), slow_node.of, slow_node.by_chance
        )
        yield Finding("warning", evidence, slow_node.slowest_in, _message(evidence))


def _message(evidence: SlowNodeEvidence) -> Message:
    phases = f" in {' and '.join(evidence.operations)} phases" if evidence.operations else ""
    return Message(
        f"Node {evidence.node} is slow{phases}: it was the slowest in {evidence.slowest_in} of "
        f"{format_count(evidence.of, 'phase')} whose nodes were not equally fast; among identical nodes, that "
        f"would happen in {format.significant(evidence.by_chance)}.",
        "Check its link, mount options, processors and other jobs: ioassay doctor and ioassay net compare nodes. Or "
        "leave it out of the list of nodes.",
    )

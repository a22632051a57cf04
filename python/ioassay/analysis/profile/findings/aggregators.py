"""Collective MPI-IO through more or fewer aggregators than nodes: fewer leave the network of nodes unused, more compete
for that of one node.

Drishti's rules M08 to M10 compare the hint `cb_nodes` with the number of nodes. The hints in Darshan's logs (`h=`) are
those with which Darshan writes its log, not the application's. Here aggregators are the processes that
actually move the bytes of collective operations, if they are fewer than the participants. A source that adds up all
processes of a shared file does not distinguish them, and has no such finding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding, Message
from ioassay.analysis.profile.findings.profile_facts import (
    DirectionEvidence,
    ProfileFacts,
    files,
    less,
    profile_finding,
)
from ioassay.analysis.profile.totals import REQUESTS
from ioassay.profiles.model import MPI_TRANSFERS
from ioassay.text import format


@dataclass(frozen=True)
class AggregatorEvidence(DirectionEvidence):
    """Aggregators of collective operations in one direction."""

    kind: ClassVar[str] = "aggregators"
    aggregators: int
    """Aggregators of the file with most bytes."""
    nodes: int
    participants: int
    """Processes that call collective operations on it."""
    moved_bytes: int
    """Bytes of all files with too few, or too many, aggregators."""
    files: int

    @property
    def is_few(self) -> bool:
        """True if there are fewer aggregators than nodes."""
        return self.aggregators < self.nodes

    @property
    def called_operations(self) -> Collection[str]:
        """All operations of MPI-IO in this direction."""
        return [name for kinds in MPI_TRANSFERS[self.direction] for name in kinds]


def aggregators(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one for each direction."""
    aggregators_of_node, least = facts.thresholds.aggregators_by_node, facts.thresholds.moved_bytes
    nodes, ranks = _nodes(facts), facts.profile.processes["rank"].drop_nulls().n_unique()
    if nodes is None or nodes < 2:
        return
    wanted = aggregators_of_node.value * nodes
    for direction, kinds in MPI_TRANSFERS.items():
        collective = _used(facts, kinds.collective, "participants", "duration_ns")
        moving = _used(facts, REQUESTS[direction], "aggregators", "bytes")
        # Files that only some ranks open may be used on some nodes only.
        collective_files = (
            collective.join(moving, on="file")
            .filter(pl.col("participants") >= ranks, pl.col("aggregators") < pl.col("participants"))
            .filter(pl.col("aggregators") != wanted)
            .sort("bytes", "file", descending=[True, False])
        )
        if collective_files.is_empty():
            continue
        is_few = collective_files["aggregators"][0] < wanted
        same_kind = collective_files.filter((pl.col("aggregators") < wanted) == is_few)
        moved = int(same_kind["bytes"].sum())
        if moved <= least.value:
            continue
        spent = int(same_kind["duration_ns"].sum())
        yield profile_finding(
            "warning" if is_few else "notice",
            AggregatorEvidence(
                thresholds=(aggregators_of_node, least),
                spent_ns=spent,
                saves_ns=less(spent, int(same_kind["aggregators"][0]), wanted) if is_few else None,
                direction=direction,
                aggregators=int(same_kind["aggregators"][0]),
                nodes=nodes,
                participants=int(same_kind["participants"][0]),
                moved_bytes=moved,
                files=same_kind.height,
            ),
            files(same_kind["file"]),
            _message,
        )


def _used(facts: ProfileFacts, operations: tuple[str, ...], users: str, amount: str) -> pl.DataFrame:
    """file, the most processes that used it by one of the operations, and the sum of an amount."""
    rows = facts.stored.filter(pl.col("operation").is_in(operations), pl.col("calls") > 0)
    return (
        rows.group_by("file", maintain_order=True)
        .agg(pl.col("processes").max().alias(users), pl.col(amount).sum())
        .drop_nulls(users)
    )


def _nodes(facts: ProfileFacts) -> int | None:
    """The number of nodes with ranks; `None`: unknown."""
    ranks = facts.profile.processes.filter(pl.col("rank").is_not_null())
    return None if ranks.is_empty() or ranks["node"].has_nulls() else ranks["node"].n_unique()


def _message(evidence: AggregatorEvidence) -> Message:
    verb = "read" if evidence.direction == "read" else "written"
    through = format.count(evidence.aggregators, "process", "processes")
    callers = format.count(evidence.participants, "process", "processes")
    return Message(
        headline=f"Collective {evidence.direction}s of {callers} on {evidence.nodes:,} nodes "
        f"go through {through}: {'fewer' if evidence.is_few else 'more'} than nodes.",
        details=f"{format.size(evidence.moved_bytes)} {verb} so ({format.count(evidence.files, 'file')}).",
        remedy=f"Set the MPI-IO hint cb_nodes to {evidence.nodes}, one aggregator for each node; on Lustre, also try "
        "the number of the file's stripes.",
    )

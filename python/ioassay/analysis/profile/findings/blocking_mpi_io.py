"""MPI-IO that always blocks: ranks wait for the storage and compute nothing meanwhile.

Drishti's rules M06 and M07, which have no limit. The limit here is a share of the run time, the most that can be saved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding, Message
from ioassay.analysis.profile.findings.profile_facts import DirectionEvidence, ProfileFacts, files, profile_finding
from ioassay.profiles.model import MPI_TRANSFERS
from ioassay.text import format


@dataclass(frozen=True)
class BlockingEvidence(DirectionEvidence):
    """Blocking operations of MPI-IO in a direction without non-blocking ones."""

    kind: ClassVar[str] = "blocking-mpi-io"
    calls: int
    share: float
    """Share of the run time of the calling processes that is spent in these calls."""
    uncounted: tuple[str, ...]
    """Non-blocking operations that the source does not count."""
    files: int

    @property
    def called_operations(self) -> Collection[str]:
        """All operations of MPI-IO in this direction."""
        return [name for kinds in MPI_TRANSFERS[self.direction] for name in kinds]


def blocking_mpi_io(facts: ProfileFacts) -> Iterator[Finding]:
    """A notice for each direction; none if the source does not count non-blocking operations separately."""
    least = facts.thresholds.io_share
    for direction, kinds in MPI_TRANSFERS.items():
        rows = facts.stored.filter(pl.col("operation").is_in([*kinds.independent, *kinds.collective]))
        uncounted = facts.profile.uncounted & set(kinds.non_blocking)
        if kinds.non_blocking[0] in uncounted or set(kinds.non_blocking) & set(rows["operation"]):
            continue
        rows = rows.sort("duration_ns", "file", descending=[True, False], nulls_last=True)
        spent, run_ns = int(rows["duration_ns"].sum()), _run_ns(facts)
        if rows.is_empty() or spent <= least.value * run_ns:
            continue
        yield profile_finding(
            "notice",
            BlockingEvidence(
                thresholds=(least,),
                spent_ns=spent,
                saves_ns=max(0, min(spent, run_ns - spent)),
                direction=direction,
                calls=int(rows["calls"].sum()),
                share=spent / run_ns if run_ns else 1.0,
                uncounted=tuple(name for name in kinds.non_blocking if name in uncounted),
                files=rows["file"].n_unique(),
            ),
            files(rows["file"].unique(maintain_order=True)),
            _message,
        )


def _run_ns(facts: ProfileFacts) -> int:
    """The sum of the run times of all ranks, or of all processes without ranks."""
    processes = facts.profile.processes
    ranks = processes.filter(pl.col("rank").is_not_null())
    rank_processes = processes if ranks.is_empty() else ranks
    return int((rank_processes["end_unix_ns"] - rank_processes["begin_unix_ns"]).sum())


def _message(evidence: BlockingEvidence) -> Message:
    call = f"MPI_File_i{evidence.direction}"
    return Message(
        headline=f"All {evidence.calls:,} {evidence.direction}s of MPI-IO block: the ranks spend "
        f"{format.duration(evidence.spent_ns)} in them, {format.share(evidence.share)} of their run time.",
        details=f"This source does not count: {', '.join(evidence.uncounted)}." if evidence.uncounted else "",
        remedy=f"Begin the {evidence.direction}, compute, and wait for it later ({call}, {call}_all, MPI_Wait); with "
        "HDF5, use its asynchronous VOL connector.",
    )

"""Files that the steps of a workflow leave for each other, or for nobody.

Written and removed without a read, their bytes served nothing. Written by a step and read by the next, they could pass
through memory or a node's own disk. Left for long before they are read, they have left every cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, beyond_copying, files
from ioassay.analysis.profile.maps import Range
from ioassay.analysis.profile.totals import known_total


@dataclass(frozen=True)
class DeletedUnreadEvidence(ProfileEvidence):
    """Files that were written, never read, and removed."""

    kind: ClassVar[str] = "deleted-unread"
    unread_bytes: int
    written_bytes: int
    """To all files."""
    files: int
    unrecorded: int
    """Processes that were not recorded: one of them may have read them."""


@dataclass(frozen=True)
class HandOverEvidence(ProfileEvidence):
    """Files that a step wrote and another one read."""

    kind: ClassVar[str] = "hand-overs"
    written_bytes: int
    read_bytes: int
    """By calls."""
    mapped: Range
    """Read by maps."""
    files: int
    removed_files: int
    """Of these, removed in the end."""
    handed_on: int
    """How often data is written and read again, one step after another, at most."""
    share: float
    """Of the run time of the steps."""
    same_node: bool
    """Each file was written and read on one node."""


@dataclass(frozen=True)
class IdleFilesEvidence(ProfileEvidence):
    """Files that lay for long before a step read them."""

    kind: ClassVar[str] = "idle-files"
    idle_bytes: int
    files: int
    longest_s: float


def deleted_unread(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    share, least = facts.thresholds.redundant_share, facts.thresholds.moved_bytes
    found = facts.workflow.of("deleted unread")
    unread, written = int(found["written_bytes"].sum()), int(facts.workflow.files["written_bytes"].sum())
    if unread <= share.value * written or unread <= least.value:
        return
    copied = facts.stored.filter(pl.col("operation") == "copy to", pl.col("file").is_in(found["file"].implode()))
    # A copy within the kernel has its time with the file that it reads.
    spent_ns = None if 2 * int(copied["bytes"].sum()) > unread else known_total(found["write_ns"])
    yield Finding(
        "warning",
        DeletedUnreadEvidence(
            thresholds=(share, least),
            spent_ns=spent_ns,
            saves_ns=spent_ns,
            unread_bytes=unread,
            written_bytes=written,
            files=found.height,
            unrecorded=sum(loss.amount for loss in facts.profile.losses if loss.kind == "escaped"),
        ),
        files(found["file"]),
    )


def hand_overs(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    share, least = facts.thresholds.io_share, facts.thresholds.moved_bytes
    found = facts.workflow.of("between steps")
    spent_ns = int(found["write_ns"].sum()) + int(found["read_ns"].sum())
    moved, run_s = int(found["read_bytes"].sum()), sum(step.run_s for step in facts.workflow.steps)
    if moved <= least.value or spent_ns <= share.value * run_s * 1e9:
        return
    yield Finding(
        "warning",
        HandOverEvidence(
            thresholds=(share, least),
            spent_ns=spent_ns,
            saves_ns=spent_ns,
            written_bytes=int(found["written_bytes"].sum()),
            read_bytes=moved,
            mapped=Range(int(found["mapped_least_bytes"].sum()), int(found["mapped_most_bytes"].sum())),
            files=found.height,
            removed_files=int(found["is_removed"].sum()),
            handed_on=facts.workflow.chain,
            share=spent_ns / (run_s * 1e9),
            same_node=bool(found["same_node"].all()),
        ),
        files(found["file"]),
    )


def idle_files(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    longest, least = facts.thresholds.idle_s, facts.thresholds.idle_bytes
    found = facts.workflow.of("between steps").filter(pl.col("wait_s") > longest.value)
    idle = int(found["written_bytes"].sum())
    if idle <= least.value:
        return
    yield Finding(
        "notice",
        IdleFilesEvidence(
            thresholds=(longest, least),
            spent_ns=known_total(found["read_ns"]),
            saves_ns=beyond_copying(known_total(found["read_ns"]), idle),
            idle_bytes=idle,
            files=found.height,
            longest_s=float(found["wait_s"].max()),  # type: ignore[arg-type]
        ),
        files(found["file"]),
    )

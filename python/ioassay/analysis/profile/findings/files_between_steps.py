"""Files between the steps of a workflow.

Files that are written and removed without a read are wasted. Data that one step writes and the next reads could pass
through memory or a node-local disk. Files that are read long after they were written have left every cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding, Message
from ioassay.analysis.profile.findings.profile_facts import (
    ProfileEvidence,
    ProfileFacts,
    beyond_copying,
    files,
    part_of,
    profile_finding,
)
from ioassay.analysis.profile.maps import Range
from ioassay.analysis.profile.totals import known_total
from ioassay.text import format


@dataclass(frozen=True)
class DeletedUnreadEvidence(ProfileEvidence):
    """Files that were written, never read, and removed."""

    kind: ClassVar[str] = "deleted-unread"
    unread_bytes: int
    written_bytes: int
    """Bytes written to all files."""
    files: int
    unrecorded: int
    """Processes without a record, which may have read them."""


@dataclass(frozen=True)
class HandOverEvidence(ProfileEvidence):
    """Files that one step wrote and another read."""

    kind: ClassVar[str] = "hand-overs"
    written_bytes: int
    read_bytes: int
    """Bytes read by calls."""
    mapped: Range
    """Bytes read by maps."""
    files: int
    removed_files: int
    """Files among them that were removed in the end."""
    handed_on: int
    """The most hand-overs in a row, from step to step."""
    share: float
    """Share of the run time of the steps."""
    same_node: bool
    """True if each file was written and read on one node."""


@dataclass(frozen=True)
class IdleFilesEvidence(ProfileEvidence):
    """Files that were idle for long before a step read them."""

    kind: ClassVar[str] = "idle-files"
    idle_bytes: int
    files: int
    longest_s: float


def deleted_unread(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    share, least = facts.thresholds.redundant_share, facts.thresholds.moved_bytes
    unread_files = facts.workflow.of("deleted unread")
    unread, written = int(unread_files["written_bytes"].sum()), int(facts.workflow.files["written_bytes"].sum())
    if unread <= share.value * written or unread <= least.value:
        return
    copied = facts.stored.filter(pl.col("operation") == "copy to", pl.col("file").is_in(unread_files["file"].implode()))
    # A copy within the kernel has its time with the file that it reads.
    spent_ns = None if 2 * int(copied["bytes"].sum()) > unread else known_total(unread_files["write_ns"])
    yield profile_finding(
        "warning",
        DeletedUnreadEvidence(
            thresholds=(share, least),
            spent_ns=spent_ns,
            saves_ns=spent_ns,
            unread_bytes=unread,
            written_bytes=written,
            files=unread_files.height,
            unrecorded=sum(loss.amount for loss in facts.profile.losses if loss.kind == "escaped"),
        ),
        files(unread_files["file"]),
        _deleted_unread_message,
    )


def hand_overs(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    share, least = facts.thresholds.io_share, facts.thresholds.moved_bytes
    files_between = facts.workflow.of("between steps")
    spent_ns = int(files_between["write_ns"].sum()) + int(files_between["read_ns"].sum())
    moved, run_s = int(files_between["read_bytes"].sum()), sum(step.run_s for step in facts.workflow.steps)
    if moved <= least.value or spent_ns <= share.value * run_s * 1e9:
        return
    yield profile_finding(
        "warning",
        HandOverEvidence(
            thresholds=(share, least),
            spent_ns=spent_ns,
            saves_ns=spent_ns,
            written_bytes=int(files_between["written_bytes"].sum()),
            read_bytes=moved,
            mapped=Range(int(files_between["mapped_least_bytes"].sum()), int(files_between["mapped_most_bytes"].sum())),
            files=files_between.height,
            removed_files=int(files_between["is_removed"].sum()),
            handed_on=facts.workflow.chain,
            share=spent_ns / (run_s * 1e9),
            same_node=bool(files_between["same_node"].all()),
        ),
        files(files_between["file"]),
        _hand_over_message,
    )


def idle_files(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    longest, least = facts.thresholds.idle_s, facts.thresholds.idle_bytes
    idle_rows = facts.workflow.of("between steps").filter(pl.col("wait_s") > longest.value)
    idle = int(idle_rows["written_bytes"].sum())
    if idle <= least.value:
        return
    yield profile_finding(
        "notice",
        IdleFilesEvidence(
            thresholds=(longest, least),
            spent_ns=known_total(idle_rows["read_ns"]),
            saves_ns=beyond_copying(known_total(idle_rows["read_ns"]), idle),
            idle_bytes=idle,
            files=idle_rows.height,
            longest_s=float(idle_rows["wait_s"].max()),  # type: ignore[arg-type]
        ),
        files(idle_rows["file"]),
        _idle_files_message,
    )


def _deleted_unread_message(evidence: DeletedUnreadEvidence) -> Message:
    unrecorded = ""
    if evidence.unrecorded:
        processes = format.count(evidence.unrecorded, "process was", "processes were")
        unrecorded = f"{processes} not recorded and may have read them."
    return Message(
        f"{format.size(evidence.unread_bytes)} were written and deleted unread, of "
        f"{format.size(evidence.written_bytes)} written in all "
        f"({_files_with_time(evidence.files, evidence.spent_ns)}).",
        "Turn this output off, or write it to memory (tmpfs) or a node-local disk if a program insists on it.",
        unrecorded,
    )


def _hand_over_message(evidence: HandOverEvidence) -> Message:
    often = "once" if evidence.handed_on == 1 else f"up to {evidence.handed_on} times, one step after another"
    place = "memory or a node-local disk" if evidence.same_node else "a burst buffer, or one node for both steps"
    details = []
    if evidence.mapped.most:
        ends = format.size(evidence.mapped.least), format.size(evidence.mapped.most)
        details.append(f"Maps read {format.span(*ends)} of them, which is in none of these times.")
    if evidence.removed_files:
        details.append(f"{part_of(evidence.removed_files, evidence.files, 'file')} removed in the end.")
    return Message(
        f"Steps hand data on through files: {format.size(evidence.written_bytes)} were written and "
        f"{format.size(evidence.read_bytes)} of them read again by another step, {often} "
        f"({_files_with_time(evidence.files, evidence.spent_ns)}, {format.share(evidence.share)} of the steps' "
        "run time).",
        f"Pass it through a pipe, or keep the files in {place}.",
        " ".join(details),
    )


def _idle_files_message(evidence: IdleFilesEvidence) -> Message:
    return Message(
        f"{format.size(evidence.idle_bytes)} between steps lay unused for up to "
        f"{format.duration(evidence.longest_s * 1e9)} before they were read ({format.count(evidence.files, 'file')}).",
        "Run the step that reads them right after the one that writes them: what is still in a cache costs no read.",
    )


def _files_with_time(files: int, spent_ns: int | None) -> str:
    """`3 files, 1.2 s in these calls`."""
    return ", ".join(
        [format.count(files, "file"), *([f"{format.duration(spent_ns)} in these calls"] if spent_ns else [])]
    )

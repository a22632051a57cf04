"""Reads through maps that storage answered page by page: the first touch of each page that is not in memory waits for
the storage, one at a time in each thread, without a call.

If little of a file was in memory when its maps ended, only a part was read; the record does not show which. With
scattered faults, read-ahead fetches unneeded data or nothing; a contiguous part is fetched well. On a network file
system (recognised by its large preferred transfers), each fault is a round trip even in order. Only bytes that provably
came from storage count (`maps`: least read).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import polars as pl

from ioassay.analysis.finding import Finding, Message
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, files, profile_finding
from ioassay.text import format

Cause = Literal["partial", "network"]


@dataclass(frozen=True)
class MappedReadEvidence(ProfileEvidence):
    """Bytes of maps that came from storage."""

    kind: ClassVar[str] = "mapped-reads"
    cause: Cause
    is_network: bool
    """True if any of the files is on a network file system."""
    fetched_bytes: int
    """Lower bound of the bytes that came from storage."""
    extent_bytes: int
    """Bytes of the files that maps covered."""
    files: int


def mapped_reads(facts: ProfileFacts) -> Iterator[Finding]:
    """A finding for each cause."""
    least, share, block = (
        facts.thresholds.moved_bytes, facts.thresholds.fetched_share, facts.thresholds.network_block_bytes
    )  # fmt: skip
    if facts.maps.bounds.is_empty():
        return
    rows = (
        facts.maps.bounds.join(facts.startup, on="file", how="anti")
        .join(facts.profile.files.select("file", "block_bytes"), on="file")
        .group_by("file")
        .agg(
            pl.col("read_least_bytes", "mapped_bytes", "resident_end_bytes").sum(),
            pl.col("extent_bytes", "block_bytes").max(),
        )
        .filter(pl.col("read_least_bytes") > least.value)
        .with_columns(
            is_network=(pl.col("block_bytes") >= block.value).fill_null(False),
            is_partial=pl.col("resident_end_bytes") < share.value * pl.col("mapped_bytes"),
        )
        .sort("read_least_bytes", "file", descending=[True, False])
    )
    of_causes: tuple[tuple[Cause, pl.Expr], ...] = (
        ("partial", pl.col("is_partial")),
        ("network", pl.col("is_network") & ~pl.col("is_partial")),
    )
    for cause, has_cause in of_causes:
        cause_rows = rows.filter(has_cause)
        if cause_rows.is_empty():
            continue
        is_network = bool(cause_rows["is_network"].any())
        yield profile_finding(
            "warning" if is_network else "notice",
            MappedReadEvidence(
                thresholds=(least, share if cause == "partial" else block),
                spent_ns=None,
                saves_ns=None,
                cause=cause,
                is_network=is_network,
                fetched_bytes=int(cause_rows["read_least_bytes"].sum()),
                extent_bytes=int(cause_rows["extent_bytes"].sum()),
                files=cause_rows.height,
            ),
            files(cause_rows["file"]),
            _message,
        )


def _message(evidence: MappedReadEvidence) -> Message:
    came = (
        f"At least {format.size(evidence.fetched_bytes)} came from storage through maps "
        f"({format.count(evidence.files, 'file')})"
    )
    stage = "copy the file to memory or a node-local disk first"
    if evidence.cause == "network":
        return Message(
            f"{came} of a network file system: each fault on a page that is not in memory waits for the servers.",
            f"Read large blocks (read, pread) instead of mapping, or fetch before use (MAP_POPULATE, madvise with "
            f"MADV_WILLNEED); or {stage}.",
        )
    where = " of a network file system" if evidence.is_network else ""
    return Message(
        f"{came}{where}, a part of the {format.size(evidence.extent_bytes)} that are mapped: most was not in memory at "
        "the end.",
        "Read the parts that are needed in large blocks (pread), or fetch them before use (madvise with "
        "MADV_WILLNEED). Where they are scattered, read them sorted by offset, several at a time, or turn read-ahead "
        f"off for the map (MADV_RANDOM); where most of it is used in the end, {stage}.",
        "Whether that part is in one piece or scattered is unknown.",
    )

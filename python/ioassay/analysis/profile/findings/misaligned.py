"""Transfers that begin within a block of the file system: it reads the block before it can write it, locks two of them,
or refuses direct I/O.

Drishti's rule P08. The block is that of the file system itself (`st_blksize`). A read that found the end of its file
moved nothing, wherever that was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, files
from ioassay.analysis.profile.thresholds import Threshold
from ioassay.analysis.profile.totals import REQUESTS, known_total


@dataclass(frozen=True)
class MisalignedEvidence(ProfileEvidence):
    """Misaligned transfers in one direction."""

    kind: ClassVar[str] = "misaligned"
    direction: str
    misaligned: int
    requests: int
    block_bytes: int
    """Of the file system with most of them."""
    files: int


def misaligned(facts: ProfileFacts) -> Iterator[Finding]:
    """One for each direction."""
    share, least = facts.thresholds.misaligned_share, facts.thresholds.small_requests
    for direction, operations in REQUESTS.items():
        known = pl.col("misaligned").is_not_null() & pl.col("block_bytes").is_not_null()
        empty = facts.profile.file_sizes.filter(pl.col("end_bytes") <= 1).select("file", "operation", empty="calls")
        moving = (pl.col("calls") - pl.col("empty").fill_null(0)).clip(0)
        rows = (
            facts.stored.filter(pl.col("operation").is_in(operations), known)
            .join(empty, on=["file", "operation"], how="left")
            .with_columns(moving)
        )
        count, requests = int(rows["misaligned"].sum()), int(rows["calls"].sum())
        if count <= share.value * requests or count <= least.value:
            continue
        found = rows.filter(pl.col("misaligned") > 0).sort("misaligned", "file", descending=[True, False])
        block = int(found["block_bytes"][0])
        yield Finding(
            "notice",
            MisalignedEvidence(
                thresholds=(share, least, Threshold("block_bytes", block, "file system", "st_blksize")),
                spent_ns=known_total(found["duration_ns"]),
                direction=direction,
                misaligned=count,
                requests=requests,
                block_bytes=block,
                files=found["file"].n_unique(),
            ),
            files(found["file"].unique(maintain_order=True)),
        )

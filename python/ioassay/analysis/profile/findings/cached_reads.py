"""Reads from the page cache: their time does not measure the storage.

A read counts as cached if it was faster than any storage: a few microseconds plus the time to copy its bytes in memory.
Files are judged as a whole, by their mean.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding, Message
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, files, profile_finding
from ioassay.analysis.profile.totals import REQUESTS
from ioassay.profiles.model import OPERATIONS_OF
from ioassay.text import format


@dataclass(frozen=True)
class CachedReadEvidence(ProfileEvidence):
    """Reads of files in the page cache."""

    kind: ClassVar[str] = "cached-reads"
    cached_bytes: int
    read_bytes: int
    mean_ns: float
    """Mean time of a read of these files."""
    files: int

    @property
    def called_operations(self) -> Collection[str]:
        return OPERATIONS_OF["read"]


def cached_reads(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one notice."""
    share, least = facts.thresholds.cached_share, facts.thresholds.moved_bytes
    latency, copying = facts.thresholds.cached_read_ns, facts.thresholds.cached_bytes_per_s
    reads = facts.data.filter(
        pl.col("operation").is_in(REQUESTS["read"][:1]), pl.col("bytes") > 0, pl.col("duration_ns") > 0
    )
    limit_ns = pl.col("calls") * latency.value + pl.col("bytes") * 1e9 / copying.value
    cached = reads.filter(pl.col("duration_ns") < limit_ns).sort("bytes", "file", descending=[True, False])
    moved, every = int(cached["bytes"].sum()), int(reads["bytes"].sum())
    if moved <= share.value * every or moved <= least.value:
        return
    spent = int(cached["duration_ns"].sum())
    yield profile_finding(
        "notice",
        CachedReadEvidence(
            thresholds=(latency, copying, share, least),
            spent_ns=spent,
            saves_ns=0,
            cached_bytes=moved,
            read_bytes=every,
            mean_ns=spent / int(cached["calls"].sum()),
            files=cached.height,
        ),
        files(cached["file"]),
        _message,
    )


def _message(evidence: CachedReadEvidence) -> Message:
    share = format.share(evidence.cached_bytes / evidence.read_bytes)
    amount = "Nearly all" if share == format.share(1.0) else f"At least {share}"
    return Message(
        f"{amount} of the bytes read were in the page cache: a read took "
        f"{format.duration(evidence.mean_ns)} on average ({format.count(evidence.files, 'file')}).",
        "Drop the page cache before recording, if the reads of a first run are what matters.",
    )

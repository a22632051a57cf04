"""Many fsyncs with little data between them: each waits for the storage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, files


@dataclass(frozen=True)
class SyncEvidence(ProfileEvidence):
    """Calls of fsync and its like."""

    kind: ClassVar[str] = "sync-storm"
    syncs: int
    written_bytes: int
    """To the files that were synced."""
    files: int


def sync_storm(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    least, most = facts.thresholds.sync_calls, facts.thresholds.sync_bytes
    syncs = pl.col("calls").filter(pl.col("operation") == "sync").sum()
    written = pl.col("bytes").filter(pl.col("direction") == "write").sum()
    rows = (
        facts.stored.group_by("file")
        .agg(syncs=syncs, written=written)
        .filter(pl.col("syncs") > 0, pl.col("written") < most.value * pl.col("syncs"))
        .sort("syncs", "file", descending=[True, False])
    )
    count = int(rows["syncs"].sum())
    if count > least.value:
        spent, moved = facts.spent_ns("sync"), int(rows["written"].sum())
        evidence = SyncEvidence((least, most), spent, syncs=count, written_bytes=moved, files=rows.height)
        yield Finding("warning", evidence, files(rows["file"]))

"""Many fsyncs with little data between them: each waits for the storage."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.finding import Finding, Message
from ioassay.analysis.profile.findings.causes import symptoms
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, files, less, profile_finding
from ioassay.text import format


@dataclass(frozen=True)
class SyncEvidence(ProfileEvidence):
    """Calls of fsync and similar ones."""

    kind: ClassVar[str] = "sync-storm"
    syncs: int
    written_bytes: int
    """Bytes written to the synced files."""
    files: int

    @property
    def called_operations(self) -> Collection[str]:
        return ("sync",)


def sync_storm(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    limits = (facts.thresholds.sync_calls, facts.thresholds.sync_bytes)
    rows = facts.synced
    count, written = int(rows["syncs"].sum()), int(rows["written"].sum())
    if count <= limits[0].value:
        return
    spent = facts.spent_ns("sync", count)
    writes = facts.causes.get(("sync-storm", "write"))
    evidence = SyncEvidence(
        limits,
        spent,
        saves_ns=less(spent, max(rows.height, written / limits[1].value), count),
        symptoms=() if writes is None else symptoms(facts, "sync-storm", "write", writes),
        syncs=count,
        written_bytes=written,
        files=rows.height,
    )
    yield profile_finding("warning", evidence, files(rows["file"]), _message)


def _message(evidence: SyncEvidence) -> Message:
    spent = "" if evidence.spent_ns is None else f", {format.duration(evidence.spent_ns)} in these calls"
    return Message(
        f"{format.count(evidence.syncs, 'call')} of fsync and its like, on average after "
        f"{format.size(evidence.written_bytes / evidence.syncs)} of writes "
        f"({format.count(evidence.files, 'file')}{spent}).",
        "Sync once after many writes; check whether each result has to survive a crash by itself.",
    )

"""Many small writes to files that were opened with O_SYNC or O_DSYNC: each waits for the storage, as fsync does."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.finding import Finding, Message
from ioassay.analysis.profile.findings.causes import symptoms
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, files, less, profile_finding
from ioassay.analysis.profile.totals import known_total
from ioassay.profiles.model import OPERATIONS_OF
from ioassay.text import format


@dataclass(frozen=True)
class SynchronousWriteEvidence(ProfileEvidence):
    """Writes that return when their bytes are on stable storage."""

    kind: ClassVar[str] = "synchronous-writes"
    writes: int
    written_bytes: int
    files: int
    share: float | None
    """Share of the time in I/O that these writes take."""

    @property
    def called_operations(self) -> Collection[str]:
        return OPERATIONS_OF["write"]


def synchronous_writes(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    limits = (facts.thresholds.sync_calls, facts.thresholds.sync_bytes)
    rows = facts.causes.get(("synchronous-writes", "write"))
    if rows is None:
        return
    writes, written = int(rows["calls"].sum()), int(rows["bytes"].sum())
    spent, io_ns = known_total(rows["duration_ns"]), facts.totals.io_ns
    evidence = SynchronousWriteEvidence(
        limits,
        spent,
        saves_ns=less(spent, max(rows.height, written / limits[1].value), writes),
        symptoms=symptoms(facts, "synchronous-writes", "write", rows),
        writes=writes,
        written_bytes=written,
        files=rows.height,
        share=None if spent is None or not io_ns else min(1.0, spent / io_ns),
    )
    yield profile_finding("warning", evidence, files(rows["file"]), _message)


def _message(evidence: SynchronousWriteEvidence) -> Message:
    spent = "" if evidence.spent_ns is None else f", {format.duration(evidence.spent_ns)} in these calls"
    part = "" if evidence.share is None else f", {format.share(evidence.share)} of the time in I/O"
    return Message(
        f"{format.count(evidence.writes, 'write')} to files opened with O_SYNC or O_DSYNC wait for the storage, each "
        f"for {format.size(evidence.written_bytes / evidence.writes)} on average "
        f"({format.count(evidence.files, 'file')}{spent}{part}).",
        "Write without O_SYNC, and sync once after many writes; check whether each result has to survive a crash by "
        "itself.",
    )

"""Many small writes to files that were opened with O_SYNC or O_DSYNC: each waits for the storage, as fsync does."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.finding import Finding
from ioassay.analysis.profile.findings.causes import symptoms
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, files, less
from ioassay.analysis.profile.totals import known_total
from ioassay.profiles.model import OPERATIONS_OF


@dataclass(frozen=True)
class SynchronousWriteEvidence(ProfileEvidence):
    """Writes that return when their bytes are on stable storage."""

    kind: ClassVar[str] = "synchronous-writes"
    writes: int
    written_bytes: int
    files: int
    share: float | None
    """Of the time in I/O, in these writes."""

    @property
    def called_operations(self) -> Collection[str]:
        """All that write."""
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
    yield Finding("warning", evidence, files(rows["file"]))

"""Much data through the C library's streams, which copy it through a small buffer. Drishti's rule S01."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding, Message
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, files, profile_finding
from ioassay.analysis.profile.totals import known_total
from ioassay.text import format


@dataclass(frozen=True)
class StreamEvidence(ProfileEvidence):
    """Bytes through streams."""

    kind: ClassVar[str] = "streams"
    stream_bytes: int
    moved_bytes: int
    files: int

    @property
    def called_operations(self) -> Collection[str]:
        return ("stream read", "stream write")


def streams(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    share, least = facts.thresholds.stdio_share, facts.thresholds.moved_bytes
    moved = facts.data.filter(pl.col("direction").is_in(["read", "write"]))
    rows = moved.filter(pl.col("operation").str.starts_with("stream")).sort("bytes", "file", descending=[True, False])
    streamed, every = int(rows["bytes"].sum()), int(moved["bytes"].sum())
    if streamed > share.value * every and streamed > least.value:
        stream_files = rows["file"].unique(maintain_order=True)
        spent = known_total(rows["duration_ns"])
        evidence = StreamEvidence(
            (share, least), spent, saves_ns=None, stream_bytes=streamed, moved_bytes=every, files=len(stream_files)
        )
        yield profile_finding("notice", evidence, files(stream_files), _message)


def _message(evidence: StreamEvidence) -> Message:
    return Message(
        f"{format.share(evidence.stream_bytes / evidence.moved_bytes)} of the bytes pass through streams (fread, "
        f"fwrite): {format.size(evidence.stream_bytes)}.",
        "Enlarge their buffer (setvbuf), or use read and write with large blocks.",
    )

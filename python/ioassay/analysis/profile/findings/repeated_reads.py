"""Data that is read more often than it has to be.

By one process again and again, as in Drishti's rule P09; or by every process of a job, which one of them could read and
hand to the others over the network.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding, Message
from ioassay.analysis.profile.findings import causes
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, files, profile_finding
from ioassay.analysis.profile.totals import known_total
from ioassay.profiles.model import OPERATIONS_OF
from ioassay.text import format


@dataclass(frozen=True)
class RedundantReadEvidence(ProfileEvidence):
    """Bytes that processes read again."""

    kind: ClassVar[str] = "redundant-reads"
    redundant_bytes: int
    read_bytes: int
    files: int
    worst_times: float
    """How often the file that is worst was read on average."""

    @property
    def called_operations(self) -> Collection[str]:
        """All that read."""
        return OPERATIONS_OF["read"]


@dataclass(frozen=True)
class SameDataEvidence(ProfileEvidence):
    """Files that every process reads whole."""

    kind: ClassVar[str] = "same-data"
    readers: int
    """Of the file that most processes read."""
    read_bytes: int
    distinct_bytes: int
    files: int

    @property
    def called_operations(self) -> Collection[str]:
        """All that read."""
        return OPERATIONS_OF["read"]


def redundant_reads(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one. Files whose requests belong to another finding have it as a symptom there."""
    share, least = facts.thresholds.redundant_share, facts.thresholds.moved_bytes
    every = facts.reads
    own, theirs = _of_kind(facts, "redundant-reads"), _of_other_kinds(facts, "redundant-reads")
    is_own = pl.col("file").is_in(own.implode()) | ~pl.col("file").is_in(theirs.implode())
    found = every.filter(pl.col("again") > 0, is_own).sort("again", "file", descending=[True, False])
    redundant, read = int(found["again"].sum()), int(every["read_bytes"].sum())
    if redundant <= share.value * read or redundant <= least.value:
        return
    times = found["read_bytes"] / (found["extent"] * found["readers"])
    in_again = pl.col("duration_ns") * (pl.col("again") / pl.col("read_bytes"))
    rows = facts.requests("read").join(found.select("file"), on="file", how="semi")
    yield profile_finding(
        "warning",
        RedundantReadEvidence(
            thresholds=(share, least),
            spent_ns=known_total(found["duration_ns"]),
            saves_ns=known_total(found.select(in_again.round(0))["duration_ns"]),
            symptoms=causes.symptoms(facts, "redundant-reads", "read", rows),
            redundant_bytes=redundant,
            read_bytes=read,
            files=found.height,
            worst_times=float(times[0]),
        ),
        files(found["file"]),
        _redundant_read_message,
    )


def same_data(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one. Files whose requests belong to another finding have it as a symptom there."""
    limits = (facts.thresholds.reading_processes, facts.thresholds.moved_bytes)
    theirs = _of_other_kinds(facts, "same-data")
    rows = facts.reads.filter(causes.is_same_data(facts), ~pl.col("file").is_in(theirs.implode()))
    if rows.is_empty():
        return
    in_others = pl.col("duration_ns") * (1 - pl.col("extent") / pl.col("read_bytes"))
    requests = facts.requests("read").join(rows.select("file"), on="file", how="semi")
    yield profile_finding(
        "warning",
        SameDataEvidence(
            thresholds=limits,
            spent_ns=known_total(rows["duration_ns"]),
            saves_ns=known_total(rows.select(in_others.round(0))["duration_ns"]),
            symptoms=causes.symptoms(facts, "same-data", "read", requests),
            readers=int(rows["readers"].max()),  # type: ignore[arg-type]
            read_bytes=int(rows["read_bytes"].sum()),
            distinct_bytes=int(rows["extent"].sum()),
            files=rows.height,
        ),
        files(rows["file"]),
        _same_data_message,
    )


def _of_kind(facts: ProfileFacts, kind: str) -> pl.Series:
    rows = facts.causes.get((kind, "read"))
    return pl.Series("file", [], pl.Int64) if rows is None else rows["file"]


def _of_other_kinds(facts: ProfileFacts, kind: str) -> pl.Series:
    """Files that are read, of which another finding names the requests."""
    others = [rows["file"] for (its, direction), rows in facts.causes.items() if direction == "read" and its != kind]
    return pl.concat([pl.Series("file", [], pl.Int64), *others])


def _redundant_read_message(evidence: RedundantReadEvidence) -> Message:
    worst = "file" if evidence.files == 1 else f"worst of {format.count(evidence.files, 'file')}"
    return Message(
        f"{format.size(evidence.redundant_bytes)} of {format.size(evidence.read_bytes)} were read again by the process "
        "that had read them.",
        "Keep the data in memory, or read larger blocks so that their parts are used together.",
        f"The {worst} was read {format.significant(evidence.worst_times)} times.",
    )


def _same_data_message(evidence: SameDataEvidence) -> Message:
    files = "the same file" if evidence.files == 1 else f"the same {format.count(evidence.files, 'file')}"
    return Message(
        f"{format.count(evidence.readers, 'process', 'processes')} read {files} whole: "
        f"{format.size(evidence.read_bytes)} for {format.size(evidence.distinct_bytes)} of data.",
        "Read once and broadcast (MPI_Bcast), or stage the data on each node.",
    )

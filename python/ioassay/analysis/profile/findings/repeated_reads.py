"""Data that is read more often than necessary.

By one process repeatedly, as in Drishti's rule P09; or by every process of a job, although one of them could read it
and send it to the others over the network.
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
    """Bytes that processes read repeatedly."""

    kind: ClassVar[str] = "redundant-reads"
    redundant_bytes: int
    read_bytes: int
    files: int
    worst_times: float
    """How often the worst file was read on average."""

    @property
    def called_operations(self) -> Collection[str]:
        return OPERATIONS_OF["read"]


@dataclass(frozen=True)
class SameDataEvidence(ProfileEvidence):
    """Files that every process reads whole."""

    kind: ClassVar[str] = "same-data"
    readers: int
    """Readers of the file that most processes read."""
    read_bytes: int
    distinct_bytes: int
    files: int

    @property
    def called_operations(self) -> Collection[str]:
        return OPERATIONS_OF["read"]


def redundant_reads(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one warning. It is a symptom of files whose requests belong to another finding."""
    share, least = facts.thresholds.redundant_share, facts.thresholds.moved_bytes
    every = facts.reads
    own_files, other_files = _of_kind(facts, "redundant-reads"), _of_other_kinds(facts, "redundant-reads")
    is_included = pl.col("file").is_in(own_files.implode()) | ~pl.col("file").is_in(other_files.implode())
    repeated = every.filter(pl.col("again") > 0, is_included).sort("again", "file", descending=[True, False])
    redundant, read = int(repeated["again"].sum()), int(every["read_bytes"].sum())
    if redundant <= share.value * read or redundant <= least.value:
        return
    times = repeated["read_bytes"] / (repeated["extent"] * repeated["readers"])
    in_again = pl.col("duration_ns") * (pl.col("again") / pl.col("read_bytes"))
    rows = facts.requests("read").join(repeated.select("file"), on="file", how="semi")
    yield profile_finding(
        "warning",
        RedundantReadEvidence(
            thresholds=(share, least),
            spent_ns=known_total(repeated["duration_ns"]),
            saves_ns=known_total(repeated.select(in_again.round(0))["duration_ns"]),
            symptoms=causes.symptoms(facts, "redundant-reads", "read", rows),
            redundant_bytes=redundant,
            read_bytes=read,
            files=repeated.height,
            worst_times=float(times[0]),
        ),
        files(repeated["file"]),
        _redundant_read_message,
    )


def same_data(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one warning. It is a symptom of files whose requests belong to another finding."""
    limits = (facts.thresholds.reading_processes, facts.thresholds.moved_bytes)
    other_files = _of_other_kinds(facts, "same-data")
    rows = facts.reads.filter(causes.is_same_data(facts), ~pl.col("file").is_in(other_files.implode()))
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
    """Files whose read requests belong to another finding."""
    others = [
        rows["file"]
        for (other_kind, direction), rows in facts.causes.items()
        if direction == "read" and other_kind != kind
    ]
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

"""Data that is read more often than it has to be.

By one process again and again, as in Drishti's rule P09; or by every process of a job, which one of them could read and
hand to the others over the network.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, files
from ioassay.analysis.profile.totals import known_sum, known_total

_WHOLE = 0.9
"""A process reads the same as the others where it reads at least this share of what all of them touch."""


@dataclass(frozen=True)
class RedundantReadEvidence(ProfileEvidence):
    """Bytes that processes read again."""

    kind: ClassVar[str] = "redundant-reads"
    redundant_bytes: int
    read_bytes: int
    files: int
    worst_times: float
    """How often the file that is worst was read on average."""


@dataclass(frozen=True)
class SameDataEvidence(ProfileEvidence):
    """Files that every process reads whole."""

    kind: ClassVar[str] = "same-data"
    readers: int
    """Of the file that most processes read."""
    read_bytes: int
    distinct_bytes: int
    files: int


def _read(facts: ProfileFacts) -> pl.DataFrame:
    """Each file that was read, with what was read and the part of it that was touched."""
    # From the beginning of the file, where a source does not know where reads began: that is no less.
    extent = pl.col("end_bytes").max() - pl.col("begin_bytes").fill_null(0).min()
    return (
        facts.stored.filter(pl.col("direction") == "read", pl.col("bytes") > 0)
        .group_by("file")
        .agg(
            pl.col("bytes").sum(),
            known_sum("duration_ns"),
            readers=pl.col("processes").max().fill_null(1),
            extent=extent.clip(1),
        )
        .drop_nulls("extent")
    )


def redundant_reads(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    share, least = facts.thresholds.redundant_share, facts.thresholds.moved_bytes
    again = pl.col("bytes") - pl.col("extent") * pl.col("readers")
    rows = _read(facts).with_columns(again=again.clip(0)).sort("again", "file", descending=[True, False])
    redundant, read = int(rows["again"].sum()), int(rows["bytes"].sum())
    if redundant <= share.value * read or redundant <= least.value:
        return
    found = rows.filter(pl.col("again") > 0)
    times = found["bytes"] / (found["extent"] * found["readers"])
    yield Finding(
        "warning",
        RedundantReadEvidence(
            thresholds=(share, least),
            spent_ns=known_total(found["duration_ns"]),
            redundant_bytes=redundant,
            read_bytes=read,
            files=found.height,
            worst_times=float(times[0]),
        ),
        files(found["file"]),
    )


def same_data(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    readers, least = facts.thresholds.reading_processes, facts.thresholds.moved_bytes
    is_same = pl.col("bytes") >= _WHOLE * pl.col("extent") * pl.col("readers")
    saved = pl.col("bytes") - pl.col("extent")
    rows = (
        _read(facts)
        .filter(pl.col("readers") >= readers.value, is_same, saved > least.value)
        .sort("bytes", "file", descending=[True, False])
    )
    if rows.is_empty():
        return
    yield Finding(
        "warning",
        SameDataEvidence(
            thresholds=(readers, least),
            spent_ns=known_total(rows["duration_ns"]),
            readers=int(rows["readers"].max()),  # type: ignore[arg-type]
            read_bytes=int(rows["bytes"].sum()),
            distinct_bytes=int(rows["extent"].sum()),
            files=rows.height,
        ),
        files(rows["file"]),
    )

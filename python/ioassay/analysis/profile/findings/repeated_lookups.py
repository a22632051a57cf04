"""Files that are opened, or statted, again and again: the program knows the metadata server's answer already."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding, Message
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, files, less, profile_finding
from ioassay.analysis.profile.thresholds import Threshold
from ioassay.analysis.profile.totals import known_total
from ioassay.text import format

_STATS_OF_AN_OPEN = 2


@dataclass(frozen=True)
class ReopenEvidence(ProfileEvidence):
    """Opens of files that each process opens many times."""

    kind: ClassVar[str] = "reopened-files"
    calls: int
    files: int
    most_of_a_process: float
    """Calls of each process on the worst file, on average."""

    @property
    def called_operations(self) -> Collection[str]:
        return ("open",)


@dataclass(frozen=True)
class RestatEvidence(ProfileEvidence):
    """Stats of files that each process stats many times."""

    kind: ClassVar[str] = "stat-storm"
    calls: int
    files: int
    most_of_a_process: float

    @property
    def called_operations(self) -> Collection[str]:
        return ("stat",)


def reopened_files(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    limits = (facts.thresholds.open_calls, facts.thresholds.open_calls_by_process)
    rows = _repeated(facts, "open", *limits)
    # Programs for trees of files open a directory for each file in it, which users cannot change.
    if not rows.is_empty() and facts.tool is None:
        counts = _counts(rows)
        spent = known_total([facts.spent_ns(name, counts[0]) for name in ("open", "close")])
        evidence = ReopenEvidence(limits, spent, *counts, saves_ns=_saves(rows, spent))
        yield profile_finding("warning", evidence, files(rows["file"]), _reopen_message)


def stat_storm(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    limits = (facts.thresholds.stat_calls, facts.thresholds.stat_calls_by_process)
    rows = _repeated(facts, "stat", *limits)
    # A stat or two after each open belong to it.
    opened = _repeated(facts, "open", facts.thresholds.open_calls, facts.thresholds.open_calls_by_process)
    opens = opened.select("file", opens="calls")
    rows = rows.join(opens, on="file", how="left").filter(
        pl.col("calls") > _STATS_OF_AN_OPEN * pl.col("opens").fill_null(0)
    )
    if rows["calls"].sum() > limits[0].value and facts.tool is None:
        counts = _counts(rows)
        spent = facts.spent_ns("stat", counts[0])
        evidence = RestatEvidence(limits, spent, *counts, saves_ns=_saves(rows, spent))
        yield profile_finding("warning", evidence, files(rows["file"]), _restat_message)


def _saves(rows: pl.DataFrame, spent_ns: int | None) -> int | None:
    """The savings if each process makes one call on each file."""
    return less(spent_ns, int(rows["processes"].fill_null(1).sum()), int(rows["calls"].sum()))


def _repeated(facts: ProfileFacts, operation: str, least: Threshold, of_a_process: Threshold) -> pl.DataFrame:
    """The files on which each process makes many such calls; none if these are few in total. Absent files belong to
    another finding (`failed_lookups`).
    """
    each = pl.col("calls") / pl.col("processes").fill_null(1).clip(1)
    rows = (
        facts.data.filter(pl.col("operation") == operation, 2 * pl.col("failed").fill_null(0) < pl.col("calls"))
        .with_columns(each=each)
        .filter(pl.col("each") >= of_a_process.value)
        .sort("calls", "file", descending=[True, False])
    )
    return rows if rows["calls"].sum() > least.value else rows.clear()


def _counts(rows: pl.DataFrame) -> tuple[int, int, float]:
    return int(rows["calls"].sum()), rows.height, float(rows["each"].max())  # type: ignore[arg-type]


def _reopen_message(evidence: ReopenEvidence) -> Message:
    return Message(
        f"{format.count(evidence.files, 'file is', 'files are')} opened again and again: "
        f"{format.count(evidence.calls, 'open')}, up to {format.significant(evidence.most_of_a_process)} of one file "
        "by each process.",
        "Keep files open between uses.",
    )


def _restat_message(evidence: RestatEvidence) -> Message:
    return Message(
        f"{format.count(evidence.files, 'file is', 'files are')} looked up again and again: "
        f"{format.count(evidence.calls, 'stat')}, up to {format.significant(evidence.most_of_a_process)} of one file "
        "by each process.",
        "Keep what stat said, or wait for files with inotify or a message instead of asking for them.",
    )

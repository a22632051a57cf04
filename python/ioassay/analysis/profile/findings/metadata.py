"""Much time in calls that move no bytes: opening, looking up, creating, removing, syncing.

Drishti's rule P17 has a limit for each rank; for short runs, a large share of all time in I/O means the same. The time
of other findings (syncs one by one, reopened files, small files, …) and of start-up is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import polars as pl

from ioassay.analysis.finding import Finding, Message
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, files, less, profile_finding
from ioassay.analysis.profile.findings.repeated_lookups import (
    ReopenEvidence,
    RestatEvidence,
    reopened_files,
    stat_storm,
)
from ioassay.analysis.profile.findings.search_paths import failed_lookups
from ioassay.analysis.profile.findings.sync_storm import SyncEvidence, sync_storm
from ioassay.analysis.profile.totals import known_total
from ioassay.profiles.model import METADATA
from ioassay.text import format

MetadataGroup = Literal["open", "look up", "list", "create and remove", "sync", "seek", "lock", "change"]
"""Operations with a common remedy."""

_GROUPS: dict[str, MetadataGroup] = {
    "open": "open",
    "close": "open",
    "stat": "look up",
    "list": "list",
    "glob": "list",
    "create": "create and remove",
    "remove": "create and remove",
    "rename": "create and remove",
    "sync": "sync",
    "stream flush": "sync",
    "seek": "seek",
    "stream seek": "seek",
    "lock": "lock",
}
"""The group of each operation; others (group "change") change a file's size or attributes."""

MOST_OPERATIONS = 3
"""The most operations in the evidence."""

OMPIO_LOCK_FILE = r"\.locktest\.\d+$"
"""Files that Open MPI's MPI-IO (OMPIO; seen in 4.1.4 and 5.0.11) creates and removes at each open, by each rank."""

_NAMED_SHARE = 0.01
"""The least share of the time of an operation that is named."""


@dataclass(frozen=True)
class MetadataEvidence(ProfileEvidence):
    """Time in metadata operations that no other finding covers."""

    kind: ClassVar[str] = "metadata-time"
    share: float
    """Share of the time in I/O."""
    processes: int
    """Processes above the limit of a rank."""
    most_ns: int | None
    """Time of the process that spent the most; `None` if the source knows it of no process."""
    operation: str
    """The operation with the most time; empty: unknown."""
    calls: int
    """Calls of all these operations."""
    operations: tuple[tuple[str, int, int], ...]
    """The operations with the most time, with calls and time, which is estimated from calls if it is unknown for files.
    """
    group: MetadataGroup | None
    """The group of operations with the most time; `None`: unknown."""
    group_share: float | None
    """Share of the time in metadata operations."""
    lock_files: int
    """Lock files of Open MPI's MPI-IO."""

    @property
    def called_operations(self) -> Collection[str]:
        """The operation with the most time, or all if that is unknown."""
        return (self.operation,) if self.operation else METADATA


def metadata_time(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    limits = facts.thresholds
    limit, share, part = limits.metadata_s, limits.metadata_share, limits.io_share
    every_ns, io_ns = facts.totals.of("metadata").spent_ns, facts.totals.io_ns
    if every_ns is None or not io_ns:
        return
    least_share_ns = max(share.value * io_ns, part.value * facts.totals.run_ns)
    if every_ns <= min(limit.value * 1e9, least_share_ns):  # even if no other finding covered any of it
        return
    others = [finding for find in (sync_storm, reopened_files, stat_storm, failed_lookups) for finding in find(facts)]
    packed = [facts.causes[key]["file"] for key in facts.causes if key[0] == "small-files"]
    elsewhere = pl.concat([facts.startup["file"], *packed]).unique()
    others_ns = known_total([other.evidence.spent_ns for other in others]) or 0  # type: ignore[attr-defined]
    spent = max(0, every_ns - others_ns - (facts.metadata_ns(elsewhere) or 0))
    times = _times(facts, _named(others), elsewhere, spent)
    calls = sum(count for count, _ in times.values())
    longest = facts.profile.processes["metadata_ns"].drop_nulls()
    beyond = int((longest > limit.value * 1e9).sum()) if spent > limit.value * 1e9 else 0
    is_worth_it = spent > limits.metadata_least_s.value * 1e9 or calls > limits.metadata_calls.value
    is_large = is_worth_it and spent > least_share_ns
    if not beyond and not is_large:
        return
    order = sorted(times, key=lambda name: (-times[name][1], name))
    group, group_ns = _dominating(times)
    known_ns = sum(ns for _, ns in times.values())
    frame = facts.stored.filter(pl.col("operation").is_in(list(times)), ~pl.col("file").is_in(elsewhere.implode()))
    rows = facts.profile.files.filter(pl.col("file").is_in(frame["file"].unique().implode()), pl.col("metadata_ns") > 0)
    yield profile_finding(
        "warning",
        MetadataEvidence(
            thresholds=((limit,) if beyond else ()) + ((share, part) if is_large else ()),
            spent_ns=spent,
            # The time of another method for a whole tree is unknown.
            saves_ns=None if facts.tool else _saves(facts, frame, group, min(group_ns, spent)),
            tool=facts.tool,
            share=spent / io_ns,
            processes=beyond,
            most_ns=int(longest.max() or 0),  # type: ignore[arg-type]
            operation=order[0] if known_ns else "",
            calls=calls,
            operations=tuple(
                (name, *times[name]) for name in order[:MOST_OPERATIONS] if times[name][1] > _NAMED_SHARE * known_ns
            ),
            group=group if known_ns else None,
            group_share=group_ns / known_ns if known_ns else None,
            lock_files=rows.filter(pl.col("path").str.contains(OMPIO_LOCK_FILE)).height,
        ),
        files(rows.sort("metadata_ns", "file", descending=[True, False])["file"]),
        _message,
    )


def _named(others: list[Finding]) -> Counter[str]:
    """Calls by operation that other findings cover."""
    calls: Counter[str] = Counter()
    for other in others:
        match other.evidence:
            case SyncEvidence(syncs=count):
                calls["sync"] += count
            case ReopenEvidence(calls=count):
                calls.update({"open": count, "close": count})
            case RestatEvidence(calls=count):
                calls["stat"] += count
    return calls


def _times(facts: ProfileFacts, named: Counter[str], elsewhere: pl.Series, most_ns: int) -> dict[str, tuple[int, int]]:
    """Calls and time of each operation, without the calls in `named` and those on the files `elsewhere`. Files that
    share a row are included. Times are estimates from means, scaled down to at most `most_ns` in total.
    """
    other_rows = facts.stored.filter(pl.col("file").is_in(elsewhere.implode()))
    left = Counter[str]()
    for name, count in facts.profile.process_operations.select("operation", "calls").iter_rows():
        left[name] += count or 0
    left.subtract(dict(other_rows.group_by("operation").agg(pl.col("calls").sum()).iter_rows()))
    left.subtract(named)
    times = {name: facts.spent_ns(name, left[name]) or 0 for name in METADATA if left[name] > 0}
    part = min(1.0, most_ns / max(1, sum(times.values())))
    return {name: (left[name], round(ns * part)) for name, ns in times.items()}


def _dominating(times: dict[str, tuple[int, int]]) -> tuple[MetadataGroup, int]:
    sums: dict[MetadataGroup, int] = {}
    for name, (_, ns) in times.items():
        group = _GROUPS.get(name, "change")
        sums[group] = sums.get(group, 0) + ns
    return max(sums.items(), key=lambda item: item[1], default=("change", 0))


def _saves(facts: ProfileFacts, frame: pl.DataFrame, group: MetadataGroup, spent_ns: int) -> int | None:
    """Savings in the dominating operations: each process must open, look up or list a file once."""
    match group:
        case "seek":
            return spent_ns
        case "open" | "look up" | "list":
            names = [name for name in METADATA if _GROUPS.get(name, "change") == group and name != "close"]
            rows = frame.filter(pl.col("operation").is_in(names))
            return less(spent_ns, int(rows["processes"].fill_null(1).sum()), int(rows["calls"].sum()))
    return None


def _message(evidence: MetadataEvidence) -> Message:
    most = ""
    if evidence.group is not None and evidence.group_share is not None:
        named = ", ".join(
            f"{name} {format.duration(ns)} in {format.count(calls, 'call')}" for name, calls, ns in evidence.operations
        )
        most = f", {format.share(evidence.group_share)} of it to {_GROUP_WORDS[evidence.group]} ({named})"
    beyond = ""
    if evidence.processes:
        limit = format.duration(evidence.thresholds[0].value * 1e9)
        processes = format.count(evidence.processes, "process", "processes")
        beyond = f"{processes} spent more than {limit} on them; the most is {format.duration(evidence.most_ns)}."
    remedy = _METADATA_REMEDIES[evidence.group or "open"]
    if evidence.lock_files:
        lock_files = format.count(evidence.lock_files, "file")
        of_mpi = (
            f"Among them are {lock_files} called NAME.locktest.RANK, which Open MPI's own MPI-IO creates and removes "
        )
        beyond = " ".join(filter(None, (beyond, f"{of_mpi}at each open by each rank.")))
        remedy += " Try ROMIO (OMPI_MCA_io=^ompio), which has no such files."
    return Message(
        f"Metadata operations take {format.share(evidence.share)} of the time in I/O: "
        f"{format.duration(evidence.spent_ns)} in {format.count(evidence.calls, 'call')}{most}.",
        remedy,
        beyond,
    )


_GROUP_WORDS: Mapping[MetadataGroup, str] = {
    "open": "open and close files",
    "look up": "look files up (stat)",
    "list": "list directories",
    "create and remove": "create, rename and remove files",
    "sync": "wait for the storage (fsync)",
    "seek": "seek",
    "lock": "wait for locks",
    "change": "change sizes and attributes",
}


_METADATA_REMEDIES: Mapping[MetadataGroup, str] = {
    "open": "Use fewer and larger files, and keep them open.",
    "look up": "Keep what stat said, and take types of files from listings (d_type) instead of looking each file up.",
    "list": "Keep an index of the files instead of walking directories again, and split very large directories.",
    "create and remove": "Use fewer and larger files, each process in its own directory; keep temporary files on a "
    "node-local disk.",
    "sync": "Sync once after many writes; check whether each result has to survive a crash by itself.",
    "seek": "Use calls that name the offset (pread, pwrite), or read whole blocks in order.",
    "lock": "Lock larger ranges less often, or give each process a file of its own.",
    "change": "Set sizes and attributes once, when the file is complete.",
}

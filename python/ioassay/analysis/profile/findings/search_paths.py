"""Lookups of absent files: each failed open or stat is a request to the metadata server.

Many come from search paths: of programs (`PATH`), libraries (`LD_LIBRARY_PATH`), modules, headers. These search a name
in several directories. Lookups of interpreters and libraries belong to start-up (`program_startup`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding, Message
from ioassay.analysis.profile.findings.profile_facts import (
    ProfileEvidence,
    ProfileFacts,
    files,
    part_of,
    profile_finding,
)
from ioassay.analysis.profile.totals import directory_of, known_total
from ioassay.text import format
from ioassay.text.control_characters import escaped

LOOKUPS = ("open", "stat", "list")

MOST_DIRECTORIES = 5
"""The most directories in the evidence."""

_AGAIN_AND_AGAIN = 10
"""Failed lookups of a path by each process above which the process polls for it."""

_OTHER_REASONS = (61, 95, 22, 20, 17, 6)
"""Errors other than absence: ENODATA and EOPNOTSUPP of attributes, EINVAL of readlink, ENOTDIR, EEXIST, ENXIO.
"""


_NAME = pl.col("path").str.split("/").list.last()


@dataclass(frozen=True)
class FailedLookups:
    """Lookups of absent files."""

    count: int
    directories: tuple[tuple[str, int], ...]
    """The directories with most failed lookups, with their number."""
    names: int
    """Different names of absent files."""
    searched: int
    """Names among these that were searched in several directories, and exist in fewer: in copied trees, each directory
    has a file of the name.
    """
    searched_count: int
    """Failed lookups of these names."""
    repeated_count: int
    """Failed lookups of paths that processes poll for."""

    @property
    def is_search_path(self) -> bool:
        """True if most of them search a name in several directories."""
        return 2 * self.searched_count >= self.count

    @property
    def is_polling(self) -> bool:
        """True if most of them poll for the same paths."""
        return not self.is_search_path and 2 * self.repeated_count >= self.count


@dataclass(frozen=True)
class SearchEvidence(ProfileEvidence):
    """Lookups that failed."""

    kind: ClassVar[str] = "failed-lookups"
    failed: int
    lookups: int
    directories: tuple[tuple[str, int], ...]
    """The directories with most failed lookups, with their number."""
    names: int
    """Different names of absent files."""
    searched: int
    """Names among these that were searched in several directories."""
    is_search_path: bool
    """True if most of them search a name in several directories."""
    is_polling: bool
    """True if most of them poll for the same paths."""

    @property
    def called_operations(self) -> Collection[str]:
        return LOOKUPS


def failed_lookups(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    least, share = facts.thresholds.failed_calls, facts.thresholds.failed_share
    lookups = facts.data.filter(pl.col("operation").is_in(LOOKUPS), pl.col("failed").is_not_null())
    if lookups["failed"].sum() <= least.value:
        return
    every = int(lookups["calls"].sum())
    lookups = lookups.join(_created_after_lookup(facts), on="file", how="anti", maintain_order="left")
    rows, absent = _absent(lookups), failed_among(lookups)
    if absent.count <= least.value or absent.count <= share.value * every:
        return
    # Tools check for files that they are about to create; `metadata_time` reports the tree of files instead.
    if facts.tool is not None and not absent.is_polling:
        return
    by_operation = rows.group_by("operation").agg(pl.col("failed").sum()).iter_rows()
    spent = known_total([facts.spent_ns(operation, count) for operation, count in by_operation])
    yield profile_finding(
        "notice",
        SearchEvidence(
            thresholds=(least, share),
            spent_ns=spent,
            saves_ns=spent,
            failed=absent.count,
            lookups=every,
            directories=absent.directories,
            names=absent.names,
            searched=absent.searched,
            is_search_path=absent.is_search_path,
            is_polling=absent.is_polling,
        ),
        files(_by_path(rows)["file"]),
        _message,
    )


def _created_after_lookup(facts: ProfileFacts) -> pl.DataFrame:
    """Files that a program created after a lookup showed that they were absent, as in copying a tree: file. Files that
    processes poll for are left out.
    """
    makes = pl.col("operation").is_in(["create", "rename"]) | ((pl.col("direction") == "write") & (pl.col("bytes") > 0))
    failed = pl.col("failed").filter(pl.col("operation").is_in(LOOKUPS)).sum()
    is_waited_for = failed >= _AGAIN_AND_AGAIN * pl.col("processes").max().fill_null(1)
    of_file = facts.data.group_by("file").agg(is_made=makes.any(), is_waited_for=is_waited_for)
    return of_file.filter("is_made", ~pl.col("is_waited_for")).select("file")


def failed_among(rows: pl.DataFrame) -> FailedLookups:
    """The failed lookups among rows of `totals.on_storage`."""
    named = _by_path(_absent(rows)).with_columns(
        directory=pl.col("path").map_elements(directory_of, return_dtype=pl.String), name=_NAME
    )
    directories = named.group_by("directory").agg(pl.col("failed").sum())
    top = directories.sort("failed", "directory", descending=[True, False]).head(MOST_DIRECTORIES)
    is_present = pl.col("operation").is_in(LOOKUPS) & (pl.col("calls") > pl.col("failed").fill_null(0))
    there = rows.filter(is_present).select("path").unique().group_by(name=_NAME).agg(present=pl.len())
    names = named.group_by("name").agg(pl.col("directory").n_unique(), pl.col("failed").sum())
    searched = names.join(there, on="name", how="left").filter(
        pl.col("directory") > 1, pl.col("present").fill_null(0) < pl.col("directory")
    )
    return FailedLookups(
        count=int(named["failed"].sum()),
        directories=tuple(top.iter_rows()),
        names=names.height,
        searched=searched.height,
        searched_count=int(searched["failed"].sum()),
        repeated_count=int(named.filter(pl.col("failed") >= _AGAIN_AND_AGAIN * pl.col("seekers"))["failed"].sum()),
    )


def _absent(rows: pl.DataFrame) -> pl.DataFrame:
    """Lookups that failed because the file was absent, as far as the source states the error."""
    reason = pl.col("last_errno").fill_null(0)
    return rows.filter(
        pl.col("operation").is_in(LOOKUPS), pl.col("failed").fill_null(0) > 0, ~reason.is_in(_OTHER_REASONS)
    )


def _by_path(rows: pl.DataFrame) -> pl.DataFrame:
    by_path = rows.group_by("file", "path").agg(pl.col("failed").sum(), seekers=pl.col("processes").max().fill_null(1))
    return by_path.sort("failed", "path", descending=[True, False])


def _message(evidence: SearchEvidence) -> Message:
    if evidence.is_search_path:
        remedy = (
            "Shorten search paths (PATH, LD_LIBRARY_PATH, include paths), or put the directories that answer first."
        )
    elif evidence.is_polling:
        remedy = (
            "Wait for files with inotify or a message instead of asking again and again, or remember what is not there."
        )
    else:
        remedy = "List these directories once instead of asking for each file, and remember what is not there."
    most_in = named_directories(evidence.directories)
    return Message(
        f"{format.share(evidence.failed / evidence.lookups)} of the lookups fail: {format.count(evidence.failed)} of "
        f"{format.count(evidence.lookups)} opens, stats and listings, most in {most_in}.",
        remedy,
        searched_names(evidence.searched, evidence.names)
        if evidence.is_search_path
        else "They come from no search path.",
    )


def named_directories(counts: Sequence[tuple[str, int]]) -> str:
    """`/usr/lib (1,200), /opt (30)`."""
    return ", ".join(f"{escaped(directory)} ({format.count(count)})" for directory, count in counts)


def searched_names(searched: int, names: int) -> str:
    """A sentence about names that are searched in several directories; empty for none."""
    return f"{part_of(searched, names, 'name')} looked for in several directories." if searched else ""

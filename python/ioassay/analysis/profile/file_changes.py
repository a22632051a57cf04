"""Which files two profiles have in common, by their paths, and what was done to each in both.

A file is the same where its path is. Of the others, two are taken for the same whose paths end alike, in as many parts
as possible, if no other file of either profile ends so: what was written to another directory or another file system.
Not: what was done to all of them together (`comparison`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import polars as pl

from ioassay.analysis.profile import totals
from ioassay.analysis.profile.totals import MOVED
from ioassay.profiles.model import STORED_FILES, Profile

AMOUNTS = (*MOVED.values(), "spent_ns")


@dataclass(frozen=True)
class FileAmounts:
    """What was done to a file. `None`: unknown."""

    path: str
    calls: int
    read_bytes: int | None
    written_bytes: int | None
    spent_ns: int | None


@dataclass(frozen=True)
class FileChange:
    """A file of both profiles."""

    reference: FileAmounts
    other: FileAmounts

    @property
    def is_moved(self) -> bool:
        """True if it has another path."""
        return self.reference.path != self.other.path

    @property
    def is_same(self) -> bool:
        """True if nothing else was done to it, in as much time."""
        return replace(self.reference, path=self.other.path) == self.other

    @property
    def spent_change_ns(self) -> int | None:
        """How much longer its calls took."""
        mine, its = self.reference.spent_ns, self.other.spent_ns
        return None if mine is None or its is None else its - mine

    @property
    def bytes_change(self) -> int:
        """How many more bytes were moved; 0 where that is unknown."""
        pairs = (
            (self.reference.read_bytes, self.other.read_bytes),
            (self.reference.written_bytes, self.other.written_bytes),
        )
        return sum(its - mine for mine, its in pairs if mine is not None and its is not None)


@dataclass(frozen=True)
class FileChanges:
    changed: tuple[FileChange, ...]
    """Those of both, with the largest change of time first, then of bytes."""
    only_reference: tuple[FileAmounts, ...]
    """Those with most time first."""
    only_other: tuple[FileAmounts, ...]


def file_changes(reference: Profile, other: Profile) -> FileChanges:
    """The files of both, and those of either."""
    mine, its = _files(reference), _files(other)
    same = dict(_pairs(mine, its))
    changed = [FileChange(mine[path], its[its_path]) for path, its_path in same.items()]
    changed.sort(key=lambda one: (-abs(one.spent_change_ns or 0), -abs(one.bytes_change), one.reference.path))
    taken = set(same.values())
    return FileChanges(
        tuple(changed),
        tuple(amounts for path, amounts in mine.items() if path not in same),
        tuple(amounts for path, amounts in its.items() if path not in taken),
    )


def _files(profile: Profile) -> Mapping[str, FileAmounts]:
    """Files on storage by their paths, those of several nodes together, with most time first."""
    rows = (
        totals.by_file(profile)
        .filter(pl.col("kind").is_in(STORED_FILES))
        .group_by("path", maintain_order=True)
        .agg(pl.col("calls").sum(), *map(totals.known_sum, AMOUNTS))
        .sort("spent_ns", "path", descending=[True, False], nulls_last=True)
    )
    return {
        row["path"]: FileAmounts(row["path"], row["calls"], row["read_bytes"], row["written_bytes"], row["spent_ns"])
        for row in rows.iter_rows(named=True)
    }


def _pairs(mine: Mapping[str, FileAmounts], its: Mapping[str, FileAmounts]) -> Iterator[tuple[str, str]]:
    """Paths of the same file in both."""
    yield from ((path, path) for path in mine if path in its)
    left = {path: _parts(path) for path in mine if path not in its}
    others = {path: _parts(path) for path in its if path not in mine}
    for length in range(max((len(parts) for parts in (*left.values(), *others.values())), default=0), 0, -1):
        ends, other_ends = _by_end(left, length), _by_end(others, length)
        for end, paths in ends.items():
            if len(paths) == 1 and len(found := other_ends.get(end, [])) == 1:
                yield paths[0], found[0]
                del left[paths[0]], others[found[0]]


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def _by_end(paths: Mapping[str, tuple[str, ...]], length: int) -> dict[tuple[str, ...], list[str]]:
    found: dict[tuple[str, ...], list[str]] = {}
    for path, parts in paths.items():
        if len(parts) >= length:
            found.setdefault(parts[-length:], []).append(path)
    return found

"""Files that two profiles have in common, by their paths, with the amounts of I/O in both.

Files with equal paths are the same. Of the others, two are matched if their paths have the same end, of as many parts
as possible, and no other file of either profile has it: the application used another directory or file system. Not:
sums over all files (`comparison`).
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
    """The I/O on a file. `None`: unknown."""

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
        """True if all amounts are equal."""
        return replace(self.reference, path=self.other.path) == self.other

    @property
    def spent_change_ns(self) -> int | None:
        """Additional time of its calls, other minus reference."""
        mine, its = self.reference.spent_ns, self.other.spent_ns
        return None if mine is None or its is None else its - mine

    @property
    def bytes_change(self) -> int:
        """Additional bytes, other minus reference; 0 if unknown."""
        pairs = (
            (self.reference.read_bytes, self.other.read_bytes),
            (self.reference.written_bytes, self.other.written_bytes),
        )
        return sum(its - mine for mine, its in pairs if mine is not None and its is not None)


@dataclass(frozen=True)
class FileChanges:
    changed: tuple[FileChange, ...]
    """Files of both profiles, by change of time, then of bytes, largest first."""
    only_reference: tuple[FileAmounts, ...]
    """Files with most time first."""
    only_other: tuple[FileAmounts, ...]


def file_changes(reference: Profile, other: Profile) -> FileChanges:
    """The files of both profiles, and those of only one."""
    mine, theirs = _files(reference), _files(other)
    same = dict(_pairs(mine, theirs))
    changed = [FileChange(mine[path], theirs[its_path]) for path, its_path in same.items()]
    changed.sort(
        key=lambda change: (-abs(change.spent_change_ns or 0), -abs(change.bytes_change), change.reference.path)
    )
    taken = set(same.values())
    return FileChanges(
        tuple(changed),
        tuple(amounts for path, amounts in mine.items() if path not in same),
        tuple(amounts for path, amounts in theirs.items() if path not in taken),
    )


def _files(profile: Profile) -> Mapping[str, FileAmounts]:
    """Files on storage by path, summed over nodes, those with most time first."""
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


def _pairs(mine: Mapping[str, FileAmounts], theirs: Mapping[str, FileAmounts]) -> Iterator[tuple[str, str]]:
    """Pairs of paths of the same file in both profiles."""
    yield from ((path, path) for path in mine if path in theirs)
    left = {path: _parts(path) for path in mine if path not in theirs}
    others = {path: _parts(path) for path in theirs if path not in mine}
    for length in range(max((len(parts) for parts in (*left.values(), *others.values())), default=0), 0, -1):
        ends, other_ends = _by_end(left, length), _by_end(others, length)
        for end, paths in ends.items():
            if len(paths) == 1 and len(matches := other_ends.get(end, [])) == 1:
                yield paths[0], matches[0]
                del left[paths[0]], others[matches[0]]


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def _by_end(paths: Mapping[str, tuple[str, ...]], length: int) -> dict[tuple[str, ...], list[str]]:
    paths_by_end: dict[tuple[str, ...], list[str]] = {}
    for path, parts in paths.items():
        if len(parts) >= length:
            paths_by_end.setdefault(parts[-length:], []).append(path)
    return paths_by_end

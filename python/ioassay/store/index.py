"""The index of a folder: each stored directory in a line, without reading its tables or all of its document.

Of each directory the beginning of its document is read, which is so little that there is no cache that could be stale,
damaged or another user's. Nothing is written, and no link is followed. Not: what tells kinds apart (`kinds`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ioassay.errors import UsageError
from ioassay.store import lock
from ioassay.store.kinds import RUN, SWEEP, Kind, recognise
from ioassay.store.stored_directory import StoredDirectory
from ioassay.store.summary import Summary

MOST_LEVELS = 4
"""Levels of folders that are looked into below the one that is named. `ioassay run` uses two at most."""

MOST_DIRECTORIES = 100_000
"""With more, the folder is no place of stored directories but a whole file system."""


@dataclass(frozen=True)
class Entry:
    """A stored directory."""

    path: Path
    kind: str
    summary: Summary


@dataclass(frozen=True)
class Unreadable:
    """A directory that cannot be read, or whose document cannot."""

    path: Path
    kind: str | None
    """`None` where it is unknown."""
    reason: str


@dataclass(frozen=True)
class Index:
    """The stored directories below a folder."""

    entries: tuple[Entry, ...]
    """The newest first; those without a date of measurement come last."""
    unreadable: tuple[Unreadable, ...]
    """In the order of their paths."""


def index(folder: Path) -> Index:
    """The stored directories below `folder`, or `folder` itself where it is one. Hidden directories are passed over.

    Raises `UsageError` where `folder` is no directory, or holds more than `MOST_DIRECTORIES`.
    """
    try:
        with StoredDirectory.open(folder) as directory:
            directories = list(_Walk(folder).below(directory, MOST_LEVELS))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"There is no directory {folder}.", "Name the directory that holds your runs.") from error
    entries = [directory for directory in directories if isinstance(directory, Entry)]
    unreadable = [directory for directory in directories if isinstance(directory, Unreadable)]
    return Index(tuple(sorted(entries, key=_began, reverse=True)), tuple(unreadable))


def runs(typed: Iterable[Path]) -> list[Path]:
    """The runs that are meant: `of_kind`."""
    return of_kind(RUN, typed)


def of_kind(kind: Kind[Any], typed: Iterable[Path]) -> list[Path]:
    """The directories that are meant: a folder that is no stored directory stands for all of the kind below it, the
    oldest first.

    What is no such folder stays, for its reader to refuse; so do directories that cannot be read.
    """
    return [path_below for path in typed for path_below in _directories_below(kind, path)]


def _directories_below(kind: Kind[Any], path: Path) -> list[Path]:
    try:
        with StoredDirectory.open(path) as directory:
            if recognise(directory) is not None:
                return [path]
    except (OSError, UsageError):
        return [path]
    below = index(path)
    entries: Sequence[Entry | Unreadable] = (*reversed(below.entries), *below.unreadable)
    return [entry.path for entry in entries if entry.kind == kind.name] or [path]


def _began(entry: Entry) -> tuple[bool, datetime, str]:
    started = entry.summary.started
    return bool(started), datetime.fromisoformat(started) if started else _ANY_TIME, str(entry.path)


_ANY_TIME = datetime.fromtimestamp(0, UTC)


class _Walk:
    """One look at everything below `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._directories = 0

    def below(self, directory: StoredDirectory, levels: int) -> Iterator[Entry | Unreadable]:
        """The entry of `directory`, or those so many levels below it."""
        self._directories += 1
        if self._directories > MOST_DIRECTORIES:
            raise UsageError(
                f"{self._folder} holds more than {MOST_DIRECTORIES:,} directories.", "Name a directory below it."
            )
        kind = None
        try:
            kind = recognise(directory)
            if kind is not None:
                yield Entry(directory.path, kind.name, _summary(directory, kind))
        except (UsageError, OSError) as error:
            yield Unreadable(directory.path, kind.name if kind else None, _reason(error))
        else:
            if kind is None and levels:
                yield from self._inside(directory, levels - 1)

    def _inside(self, directory: StoredDirectory, levels: int) -> Iterator[Entry | Unreadable]:
        for name in directory.directories():
            if name.startswith("."):
                continue
            path = directory.path / name
            try:
                name.encode()
                inner = directory.inner(name)
            except UnicodeEncodeError:
                yield Unreadable(path, None, "its name is not UTF-8")
            except FileNotFoundError:  # removed meanwhile
                continue
            except (UsageError, OSError) as error:
                yield Unreadable(path, None, _reason(error))
            else:
                with inner:
                    yield from self.below(inner, levels)


def _summary(directory: StoredDirectory, kind: Kind[Any]) -> Summary:
    """The summary of a stored directory. A run in state running that no process works on was interrupted."""
    if kind is RUN and not directory.exists(RUN.document):
        from ioassay.store import front_ends  # noqa: PLC0415  (it builds documents of runs)

        summary = front_ends.summary(directory)
    else:
        summary = kind.summary(directory)
    if kind in (RUN, SWEEP) and summary.state == "running" and not lock.in_use(directory):
        return replace(summary, state="interrupted")
    return summary


def _reason(error: UsageError | OSError) -> str:
    return error.message if isinstance(error, UsageError) else error.strerror or str(error)

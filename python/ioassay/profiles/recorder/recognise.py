"""Which files are of Recorder, and what lies beside them."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ioassay.errors import UsageError

TAKES = (
    "Name a trace of Recorder that recorder2parquet has converted: its directory, the folder _parquet in it, or the "
    ".parquet files."
)

_METADATA = "recorder.mt"
_CONVERTED = "_parquet"
_NAME = re.compile(r"\d+_\d+\.parquet")
"""The rank of recorder2parquet, and a number from 0."""
_HEAD = struct.Struct("@idd")
"""How `recorder.mt` begins: ranks, when the first began in seconds since 1970, the resolution of times."""
_MOST_RANKS = 1 << 28
_MOST_UNIX_S = 1 << 33


@dataclass(frozen=True)
class Trace:
    """The converted files of a trace."""

    files: tuple[Path, ...]
    ranks: int | None
    """As its metadata says it; `None`: it is not there, or damaged."""
    start_unix_s: float | None
    """When its first rank began; likewise."""
    program: str
    """Empty: unknown."""


def is_recorder(path: Path) -> bool:
    """True for a Parquet file, and for a directory of Recorder, converted or not."""
    try:
        if not path.is_dir():
            return path.suffix == ".parquet" and path.is_file()
        return (path / _METADATA).is_file() or (path / _CONVERTED).is_dir() or any(_converted(path))
    except OSError:
        return False


def trace_at(path: Path) -> Trace:
    """The trace that a path is of. Raises `UsageError` where it was not converted."""
    if not path.is_dir():
        return _trace((path,), path.parent)
    folder = path / _CONVERTED if (path / _CONVERTED).is_dir() else path
    files = tuple(_converted(folder))
    if not files:
        raise UsageError(f"{path} is a trace of Recorder that was not converted.", f"Run recorder2parquet {path}")
    return _trace(files, folder)


def _converted(folder: Path) -> Iterator[Path]:
    return iter(sorted(file for file in folder.iterdir() if _NAME.fullmatch(file.name)))


def _trace(files: tuple[Path, ...], folder: Path) -> Trace:
    """A trace whose converted files are in a folder, which is `_parquet` in its directory unless they were moved."""
    directory = folder.resolve().parent
    try:
        with (directory / _METADATA).open("rb") as file:
            ranks, start, _ = _HEAD.unpack(file.read(_HEAD.size))
    except (OSError, struct.error):
        return Trace(files, None, None, "")
    parts = directory.name.split("-")  # node, user, program, process, time: names with a dash of their own hide which
    return Trace(
        files,
        ranks if 0 < ranks < _MOST_RANKS else None,
        start if 0 < start < _MOST_UNIX_S else None,
        parts[2] if len(parts) == 5 else "",
    )

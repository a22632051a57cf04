"""Reads lines of documents from a pipe, or from the growing files of several nodes, in bounded memory.

Not: parsing lines (`documents`), starting an agent (`cli.watch.view`).
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import stat
import time
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from ioassay.errors import CannotRun, UsageError
from ioassay.monitoring.view.documents import LONGEST_LINE

FIRST_BYTES: Final = 1 << 20
"""Most bytes read from the end of an existing file: some minutes of a node."""

_LEAST_FIRST_BYTES: Final = 32 << 10
_ALL_FIRST_BYTES: Final = 32 << 20
"""Most bytes read from the ends of all files together, but at least `_LEAST_FIRST_BYTES` of each."""

MOST_BYTES: Final = 8 << 20
"""Most bytes per read."""

MOST_FILES: Final = 4096
_OTHER_FILES: Final = 64
"""Other open files of this process."""
POLL_S: Final = 0.25


class Lines:
    """Splits data into lines. Lines that are too long are dropped."""

    def __init__(self) -> None:
        self._rest = b""
        self._skips = False

    def add(self, data: bytes) -> list[bytes]:
        """The lines that are complete now."""
        *complete, rest = (self._rest + data).split(b"\n")
        if self._skips and complete:
            del complete[0]
            self._skips = False
        if len(rest) > LONGEST_LINE:
            rest, self._skips = b"", True
        self._rest = rest
        return [line for line in complete if line.strip()]

    def skip(self) -> None:
        """Drops data up to the end of the current line, whose beginning is unknown."""
        self._rest, self._skips = b"", True


class Source(Protocol):
    """A source of lines."""

    has_ended: bool
    """True if no more lines will come."""

    def read(self, timeout_s: float) -> Sequence[bytes]:
        """New lines, after waiting for them up to `timeout_s`. Raises `CannotRun`."""
        ...


class Pipe:
    """Standard input, or the output of an agent."""

    def __init__(self, descriptor: int) -> None:
        self.has_ended = False
        self._descriptor = descriptor
        self._lines = Lines()

    def read(self, timeout_s: float) -> list[bytes]:
        if not select.select([self._descriptor], [], [], timeout_s)[0]:
            return []
        data = os.read(self._descriptor, MOST_BYTES)
        if not data:
            self.has_ended = True
            return self._lines.add(b"\n")
        return self._lines.add(data)


class _File:
    """A growing file, which is rotated under the same name."""

    def __init__(self, descriptor: int, first_bytes: int) -> None:
        self._descriptor = descriptor
        self._lines = Lines()
        self._at = 0
        size = os.fstat(descriptor).st_size
        if size > first_bytes:
            self._at = size - first_bytes
            self._lines.skip()

    def read(self) -> list[bytes]:
        size = os.fstat(self._descriptor).st_size
        if size < self._at:  # a failed write was undone
            self._at = size
            self._lines.skip()
        data = os.pread(self._descriptor, MOST_BYTES, self._at)
        self._at += len(data)
        return self._lines.add(data)

    def is_still(self, other_status: os.stat_result) -> bool:
        status = os.fstat(self._descriptor)
        return (status.st_dev, status.st_ino) == (other_status.st_dev, other_status.st_ino)

    def close(self) -> None:
        os.close(self._descriptor)


class Directory:
    """The files `NODE.jsonl` of a directory on a shared file system, written by agents."""

    has_ended = False

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise UsageError(
                f"{path} is not a directory of JSON lines.", "Name the directory of the sink `json lines`."
            )
        self._path = path
        self._files: dict[str, _File] = {}
        self._most_files = max(1, _allow_open_files(MOST_FILES + _OTHER_FILES) - _OTHER_FILES)
        self._last = ""
        """The file after which the next poll continues, if the last one was cut short."""

    def read(self, timeout_s: float) -> list[bytes]:
        deadline = time.monotonic() + timeout_s
        while True:
            lines = self._look()
            remaining_s = deadline - time.monotonic()
            if lines or remaining_s <= 0:
                return lines
            time.sleep(min(POLL_S, remaining_s))

    def _look(self) -> list[bytes]:
        try:
            names = sorted(name for name in os.listdir(self._path) if name.endswith(".jsonl"))[:MOST_FILES]
        except OSError as error:
            raise CannotRun(f"{self._path} cannot be listed: {error.strerror}.") from None
        if len(names) > self._most_files:
            raise CannotRun(
                f"{self._path} has files of {len(names)} nodes, and this process may open {self._most_files}.",
                f"Raise the limit of open files: ulimit -n {MOST_FILES + _OTHER_FILES}",
            )
        for removed in self._files.keys() - set(names):
            self._files.pop(removed).close()
        first_bytes = min(FIRST_BYTES, max(_LEAST_FIRST_BYTES, _ALL_FIRST_BYTES // max(1, len(names))))
        lines: list[bytes] = []
        read_bytes = 0
        begin = bisect_right(names, self._last)
        for name in names[begin:] + names[:begin]:
            if read_bytes >= MOST_BYTES:
                break
            self._last = name
            # A file that is unreadable now may be readable in the next poll.
            with contextlib.suppress(OSError):
                new_lines = self._look_at(name, first_bytes)
                lines += new_lines
                read_bytes += sum(map(len, new_lines))
        else:
            self._last = ""
        return lines

    def _look_at(self, name: str, first_bytes: int) -> list[bytes]:
        file, lines = self._files.get(name), []
        status = os.stat(self._path / name, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            return []
        if file is not None:
            lines = file.read()
            if file.is_still(status):
                return lines
            lines += file.read()  # lines between the read and the rotation
            self._files.pop(name).close()
        opened = os.open(self._path / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        file = self._files[name] = _File(opened, first_bytes)
        return lines + file.read()


def _allow_open_files(number: int) -> int:
    """Raises this process's soft limit of open files up to `wanted`. Returns how many files it may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < number:
        soft = number if hard == resource.RLIM_INFINITY else min(number, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return number if soft == resource.RLIM_INFINITY else min(soft, number)

"""Where lines of documents come from: a pipe, or the growing files of several nodes. Both in bounded memory.

Not: what lines say (`documents`), starting an agent (`cli.watch.view`).
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
"""What is read at most of the end of a file that is there already: some minutes of a node."""

_LEAST_FIRST_BYTES: Final = 32 << 10
_ALL_FIRST_BYTES: Final = 32 << 20
"""What is read of the ends of all files together, but for `_LEAST_FIRST_BYTES` of each."""

MOST_BYTES: Final = 8 << 20
"""What is read at a time."""

MOST_FILES: Final = 4096
_OTHER_FILES: Final = 64
"""What else may be open in this process."""
POLL_S: Final = 0.25


class Lines:
    """Cuts what comes into lines. Of one that is too long, nothing is kept."""

    def __init__(self) -> None:
        self._rest = b""
        self._skips = False

    def add(self, data: bytes) -> list[bytes]:
        """The lines that are whole now."""
        *whole, rest = (self._rest + data).split(b"\n")
        if self._skips and whole:
            del whole[0]
            self._skips = False
        if len(rest) > LONGEST_LINE:
            rest, self._skips = b"", True
        self._rest = rest
        return [line for line in whole if line.strip()]

    def skip(self) -> None:
        """Skips what comes up to the end of the line, of which the beginning is not known."""
        self._rest, self._skips = b"", True


class Source(Protocol):
    """Where lines come from."""

    has_ended: bool
    """No more lines will come."""

    def read(self, timeout_s: float) -> Sequence[bytes]:
        """The lines that have come, waiting for them for so long at most. Raises `CannotRun`."""
        ...


class Pipe:
    """Standard input, or what an agent says."""

    def __init__(self, descriptor: int) -> None:
        self.has_ended = False
        self._descriptor = descriptor
        self._lines = Lines()

    def read(self, timeout_s: float) -> list[bytes]:
        """The lines that have come."""
        if not select.select([self._descriptor], [], [], timeout_s)[0]:
            return []
        data = os.read(self._descriptor, MOST_BYTES)
        if not data:
            self.has_ended = True
            return self._lines.add(b"\n")
        return self._lines.add(data)


class _File:
    """A file that grows, and is replaced by a new one of the same name."""

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
        if size < self._at:  # a write that failed was taken back
            self._at = size
            self._lines.skip()
        data = os.pread(self._descriptor, MOST_BYTES, self._at)
        self._at += len(data)
        return self._lines.add(data)

    def is_still(self, about: os.stat_result) -> bool:
        own = os.fstat(self._descriptor)
        return (own.st_dev, own.st_ino) == (about.st_dev, about.st_ino)

    def close(self) -> None:
        os.close(self._descriptor)


class Directory:
    """The files `NODE.jsonl` of a directory, which agents write on a shared file system."""

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
        """The file after which the next look goes on, where the last one was cut short."""

    def read(self, timeout_s: float) -> list[bytes]:
        """The lines that have come."""
        until = time.monotonic() + timeout_s
        while True:
            lines = self._look()
            left = until - time.monotonic()
            if lines or left <= 0:
                return lines
            time.sleep(min(POLL_S, left))

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
        for gone in self._files.keys() - set(names):
            self._files.pop(gone).close()
        first_bytes = min(FIRST_BYTES, max(_LEAST_FIRST_BYTES, _ALL_FIRST_BYTES // max(1, len(names))))
        lines: list[bytes] = []
        read_bytes = 0
        begin = bisect_right(names, self._last)
        for name in names[begin:] + names[:begin]:
            if read_bytes >= MOST_BYTES:
                break
            self._last = name
            # A file that cannot be read now may be read the next time.
            with contextlib.suppress(OSError):
                found = self._look_at(name, first_bytes)
                lines += found
                read_bytes += sum(map(len, found))
        else:
            self._last = ""
        return lines

    def _look_at(self, name: str, first_bytes: int) -> list[bytes]:
        file, lines = self._files.get(name), []
        about = os.stat(self._path / name, follow_symlinks=False)
        if not stat.S_ISREG(about.st_mode):
            return []
        if file is not None:
            lines = file.read()
            if file.is_still(about):
                return lines
            lines += file.read()  # what came between the look and the rotation
            self._files.pop(name).close()
        opened = os.open(self._path / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        file = self._files[name] = _File(opened, first_bytes)
        return lines + file.read()


def _allow_open_files(wanted: int) -> int:
    """Raises this process's limit of open files as far as it may, to `wanted` at most. Returns how many it may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft == resource.RLIM_INFINITY else min(soft, wanted)

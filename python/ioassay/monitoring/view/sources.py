"""Where lines of documents come from: a pipe, or the growing files of several nodes. Both in bounded memory.

Not: what lines say (`documents`), starting an agent (`cli.watch.view`).
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from ioassay.errors import CannotRun, UsageError
from ioassay.monitoring.view.documents import LONGEST_LINE

FIRST_BYTES: Final = 1 << 20
"""What is read of the end of a file that is there already: some minutes of a node."""

MOST_BYTES: Final = 8 << 20
"""What is read at a time."""

MOST_FILES: Final = 4096
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

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines = Lines()
        self._at = 0
        size = os.fstat(descriptor).st_size
        if size > FIRST_BYTES:
            self._at = size - FIRST_BYTES
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
        for gone in self._files.keys() - set(names):
            self._files.pop(gone).close()
        lines = []
        for name in names:
            # A file that cannot be read now may be read the next time.
            with contextlib.suppress(OSError):
                lines += self._look_at(name)
        return lines

    def _look_at(self, name: str) -> list[bytes]:
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
        file = self._files[name] = _File(opened)
        return lines + file.read()

"""One process at a time changes settings of a machine, and writes into a directory of journals."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from ioassay.errors import CannotRun, UsageError

_NAME = "lock"
_OF_MACHINE = "run/ioassay-tuning.lock"


class Lock:
    """Held from `acquire` to `release`, or until the process ends."""

    def __init__(self, descriptors: list[int]) -> None:
        self._descriptors = descriptors

    @classmethod
    def acquire(cls, place: Path, root: Path = Path("/")) -> Lock:
        """Takes both locks. Raises `UsageError` while another process has one, `CannotRun` if it cannot."""
        lock = cls([])
        try:
            for path in (place / _NAME, root / _OF_MACHINE):
                lock._take(path, is_needed=path.parent == place)
        except BaseException:
            lock.release()
            raise
        return lock

    def release(self) -> None:
        """Gives the locks up."""
        while self._descriptors:
            os.close(self._descriptors.pop())

    def _take(self, path: Path, *, is_needed: bool) -> None:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if is_needed:
                raise unwritable(path, error) from None
            return  # without root nothing of the machine is changed, and /run may be read-only
        self._descriptors.append(file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.pread(file, 200, 0).decode(errors="replace").strip()
            raise UsageError(
                f"Process {pid or 'unknown'} is changing settings of this machine ({path}).",
                "Wait until it has ended.",
            ) from None
        except OSError as error:
            raise CannotRun(
                f"The file system of {path} does not support file locks ({error.strerror}).",
                "Use a local directory: --journal DIR.",
            ) from None
        with contextlib.suppress(OSError):  # for people only
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)


def unwritable(path: Path, error: OSError) -> CannotRun:
    """The error of a journal or lock that cannot be written."""
    return CannotRun(
        f"The journal {path} cannot be written: {error.strerror or error}.",
        "Settings are changed only with a journal. Free space there, or use another directory: --journal DIR.",
    )

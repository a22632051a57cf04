"""One process per run directory: an advisory lock that vanishes with its holders, however they end.

A pid in a file would outlive a `kill -9` and say nothing on another login node; flock does neither. What the
file holds is for people only. The engine inherits the lock, so a run counts as in use until its last rank is
gone, even when the control plane was killed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from pathlib import Path
from types import TracebackType

from ioassay.errors import CannotRun, UsageError
from ioassay.store.stored_directory import StoredDirectory

NAME = "lock"

_MOST_BYTES = 1 << 20

# What flock answers where the file system has no locks, for example Lustre mounted without `-o flock`.
_UNSUPPORTED = {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK}


ORPHAN_S = 10
"""An engine whose control plane was killed ends by itself within this time, also on many nodes."""


class Lock:
    """Held from `acquire` to `release`, or until every process that inherited it has died."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        """To be inherited by processes that use the run."""

    @classmethod
    def acquire(cls, run: StoredDirectory) -> Lock:
        """Takes the lock of `run`. Where only an orphaned engine holds it, waits for its end, `ORPHAN_S` at most.

        Raises `UsageError` when another process keeps it and for a directory of another user, `CannotRun` where the
        file system has no locks.
        """
        descriptor = run.open_lock(NAME)
        try:
            _lock(descriptor, run.path)
        except BaseException:
            os.close(descriptor)
            raise
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {socket.gethostname()}\n".encode(), 0)
        return cls(descriptor)

    def release(self) -> None:
        """Gives the lock up. Processes that inherited it keep it until they end."""
        os.close(self.descriptor)

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _lock(descriptor: int, run: Path) -> None:
    deadline = time.monotonic() + ORPHAN_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid, _, host = os.pread(descriptor, 200, 0).decode(errors="replace").strip().partition(" ")
            orphan = host == socket.gethostname() and not Path(f"/proc/{pid}").exists()
            if orphan and time.monotonic() < deadline:
                time.sleep(0.05)
                continue
            raise UsageError(
                f"{run} is in use by {'an engine of ' if orphan else ''}process {pid} on {host}.",
                "Wait until it has ended, or end that process; its results are kept.",
            ) from None
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
            raise CannotRun(
                f"The file system of {run} does not support file locks ({error.strerror}).",
                "Put the run directory on another file system with --out.",
            ) from error


def in_use(run: StoredDirectory) -> bool:
    """True while a process works on `run`. Changes nothing, so it works on another user's run too."""
    try:
        with run.open_file(NAME, _MOST_BYTES) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    return False

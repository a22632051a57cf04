"""A process that is held by its directory in /proc, and whether it may be trusted.

A process number belongs to another process as soon as its own has ended. An open directory of /proc stays that of its
process: whatever is looked up below it afterwards fails, and never leads into somebody else's namespaces.
Not here: what labs are.
"""

from __future__ import annotations

import os
import signal
import stat
import weakref

import psutil

_PROC = "/proc"

_LENT: set[ProcessHandle] = set()
"""Those whose path somebody was given: it leads there as long as this process lives."""


class ProcessHandle:
    """A process. As a path it is its directory in /proc, for us and our children."""

    def __init__(self, pid: int) -> None:
        """Raises `OSError` or `psutil.Error` where there is none."""
        self.pid = pid
        self._directory = os.open(f"{_PROC}/{pid}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._directory)
        self.process = psutil.Process(pid)
        if not self.exists:
            raise ProcessLookupError(pid)

    def __fspath__(self) -> str:
        _LENT.add(self)
        return f"{_PROC}/{os.readlink(f'{_PROC}/self')}/fd/{self._directory}"

    @property
    def exists(self) -> bool:
        """False once it has ended and was collected."""
        try:
            os.stat("stat", dir_fd=self._directory)
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """Raises `ProcessLookupError` if it has ended."""
        signal.pidfd_send_signal(self._directory, signal.SIGKILL)

    def read(self, name: str) -> str:
        """What a file of its directory holds. Raises `OSError`."""
        with open(name, opener=self._opener, errors="replace") as file:
            return file.read()

    def open(self, name: str) -> int:
        """A file of its directory, to be read. Raises `OSError`."""
        return os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._directory)

    def is_as_privileged_as_we(self) -> bool:
        """True if it could do to us whatever we may do for it: it has our user, our user namespace, our capabilities.

        Its command line, its environment and its namespaces are then those of somebody who needs nothing of us. Other
        users, set-user-ID programs, user namespaces and containers, also those of root, do not pass. Raises `OSError`.
        """
        ours, its = (_status(text) for text in (_read_own_status(), self.read("status")))
        user = f"{os.geteuid()}"
        if set(its["Uid"].split()) != {user} or _space("self/ns/user") != _space("ns/user", self._directory):
            return False
        return not int(ours["CapEff"], 16) & ~int(its["CapEff"], 16)

    def memory_file(self, name: str) -> int | None:
        """The file in memory (memfd) that our user called `name` and that it holds open, to be read. Raises `OSError`.

        The user who made it stays its owner, whoever holds it.
        """
        files = os.open("fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._directory)
        try:
            for number in os.listdir(files):
                if os.readlink(number, dir_fd=files) != f"/memfd:{name} (deleted)":
                    continue
                about = os.stat(number, dir_fd=files)
                if stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid():
                    return os.open(number, os.O_RDONLY | os.O_CLOEXEC, dir_fd=files)
        finally:
            os.close(files)
        return None

    def _opener(self, name: str, flags: int) -> int:
        return os.open(name, flags | os.O_CLOEXEC, dir_fd=self._directory)


def _read_own_status() -> str:
    with open(f"{_PROC}/self/status") as file:
        return file.read()


def _status(text: str) -> dict[str, str]:
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def _space(path: str, directory: int | None = None) -> tuple[int, int]:
    about = os.stat(path if directory is not None else f"{_PROC}/{path}", dir_fd=directory)
    return about.st_dev, about.st_ino

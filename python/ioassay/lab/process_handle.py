"""A process held by its open directory in /proc, and whether it can be trusted.

Once a process has ended, its number may belong to another one. An open directory of /proc stays that of its process:
later look-ups below it fail, and never lead into the namespaces of another process.
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
"""Handles whose path was passed on: it must stay valid as long as this process lives."""


class ProcessHandle:
    """A process. Its path is its directory in /proc, usable by this process and its children."""

    def __init__(self, pid: int) -> None:
        """Raises `OSError` or `psutil.Error` if there is no such process."""
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
        """False once it has ended and was reaped."""
        try:
            os.stat("stat", dir_fd=self._directory)
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """Raises `ProcessLookupError` if it has ended."""
        signal.pidfd_send_signal(self._directory, signal.SIGKILL)

    def read(self, name: str) -> str:
        """The text of a file of its directory. Raises `OSError`."""
        with open(name, opener=self._opener, errors="replace") as file:
            return file.read()

    def open(self, name: str) -> int:
        """Opens a file of its directory for reading. Raises `OSError`."""
        return os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._directory)

    def is_as_privileged_as_we(self) -> bool:
        """True if it has our user, our user namespace and at least our capabilities.

        Such a process gains nothing by misleading us with its command line, environment or namespaces. Other users,
        set-user-ID programs, user namespaces and containers, including those of root, fail this test. Raises `OSError`.
        """
        ours, its = (_status(text) for text in (_read_own_status(), self.read("status")))
        user = f"{os.geteuid()}"
        if set(its["Uid"].split()) != {user} or _space("self/ns/user") != _space("ns/user", self._directory):
            return False
        return not int(ours["CapEff"], 16) & ~int(its["CapEff"], 16)

    def memory_file(self, name: str) -> int | None:
        """Opens for reading the memfd `name` of our user that the process holds open. Raises `OSError`.

        A memfd belongs to the user who created it, whichever process holds it.
        """
        files = os.open("fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._directory)
        try:
            for number in os.listdir(files):
                if os.readlink(number, dir_fd=files) != f"/memfd:{name} (deleted)":
                    continue
                status = os.stat(number, dir_fd=files)
                if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
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
    status = os.stat(path if directory is not None else f"{_PROC}/{path}", dir_fd=directory)
    return status.st_dev, status.st_ino

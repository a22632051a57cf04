"""Settings that are files of /sys and /proc: read and written whole, in one system call each."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from ioassay.tuning.choices import choices, chosen
from ioassay.tuning.settings.errors import CannotSet, cannot_read, cannot_set
from ioassay.tuning.settings.model import Instance, normalised, refuse_other_kind

_MOST_BYTES = 1 << 16


class FileInstance(Instance):
    """A value in a file of the kernel."""

    def __init__(self, name: str, path: Path) -> None:
        super().__init__(name)
        self.path = path

    def read(self) -> str:
        """As the base says; of `none [mq-deadline]` the chosen word."""
        return chosen(self._text())

    def write(self, value: str) -> None:
        try:
            file = os.open(self.path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
            try:
                os.write(file, f"{value}\n".encode())
            finally:
                os.close(file)
        except OSError as error:
            raise cannot_set(self.name, value, self.path, error) from None

    def check(self, value: str, now: str) -> str:
        value = normalised(self.name, value)
        refuse_other_kind(self.name, value, now, choices(self._text()))
        self._refuse_unwritable(value)
        return value

    def _refuse_unwritable(self, value: str) -> None:
        try:
            # Root may open anything; the kernel itself has not made it for writing then.
            if not stat.S_IMODE(os.stat(self.path).st_mode) & 0o222:
                raise CannotSet(f"{self.name}: {self.path} is read-only: the kernel only shows it.")
            os.close(os.open(self.path, os.O_WRONLY | os.O_CLOEXEC))
        except OSError as error:
            raise cannot_set(self.name, value, self.path, error) from None

    def _text(self) -> str:
        try:
            with self.path.open("rb") as file:
                return file.read(_MOST_BYTES).decode(errors="replace")
        except OSError as error:
            raise cannot_read(self.name, self.path, error) from None


def first_line(path: Path) -> str:
    """The first line of a small file; empty where there is none."""
    with contextlib.suppress(OSError):
        return path.read_text(errors="replace").partition("\n")[0].strip()
    return ""


def readable(directory: Path) -> list[str]:
    """The names of the files in a directory that hold values."""
    with contextlib.suppress(OSError):
        return sorted(entry.name for entry in os.scandir(directory) if entry.is_file(follow_symlinks=False))
    return []


def names(directory: Path) -> list[str]:
    """All names in a directory; none where it cannot be read."""
    with contextlib.suppress(OSError):
        return sorted(os.listdir(directory))
    return []

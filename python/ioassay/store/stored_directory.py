"""A directory of stored results, held by its descriptor: the only way in which its files are opened.

Runs are handed around, so any user may have made the directory, and root may read it. Each name below it is looked
up component by component, without following links; only regular files are opened, so neither a FIFO nor a device can
hold up or be touched by a reader; and nothing is written where another user owns the directory.

What the user typed is followed like any path: only what lies below it is not.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import stat
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple

from ioassay.errors import UsageError
from ioassay.store.atomic import replace_file
from ioassay.text.units import format_bytes

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

_RESTORE = "Restore it from a copy."


class Identity(NamedTuple):
    """The identity of a file, which differs from that of a file that replaces it."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFREG: "a regular file",
}


def file_kind(mode: int) -> str:
    """The kind of a file of that mode: `a FIFO`."""
    return _KINDS.get(stat.S_IFMT(mode), "of an unknown kind")


class StoredDirectory:
    """An open directory. Names are relative to it, with slashes."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        """As it was named, for messages."""
        self.descriptor = descriptor

    @classmethod
    def open(cls, path: Path) -> StoredDirectory:
        """Opens the directory. Raises `OSError` where that cannot be done."""
        return cls(path, os.open(path, _DIRECTORY))

    def close(self) -> None:
        """Gives the descriptor back."""
        os.close(self.descriptor)

    def __enter__(self) -> StoredDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_own(self) -> bool:
        """True if this process's user owns it. Only then may anything be written into it."""
        return os.fstat(self.descriptor).st_uid == os.geteuid()

    def require_own(self, remedy: str) -> None:
        """Raises `UsageError` with `remedy` where another user owns it."""
        if not self.is_own:
            owner = os.fstat(self.descriptor).st_uid
            raise UsageError(
                f"{self.path} belongs to another user (uid {owner}); ioassay does not write to it.", remedy
            )

    def exists(self, name: str) -> bool:
        """True if there is anything of this name, be it what it may."""
        return self.identity(name) is not None

    def identity(self, name: str) -> Identity | None:
        """Tells whether a file is still the same; `None` where there is none."""
        try:
            with self._parent_of(name) as (above, last):
                status = os.stat(last, dir_fd=above, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return Identity(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    def names(self, name: str = "") -> list[str]:
        """The sorted names in the directory `name`, or in this one; empty where there is none."""
        if not name:
            return sorted(os.listdir(self.descriptor))
        try:
            with self._parent_of(f"{name}/.") as (inner, _):
                return sorted(os.listdir(inner))
        except FileNotFoundError:
            return []

    def directories(self) -> list[str]:
        """The names of the directories in this one, sorted. A link to one is none."""
        with os.scandir(self.descriptor) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))

    def inner(self, name: str) -> StoredDirectory:
        """The directory `name`. Raises `UsageError` for what is none, such as a link, `OSError`."""
        with self._parent_of(f"{name}/.") as (inner, _):
            return StoredDirectory(self.path / name, os.dup(inner))

    def open_file(self, name: str, most_bytes: int) -> BinaryIO:
        """Opens a regular file to read. Raises `UsageError` for anything else and for more than `most_bytes`,
        `FileNotFoundError` where there is nothing of this name.
        """
        shown = self.path / name
        with self._parent_of(name) as (above, last):
            # O_PATH touches nothing: to open a device, even for reading, may do something.
            place = os.open(last, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
        try:
            kind = os.fstat(place)
            if stat.S_ISLNK(kind.st_mode):
                raise UsageError(
                    f"{shown} is a symbolic link, which is not followed.", "Replace the link with the file itself."
                )
            if not stat.S_ISREG(kind.st_mode):
                what = file_kind(kind.st_mode)
                raise UsageError(
                    f"{shown} is not a regular file, but {what}.", "Name a regular file, or restore it from a copy."
                )
            if kind.st_size > most_bytes:
                raise UsageError(
                    f"{shown} holds {format_bytes(kind.st_size)}; ioassay reads at most {format_bytes(most_bytes)}.",
                    _RESTORE,
                )
            return open(_reopen_to_read(place, shown), "rb")
        finally:
            os.close(place)

    def read(self, name: str, most_bytes: int) -> bytes:
        """The content of a regular file. Raises like `open_file`."""
        with self.open_file(name, most_bytes) as file:
            content = file.read(most_bytes + 1)
        if len(content) > most_bytes:
            raise UsageError(f"{self.path / name} grew while it was read.", "Try again when no process writes to it.")
        return content

    def write(self, name: str, content: bytes, mode: int = 0o666) -> None:
        """Replaces a file atomically, whatever was there under its name.

        Raises `UsageError` in a directory of another user, `OSError` where it cannot be written.
        """
        self.require_own("Work on a copy (cp -r).")
        with self._parent_of(name) as (above, last):
            replace_file(above, last, content, self.path / name, mode)

    def make_directory(self, name: str) -> None:
        """Makes a directory and those above it; one that is there already stays."""
        self.require_own("Work on a copy (cp -r).")
        parts = name.split("/")
        for count in range(1, len(parts) + 1):
            with self._parent_of("/".join(parts[:count])) as (above, last), contextlib.suppress(FileExistsError):
                os.mkdir(last, dir_fd=above)

    def rename(self, name: str, other: str) -> None:
        """Gives a file another name. Raises `OSError`."""
        with self._parent_of(name) as (above, last), self._parent_of(other) as (other_above, other_last):
            os.rename(last, other_last, src_dir_fd=above, dst_dir_fd=other_above)

    def remove(self, name: str) -> None:
        """Removes a file, where there is one."""
        with contextlib.suppress(FileNotFoundError), self._parent_of(name) as (above, last):
            os.unlink(last, dir_fd=above)

    def open_lock(self, name: str) -> int:
        """A descriptor of the file `name` to lock and to write in place; makes it where it is missing.

        Raises `UsageError` for what is no file of its own, such as a link.
        """
        self.require_own("Work on a copy (cp -r).")
        shown = self.path / name
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        try:
            descriptor = os.open(name, flags, 0o644, dir_fd=self.descriptor)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
                raise UsageError(f"{shown} is not a regular file.", "Remove it.") from error
            raise OSError(error.errno, error.strerror, str(shown)) from error
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            os.close(descriptor)
            raise UsageError(f"{shown} is not a regular file without other hard links.", "Remove it.")
        return descriptor

    @contextlib.contextmanager
    def _parent_of(self, name: str) -> Iterator[tuple[int, str]]:
        """The descriptor of the directory that `name` lies in, and its last component."""
        *above, last = name.split("/")
        if last in ("", "..") or any(part in ("", ".", "..") for part in above):
            raise ValueError(f"{name} is not a name below a directory")
        descriptor = self.descriptor
        try:
            for depth, part in enumerate(above, start=1):
                try:
                    inner = os.open(part, _DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
                except OSError as error:
                    shown = self.path.joinpath(*above[:depth])
                    if error.errno in (errno.ELOOP, errno.ENOTDIR):
                        raise UsageError(f"{shown} is not a directory.", _RESTORE) from error
                    raise OSError(error.errno, error.strerror, str(shown)) from error
                if descriptor != self.descriptor:
                    os.close(descriptor)
                descriptor = inner
            try:
                yield descriptor, last
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(self.path / name)) from error
        finally:
            if descriptor != self.descriptor:
                os.close(descriptor)


def _reopen_to_read(place: int, shown: Path) -> int:
    """Opens a regular file, known by a descriptor of its place alone, to read."""
    try:
        descriptor = os.open(f"/proc/self/fd/{place}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(shown)) from error
    # Each loaded run keeps its samples open; the limit of old is for programs that use select().
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 2 * descriptor > soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return descriptor


def add_file(path: Path, name: str, content: bytes) -> None:
    """Writes a document about what is stored at `path` beside it, whatever was there under that name.

    Raises `UsageError` for a directory of another user, `OSError` where it cannot be written.
    """
    with StoredDirectory.open(path) as directory:
        directory.require_own("Write to another place with -o.")
        directory.write(name, content)

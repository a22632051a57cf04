"""A journal that is open for writing: its lines are on the disk when `write` returns."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from ioassay.tuning.journal.lock import Lock, unwritable
from ioassay.tuning.journal.origin import boot_id, machine, refuse_other_machine
from ioassay.tuning.journal.place import SUFFIX, new_id
from ioassay.tuning.journal.reader import read
from ioassay.tuning.journal.records import Header, Record, StoredCommand
from ioassay.tuning.journal.state import State


class Journal:
    """A journal that is open for writing. Holds the lock of its directory and of the machine."""

    def __init__(self, path: Path, state: State, file: int, lock: Lock) -> None:
        self.path, self.state = path, state
        self._file, self._lock = file, lock

    @property
    def id(self) -> str:
        """The name by which users refer to it."""
        return self.state.header.id

    @classmethod
    def create(
        cls,
        place: Path,
        command: Iterable[str],
        definitions: dict[str, StoredCommand] | None = None,
        root: Path = Path("/"),
        journal_id: str | None = None,
    ) -> Journal:
        """Begins a journal in the directory `place`. Raises `CannotRun`, `UsageError` while another one is written."""
        header = Header(
            id=journal_id or new_id(),
            host=socket.gethostname(),
            machine=machine(root),
            boot_id=boot_id(root),
            started=datetime.now(UTC).isoformat(timespec="microseconds"),
            command=list(command),
            definitions=definitions or {},
        )
        path = place / f"{header.id}{SUFFIX}"
        try:
            _make_durably(place)
        except OSError as error:
            raise unwritable(path, error) from None
        lock = Lock.acquire(place, root)
        try:
            file = os.open(
                path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            lock.release()
            raise unwritable(path, error) from None
        journal = cls(path, State(header), file, lock)
        try:
            journal._append(header)
            _sync_directory(place)
        except BaseException as error:
            journal.close()
            with contextlib.suppress(OSError):
                path.unlink()
            if isinstance(error, OSError):
                raise unwritable(path, error) from None
            raise
        return journal

    @classmethod
    def reopen(cls, path: Path, root: Path = Path("/"), host: str | None = None) -> Journal:
        """A journal to go on with. `host` is what this machine was called then, if it was renamed.

        Raises `UsageError` for one of another machine, one that is damaged, and one that is being written.
        """
        lock = Lock.acquire(path.parent, root)
        try:
            state, whole_bytes = read(path)
            refuse_other_machine(state.header, path, root, host)
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            lock.release()
            raise unwritable(path, error) from None
        except BaseException:
            lock.release()
            raise
        journal = cls(path, state, file, lock)
        with contextlib.suppress(OSError):  # what follows would be one line with the torn one
            os.ftruncate(file, whole_bytes)
        return journal

    def write(self, *records: Record) -> None:
        """Appends lines and returns when they are on the disk. Raises `CannotRun`."""
        if not records:
            return
        try:
            self._append(*records)
        except OSError as error:
            raise unwritable(self.path, error) from None
        for record in records:
            self.state.add(record)

    def close(self) -> None:
        """Gives up the file and the lock; what is open stays open."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            self._lock.release()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _append(self, *records: Header | Record) -> None:
        data = "".join(f"{record.model_dump_json()}\n" for record in records).encode()
        before = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, data)
            if written < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, before)
            raise


def _make_durably(directory: Path) -> None:
    created = [above for above in (directory, *directory.parents) if not above.exists()]
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in created:
        _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

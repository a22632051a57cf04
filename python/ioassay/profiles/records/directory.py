"""A record directory: `record.json` and the tables beside it, while it runs also those of processes that run.

Tables without a document, as a recorder leaves them that was only preloaded, are a record too: a directory of them,
or a single file. Not: what the tables say.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ioassay.errors import UsageError
from ioassay.profiles.records.killed import is_killed
from ioassay.protocol.record_layout import MAGIC
from ioassay.store.kinds import RECORD
from ioassay.store.stored_directory import StoredDirectory

if TYPE_CHECKING:
    from ioassay.protocol import record

_SUFFIXES = (".tables", ".table")
"""Of files with the tables of processes that ended, and with that of one that runs."""

_CHECKSUMS_SUFFIX = ".checksums"
"""Of the checksums of a file of tables, beside it."""

_MOST_CHECKSUMS_BYTES = 1 << 30
"""Of a file of checksums: those of 512 GiB of tables."""

_SYMBOLS_SUFFIX = ".symbols"
"""Of the names of functions in a file of tables, beside it."""

_MOST_SYMBOLS_BYTES = 1 << 30
"""Of a file of symbols: some 5 million addresses."""

_MOST_BYTES = 1 << 44
"""Of a file of tables. It is read piece by piece."""


@dataclass(frozen=True)
class RecordFile:
    """A file of tables, which the engine reads."""

    directory: Path
    name: str

    @property
    def path(self) -> Path:
        """As it is shown."""
        return self.directory / self.name

    def require_readable(self) -> None:
        """Raises `UsageError` where it or its checksums are no regular file, or too large. It may be there no more:
        its process ended.
        """
        for path, most_bytes in ((self.path, _MOST_BYTES), (self.checksums_path, _MOST_CHECKSUMS_BYTES)):
            with contextlib.suppress(FileNotFoundError), StoredDirectory.open(self.directory) as directory:
                directory.open_file(path.name, most_bytes).close()

    @property
    def checksums_path(self) -> Path:
        """As it is shown."""
        return self.path.with_suffix(_CHECKSUMS_SUFFIX)

    @property
    def symbols_path(self) -> Path:
        """As it is shown."""
        return self.path.with_suffix(_SYMBOLS_SUFFIX)

    def read_symbols(self) -> bytes | None:
        """The names of functions in its stacks; `None` where there are none. Raises `UsageError`."""
        try:
            with StoredDirectory.open(self.directory) as directory:
                return directory.read(self.symbols_path.name, _MOST_SYMBOLS_BYTES)
        except FileNotFoundError:
            return None


@dataclass(frozen=True)
class Record:
    """A record, before its tables are read."""

    path: Path
    document: record.Record | None
    files: tuple[RecordFile, ...]
    has_live_tables: bool = False
    """True if some of these files are still in the directory that processes had their tables in."""

    was_killed: bool = False
    """True if its recording was killed: neither it nor any process that it recorded is there any more."""

    @property
    def is_running(self) -> bool:
        """True if its processes may run. Of tables without a document that is unknown: they are taken for ended."""
        return self.document is not None and self.document["state"] == "running" and not self.was_killed


def open_record(path: Path) -> Record:
    """The record in a directory, or a file of tables. Raises `UsageError` where there is neither."""
    if path.is_file():
        return Record(path, None, (RecordFile(path.resolve().parent, path.resolve().name),))
    try:
        with StoredDirectory.open(path) as directory:
            document = RECORD.read(directory).root if directory.exists(RECORD.document) else None
            files = _files(path, directory.names())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"There is no {path}.", "Name a record, as `ioassay record` printed it.") from error
    if document is None and not files:
        raise UsageError(
            f"{path} is not a record: it has neither {RECORD.document} nor tables.",
            "Name a record, as `ioassay record` printed it.",
        )
    live: tuple[RecordFile, ...] = ()
    tables = document.get("tables") if document else None
    if tables is not None:
        with contextlib.suppress(OSError), StoredDirectory.open(Path(tables)) as directory:
            # Last: a process that ends meanwhile is then in neither, rather than in both.
            live = _files(directory.path, directory.names())
    was_killed = document is not None and document["state"] == "running" and is_killed(document, live)
    return Record(path, document, (*files, *live), bool(live), was_killed)


def is_table(name: str, beginning: bytes) -> bool:
    """True for a file of tables, also a damaged one that is still called so."""
    return name.endswith(_SUFFIXES) or beginning.startswith(MAGIC)


def _files(directory: Path, names: list[str]) -> tuple[RecordFile, ...]:
    return tuple(RecordFile(directory, name) for name in names if name.endswith(_SUFFIXES))

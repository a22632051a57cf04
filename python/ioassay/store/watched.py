"""The reports of the agents on the hosts of a run, read from `watch/*.jsonl`: a table for each kind of documents.

A line that is cut or damaged, or of another version of the agent, is counted and left out: nothing of a run depends on
it. Not: which hosts there are (`watch_document`), what the numbers mean (`ioassay.analysis.watch`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec
import polars as pl

from ioassay.protocol.watch_kinds import JOB_KINDS, NODE_KINDS, Kind
from ioassay.store.run_files import WATCH
from ioassay.store.stored_directory import StoredDirectory
from ioassay.store.watch_document import WatchDocument, WatchedHost, read_watch

_MOST_FILE_BYTES = 16 << 30
_LONGEST_LINE_BYTES = 1 << 20
_LARGEST = 2**62
_MOST_SECONDS = 2**33
_LONGEST_NAME = 4096
_LINES_AT_ONCE = 100_000
_MOST_ROWS = 20_000_000
"""The most of a host: a month of 8 devices."""

COLUMNS: Final = pl.Schema(
    {
        "host": pl.String,
        "role": pl.String,
        "kind": pl.String,
        "name": pl.String,  # the device, interface, mount, target; empty where the host has one of the kind
        "second": pl.Int64,  # since 1970, on the host's clock
        "field": pl.String,
        "value": pl.Int64,
    }
)
"""The columns of `Watch.rows`."""

_KEY = ("host", "role", "name", "second")


@dataclass(frozen=True)
class WatchTables:
    """All that was reported. By kind: host, role, name, second, and a column for each field of the kind."""

    by_kind: Mapping[str, pl.DataFrame]
    damaged_lines: int = 0
    unknown_lines: int = 0
    """Lines of kinds, or without fields, of another version of the agent."""


@dataclass(frozen=True)
class Watch:
    """The hosts that were watched, and what they reported, which is read when it is asked for."""

    document: WatchDocument
    read: Callable[[], WatchTables]

    @cached_property
    def tables(self) -> WatchTables:
        """Everything, read once."""
        return self.read()

    def table(self, kind: str) -> pl.DataFrame:
        """The documents of a kind; empty where there are none."""
        return self.tables.by_kind.get(kind, pl.DataFrame(schema=_KINDS[kind].schema))

    def rows(self) -> pl.DataFrame:
        """Everything with the columns of `COLUMNS`: a row for each value."""
        tables = [
            table.unpivot(
                on=[column for column in table.columns if column not in _KEY], index=_KEY, variable_name="field"
            ).with_columns(pl.lit(kind).alias("kind"))
            for kind, table in self.tables.by_kind.items()
        ]
        if not tables:
            return pl.DataFrame(schema=COLUMNS)
        return pl.concat(tables).drop_nulls("value").select(COLUMNS.names())


def watch_of(directory: StoredDirectory) -> Watch | None:
    """The watch of the run in this directory; `None` where it was not watched. Raises `UsageError`."""
    document = read_watch(directory)
    return None if document is None else Watch(document, partial(_read, directory.path, document.hosts))


def _read(run: Path, hosts: Iterable[WatchedHost]) -> WatchTables:
    collected = _Collected()
    with StoredDirectory.open(run) as directory:
        for host in hosts:
            try:
                file = directory.open_file(f"{WATCH}/{host.file}", _MOST_FILE_BYTES)
            except FileNotFoundError:
                continue
            with file:
                collected.read(host, file)
    return collected.tables()


class _Collected:
    """Documents of which the tables are made."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[str | int | None, ...]]] = {}
        self._tables: dict[str, list[pl.DataFrame]] = {}
        self._damaged = self._unknown = 0

    def read(self, host: WatchedHost, file: BinaryIO) -> None:
        """Adds the documents of a host."""
        count = 0
        while count < _MOST_ROWS and (line := file.readline(_LONGEST_LINE_BYTES)):
            count += 1
            if count % _LINES_AT_ONCE == 0:
                self._pack()
            # The last line may be on its way, or the agent may have ended in it.
            if not line.endswith(b"\n"):
                self._damaged += len(line) == _LONGEST_LINE_BYTES
                continue
            if not line.isspace():
                self._add(host, line)
        self._pack()

    def _add(self, host: WatchedHost, line: bytes) -> None:
        try:
            document = msgspec.json.decode(line)
            kind, second = document["kind"], document["second"]
            known = isinstance(kind, str) and type(second) is int and 0 <= second < _MOST_SECONDS
        except (msgspec.MsgspecError, ValueError, TypeError, KeyError, RecursionError):
            known = False
        if not known:
            self._damaged += 1
        elif kind in _KINDS:
            values = _KINDS[kind].values(document)
            if values is None:
                self._unknown += 1
            else:
                self._rows.setdefault(kind, []).append((host.name, host.role, values[0], second, *values[1:]))
        elif kind not in JOB_KINDS:
            self._unknown += 1

    def tables(self) -> WatchTables:
        """The collected tables."""
        tables = {kind: pl.concat(self._tables[kind]) for kind in _KINDS if kind in self._tables}
        return WatchTables(tables, self._damaged, self._unknown)

    def _pack(self) -> None:
        """Python's own rows take a multiple of the memory."""
        for kind, rows in self._rows.items():
            table = pl.DataFrame(rows, schema=_KINDS[kind].schema, orient="row")
            self._tables.setdefault(kind, []).append(table)
        self._rows.clear()


class _Fields(NamedTuple):
    """The fields of a kind of documents: the key of the thing that they are about, and the numbers."""

    labels: tuple[str, ...]
    numbers: tuple[str, ...]

    @classmethod
    def of(cls, kind: Kind) -> _Fields:
        """The fields of a kind. The name of the file names the node."""
        return cls(
            tuple(field.name for field in kind.fields if field.kind == "label" and field.name != "node"),
            tuple(field.name for field in kind.fields if field.kind in ("amount", "greatest", "level")),
        )

    def values(self, document: Mapping[str, Any]) -> tuple[str | int | None, ...] | None:
        """The name of what a document is about, and its numbers; `None` for one that is not of this version."""
        labels = [document.get(name) for name in self.labels]
        for label in labels:
            if not isinstance(label, str) or len(label) > _LONGEST_NAME:
                return None
        values = [document.get(name) for name in self.numbers]
        is_known = False
        for value in values:
            if value is not None:
                is_known = True
                if type(value) is not int or not 0 <= value <= _LARGEST:
                    return None
        return (" ".join(map(str, labels)).strip(), *values) if is_known else None

    @property
    def schema(self) -> pl.Schema:
        """The columns of the kind's table."""
        columns: dict[str, type[pl.DataType]] = dict.fromkeys(("host", "role", "name"), pl.String)
        columns |= dict.fromkeys(("second", *self.numbers), pl.Int64)
        return pl.Schema(columns)


_KINDS: Final = {name: _Fields.of(kind) for name, kind in {**NODE_KINDS, "agent": JOB_KINDS["agent"]}.items()}
"""The kinds of which each host has documents. The phases are those of the run."""

"""A recorder's tables, as `ioassay-engine tables` reads them out of files that nobody vouches for.

The engine checks bounds, versions and checksums, finds what lies behind damage, and prints tables as arrays of their
structures (`crates/record/src/rows.rs`): first all headers, then the tables that are wanted, some MiB at a time. What
it prints is taken at its word. Not: what the numbers mean.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ioassay.errors import CannotRun
from ioassay.processes.engine import find_engine
from ioassay.protocol import record_layout
from ioassay.protocol.record_layout import FOUND_TABLE, HEADER, LOST_BYTES, PART, SECOND, BlockKind, PartKind

_STRUCTURES: dict[BlockKind, np.dtype[np.void]] = {
    BlockKind.TEXT: record_layout.TEXT,
    BlockKind.THREAD: record_layout.THREAD,
    BlockKind.LATENCIES: record_layout.LATENCIES,
    BlockKind.SECONDS: record_layout.SECONDS,
    BlockKind.STEPS: record_layout.STEPS,
    BlockKind.FILE: record_layout.FILE,
    BlockKind.OPENED: record_layout.OPENED,
    BlockKind.TRANSFERS: record_layout.TRANSFERS,
    BlockKind.ERRORS: record_layout.ERRORS,
    BlockKind.WATCHED: record_layout.WATCHED,
    BlockKind.REGION: record_layout.REGION,
    BlockKind.MAP: record_layout.MAP,
    BlockKind.RING: record_layout.RING,
    BlockKind.FOLDED: record_layout.FOLDED,
    BlockKind.MODULE: record_layout.MODULE,
    BlockKind.FRAME: record_layout.FRAME,
    BlockKind.STACK: record_layout.STACK,
    BlockKind.CALLER: record_layout.CALLER,
}

_TABLE = np.dtype([("found", FOUND_TABLE), ("header", HEADER)])

Rows = NDArray[Any]
"""An array of one of the structures."""


@dataclass(frozen=True)
class FoundTable:
    """Where a table lies in its file, and its header."""

    number: int
    """Its place among all that were found."""
    file: int
    """The place of the file among those that are read."""
    offset: int
    length: int
    header: Any
    """A row of `HEADER`."""


class TableReader:
    """The engine, which reads files of tables."""

    def __init__(self, process: subprocess.Popen[bytes], errors: IO[bytes], files: Sequence[Path]) -> None:
        self._process = process
        self._errors = errors
        self._request(b"".join(os.fsencode(path) + b"\0" for path in files) + b"\0")

    def headers(self) -> tuple[list[FoundTable], Rows]:
        """The tables in the files, and bytes that are in none, as rows of `LOST_BYTES`, both in the order of the files.
        To be called once.
        """
        lost: list[Rows] = [np.empty(0, LOST_BYTES)]
        found_tables: list[FoundTable] = []
        while (part := self._part()) is not None:
            kind, _, rows, _ = part
            if kind == PartKind.LOST:
                lost.append(np.frombuffer(rows, LOST_BYTES))
            else:
                tables = np.frombuffer(rows, _TABLE)
                places = tables["found"]
                columns = (places[name].tolist() for name in ("file", "offset", "length"))
                found_tables += map(FoundTable, count(len(found_tables)), *columns, tables["header"])
        return found_tables, np.concatenate(lost)

    def tables(self, wanted: Sequence[FoundTable]) -> Iterator[tuple[FoundTable, Table]]:
        """Tables that were found, in this order. One that is there no more is left out. Its header may be later than
        that which was found. To be called once.
        """
        assert self._process.stdin
        self._request(np.array([table.number for table in wanted], "<u4").tobytes())
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        rest = iter(wanted)
        blocks: dict[int, _Blocks] = {}
        while (part := self._part()) is not None:
            kind, tables, rows, content = part
            if kind != PartKind.TABLES:
                blocks[kind] = _Blocks(_STRUCTURES[BlockKind(kind)], tables, rows, content)
                continue
            for number, row in enumerate(np.frombuffer(rows, _TABLE)):
                place = (int(row["found"]["file"]), int(row["found"]["offset"]))
                yield next(table for table in rest if (table.file, table.offset) == place), Table(row, number, blocks)
            blocks = {}

    def _request(self, content: bytes) -> None:
        assert self._process.stdin
        # One that has ended says why.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(content)
            self._process.stdin.flush()

    def _part(self) -> tuple[int, int, bytes, bytes] | None:
        """Kind, tables of the batch, rows and content of the next part; `None` at an end."""
        (head,) = np.frombuffer(self._read(PART.itemsize), PART)
        if head["kind"] == PartKind.END:
            return None
        rows, content = (self._read(int(head[name])) for name in ("row_bytes", "content_bytes"))
        return int(head["kind"]), int(head["tables"]), rows, content

    def _read(self, length: int) -> bytes:
        assert self._process.stdout
        content = self._process.stdout.read(length)
        if len(content) < length:
            raise self._failure()
        return content

    def _failure(self) -> CannotRun:
        self._process.wait()
        self._errors.seek(0)
        errors = self._errors.read().decode(errors="replace").strip()
        return CannotRun(f"The engine could not read the tables: {errors or 'it ended without a word'}", "Try again.")


@contextlib.contextmanager
def open_tables(files: Sequence[Path]) -> Iterator[TableReader]:
    """Has the engine read files of tables. Raises `CannotRun`."""
    with tempfile.TemporaryFile() as errors:
        command = [str(find_engine()), "tables"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors) as process:
            try:
                yield TableReader(process, errors, files)
            finally:
                process.kill()


class _Blocks:
    """The blocks of one kind of all tables of a batch."""

    def __init__(self, structure: np.dtype[np.void], tables: int, rows: bytes, content: bytes) -> None:
        self._rows = np.frombuffer(rows, structure)
        of_rows = len(self._rows)
        numbers = np.frombuffer(content, "<u4", count=tables + 2 * of_rows)
        self._row_ends = np.append(numbers[:tables], np.uint32(0))  # the last is before the first
        self._places = numbers[tables : tables + of_rows]
        begin = numbers.nbytes
        self._content = memoryview(content)[begin:]
        self._content_ends = np.append(np.cumsum(numbers[tables + of_rows :], dtype=np.int64), 0)

    def rows(self, table: int) -> tuple[NDArray[np.int64], Rows]:
        begin, end = self._row_ends[table - 1], self._row_ends[table]
        return self._places[begin:end].astype(np.int64), self._rows[begin:end]

    def content(self, table: int) -> memoryview:
        """What follows the structures of a table's blocks, all together."""
        begin, end = int(self._row_ends[table - 1]), int(self._row_ends[table])
        return self._content[self._content_ends[begin - 1] : self._content_ends[end - 1]]

    def contents(self, table: int) -> list[bytes]:
        """What follows each."""
        begin, end = int(self._row_ends[table - 1]), int(self._row_ends[table])
        ends = self._content_ends[begin:end].tolist()
        begins = [int(self._content_ends[begin - 1]), *ends][: len(ends)]
        return [bytes(self._content[first:last]) for first, last in zip(begins, ends, strict=True)]


class Table:
    """A table."""

    def __init__(self, row: Any, number: int, blocks: dict[int, _Blocks]) -> None:
        self.header = row["header"].copy()
        self.is_damaged = bool(row["found"]["is_damaged"])
        """Its checksums say that some of it is damaged."""
        self.unread_bytes = int(row["found"]["unread_bytes"])
        """In damaged blocks, and behind one that cannot be. Of a table that is being written these may be a block that
        just begins.
        """
        self._at = number
        self._blocks = blocks
        self._rows: dict[BlockKind, tuple[NDArray[np.int64], Rows]] = {}

    def rows(self, kind: BlockKind) -> tuple[NDArray[np.int64], Rows]:
        """The structures of all blocks of a kind, with their places. Fields that an older table lacks are 0.
        Blocks that are too short are left out.
        """
        if kind not in self._rows:
            blocks = self._blocks.get(kind)
            nothing = np.empty(0, np.int64), np.empty(0, _STRUCTURES[kind])
            self._rows[kind] = blocks.rows(self._at) if blocks else nothing
        return self._rows[kind]

    def after(self, kind: BlockKind) -> list[bytes]:
        """The bytes that belong to each block of `rows` and follow its structure."""
        blocks = self._blocks.get(kind)
        return blocks.contents(self._at) if blocks else []

    @cached_property
    def texts(self) -> dict[int, str]:
        """The texts of a table by `TextKind`; of several of a kind the last."""
        _, texts = self.rows(BlockKind.TEXT)
        return {
            kind: content.decode(errors="replace")
            for kind, content in zip(texts["kind"].tolist(), self.after(BlockKind.TEXT), strict=True)
        }

    def seconds(self) -> Rows:
        """All rows of seconds that are in use."""
        return self._rows_of(BlockKind.SECONDS)

    def steps(self) -> Rows:
        """All rows of steps that are in use: `SECOND`."""
        return self._rows_of(BlockKind.STEPS)

    def _rows_of(self, kind: BlockKind) -> Rows:
        blocks = self._blocks.get(kind)
        return np.frombuffer(blocks.content(self._at) if blocks else b"", SECOND)


def find_places(places: NDArray[np.int64], wanted: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool]]:
    """Where each of `wanted` is among `places`, which ascend, and whether it is there at all."""
    if not len(places):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool)
    index = np.minimum(np.searchsorted(places, wanted.astype(np.int64)), len(places) - 1)
    return index, places[index] == wanted

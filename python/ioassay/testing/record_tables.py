"""Makes tables as a recorder writes them, from what a process did: for tests, and to measure what reading costs.

Not: a recorder. Real tables come from `crates/recorder`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ioassay.protocol import record_layout
from ioassay.protocol.record_layout import (
    ALIGNMENT,
    FIRST_TRANSFER,
    LATENCY_BEGINS_TICKS,
    MAGIC,
    MOST_OPERATIONS,
    OPERATIONS,
    SIZE_BEGINS_BYTES,
    STEPS_PER_SECOND,
    TOTALS,
    VERSION,
    BlockKind,
    Clock,
    FileKind,
    MapAccess,
    State,
    TextKind,
)
from ioassay.store.kinds import RECORD
from ioassay.testing.builder import environment
from ioassay.version import __version__

BEGIN_NS = 1_764_000_000 * 10**9
"""When made-up processes begin, if nothing else is given."""

_NODE = "node1"
_CHUNK_BYTES = 4096
"""The part of tables with a checksum of its own."""


class TableBuilder:
    """One image of a process. Its clock has ticks of `tick_ns`; the methods take nanoseconds and seconds."""

    def __init__(
        self,
        pid: int = 100,
        *,
        node: str = _NODE,
        command: Sequence[str] = ("app",),
        begin_ns: int = BEGIN_NS,
        end_ns: int = BEGIN_NS + 10 * 10**9,
        state: State = State.EXITED,
        clock: Clock = Clock.COUNTER,
        tick_ns: float = 0.5,
        job: Mapping[str, str] | None = None,
        directory: str = "/work",
        **header: int,
    ) -> None:
        self._blocks: list[bytes] = []
        self._size = record_layout.HEADER.itemsize
        self._seconds: list[np.ndarray[Any, Any]] = []
        self._steps: list[np.ndarray[Any, Any]] = []
        self.pid, self.begin_ns, self.tick_ns, self._first_ticks = pid, begin_ns, tick_ns, 10**9
        self._header = np.zeros(1, record_layout.HEADER)
        values = {
            "magic": np.frombuffer(MAGIC, np.uint8),
            "version": VERSION,
            "header_bytes": record_layout.HEADER.itemsize,
            "state": state,
            "clock": clock,
            "process": pid,
            "parent": 1,
            "user": 1000,
            "begin_ticks": self._first_ticks,
            "begin_ns": begin_ns,
            "latest_ticks": self.ticks(end_ns),
            "latest_ns": end_ns,
        }
        for name, value in (values | header).items():
            self._header[name] = value
        self.text(TextKind.COMMAND, "".join(f"{word}\0" for word in command))
        self.text(TextKind.EXECUTABLE, f"/usr/bin/{command[0]}")
        self.text(TextKind.DIRECTORY, directory)
        self.text(TextKind.NODE, node)
        if job:
            self.text(TextKind.JOB, "".join(f"{name}={value}\0" for name, value in job.items()))

    def set_state(self, state: State) -> None:
        """How it ended is something else."""
        self._header["state"] = state

    def ticks(self, unix_ns: int) -> int:
        """The moment on its clock."""
        return self._first_ticks + round((unix_ns - self.begin_ns) / self.tick_ns)

    def text(self, kind: TextKind, text: str) -> None:
        """Adds a text."""
        content = text.encode()
        self._add(BlockKind.TEXT, record_layout.TEXT, {"kind": kind, "text_bytes": len(content)}, content)

    def second(self, operation: str, second: int, calls: int, **amounts: int) -> None:
        """Adds a row for the second that begins so many seconds after the process. `amounts`: moved, ns, slowest_ns;
        and width, of a wider row.
        """
        self._seconds.append(self._row(operation, self.begin_ns // 10**9 + second, calls, **amounts))

    def step(self, operation: str, step: int, calls: int, **amounts: int) -> None:
        """Adds a row for the step that begins so many of the shortest ones after the second of the process. `amounts`
        as of `second`.
        """
        self._header["keeps_steps"] = 1
        self._steps.append(self._row(operation, STEPS_PER_SECOND + step, calls, **amounts))

    def _row(
        self,
        operation: str,
        begin: int,
        calls: int,
        *,
        moved: int = 0,
        ns: int = 0,
        slowest_ns: int = 0,
        width: int = 0,
    ) -> np.ndarray[Any, Any]:
        row = np.zeros(1, record_layout.SECOND)
        row["second"] = begin
        row["operation"], row["width"] = OPERATIONS.index(operation), width
        row["calls"], row["bytes"] = calls, moved
        row["ticks"], row["slowest_ticks"] = round(ns / self.tick_ns), round(slowest_ns / self.tick_ns)
        return row

    def seconds(self, rows: np.ndarray[Any, Any]) -> None:
        """Adds rows of `record_layout.SECOND` as they are."""
        self._seconds.append(rows)

    def thread(
        self,
        thread: int = 100,
        *,
        current: Mapping[str, tuple[int, int, int, int]] | None = None,
        second: int = 0,
        step: int | None = None,
        in_flight: tuple[str, int, int] | None = None,
        kernel: Sequence[int] | None = None,
        storage: Sequence[int] | None = None,
    ) -> int:
        """Adds a thread. `current`: calls, bytes, ns, slowest ns of the second or step that is not over; `in_flight`:
        operation, place of the file, since when; `kernel` and `storage`: what the kernel counted of it. Returns its
        place.
        """
        totals = np.zeros((MOST_OPERATIONS, len(TOTALS)), np.uint64)
        for name, (calls, moved, ns, slowest_ns) in (current or {}).items():
            ticks = (round(ns / self.tick_ns), round(slowest_ns / self.tick_ns))
            totals[OPERATIONS.index(name)] = (calls, moved, *ticks)
        fields: dict[str, Any] = {"thread": thread, "totals": totals.ravel()}
        fields["second"] = self.begin_ns // 10**9 + second
        fields["step"] = 0 if step is None else STEPS_PER_SECOND + step
        if in_flight:
            operation, place, since_ns = in_flight
            fields["in_flight"] = (OPERATIONS.index(operation) + 1) << 32 | place
            fields["in_flight_since_ticks"] = self.ticks(since_ns)
        if kernel is not None:
            fields["kernel"] = kernel
        if storage is not None:
            fields["storage"] = storage
        return self._add(BlockKind.THREAD, record_layout.THREAD, fields)

    def file(
        self,
        path: str,
        calls: Mapping[str, int] | None = None,
        failed: Mapping[str, int] | None = None,
        *,
        kind: FileKind = FileKind.REGULAR,
        ns: int = 0,
        inode: int = 0,
        device: int = 8,
        birth_ns: int = 0,
        generation: int = 0,
        replaced: int = 0,
        size: int = 0,
        block: int = 4096,
        open_flags: int = 0,
        opened_ns: int | None = None,
        closed_ns: int | None = None,
        errno: int = 0,
    ) -> int:
        """Adds a name, with calls that move no bytes; with `inode` also what is known since it was opened."""
        opened = 0
        if inode:
            fields: dict[str, Any] = {"device": device, "inode": inode, "size_bytes": size, "block_bytes": block}
            fields |= {"birth_ns": birth_ns, "generation": generation, "replaced": replaced}
            fields["open_flags"] = open_flags
            fields["first_open_ticks"] = self.ticks(self.begin_ns if opened_ns is None else opened_ns)
            fields["last_close_ticks"] = 0 if closed_ns is None else self.ticks(closed_ns)
            opened = self._add(BlockKind.OPENED, record_layout.OPENED, fields)
        name = path.encode()
        fields = {"opened": opened, "name_bytes": len(name), "kind": kind, "ticks": round(ns / self.tick_ns)}
        for column, counts in (("calls", calls), ("failed", failed)):
            fields[column] = np.zeros(FIRST_TRANSFER, np.uint32)
            for operation, count in (counts or {}).items():
                fields[column][OPERATIONS.index(operation)] = count
        return self._add(BlockKind.FILE, record_layout.FILE, fields | {"error": errno}, name)

    def others(self, directory: str, calls: Mapping[str, int], names: int) -> int:
        """Adds a row of so many files of a directory. Returns its place."""
        hashes = np.random.default_rng(1).integers(0, 1 << 63, names, dtype=np.uint64) * np.uint64(2)
        registers = np.zeros(record_layout.FOLDED["registers"].shape[0], np.uint8)
        rest = (hashes << np.uint64(10) | np.uint64(512)).astype(np.float64)
        np.maximum.at(registers, (hashes >> np.uint64(54)).astype(int), (64 - np.floor(np.log2(rest))).astype(np.uint8))
        sketch = self._add(BlockKind.FOLDED, record_layout.FOLDED, {"registers": registers})
        name = directory.encode()
        counts = np.zeros(FIRST_TRANSFER, np.uint32)
        for operation, count in calls.items():
            counts[OPERATIONS.index(operation)] = count
        self._header["folded_calls"] += sum(calls.values())
        fields = {"name_bytes": len(name), "kind": FileKind.OTHERS, "calls": counts, "folded": sketch}
        return self._add(BlockKind.FILE, record_layout.FILE, fields, name)

    def transfers(
        self, file: int, operation: str, sizes: Mapping[int, int], *, ns: int = 0, slowest_ns: int = 0, **fields: int
    ) -> None:
        """Adds transfers on the file at a place: calls by size in bytes. `fields` are those of the structure."""
        common, buckets = np.zeros((2, 4), np.uint64), np.zeros(len(SIZE_BEGINS_BYTES), np.uint64)
        for index, (size, calls) in enumerate(sizes.items()):
            common[:, index] = (size, calls)
            buckets[np.searchsorted(SIZE_BEGINS_BYTES, size, side="right") - 1] += calls
        moved = sum(size * calls for size, calls in sizes.items())
        values: dict[str, Any] = {"file": file, "operation": OPERATIONS.index(operation)}
        values |= {"calls": sum(sizes.values()), "bytes": moved, "begin": 0, "end": moved}
        values |= {"ticks": round(ns / self.tick_ns), "slowest_ticks": round(slowest_ns / self.tick_ns)}
        values |= {"sizes": buckets, "common_bytes": common[0], "common_calls": common[1]}
        self._add(BlockKind.TRANSFERS, record_layout.TRANSFERS, values | fields)

    def map(
        self, file: int, access: MapAccess, *, first_ns: int, last_end_ns: int | None = None, **fields: int
    ) -> None:
        """Adds maps of the file at a place, which are still there unless they ended. `fields` are those of the
        structure.
        """
        values: dict[str, Any] = {"file": file, "access": access, "maps": 1, "open": int(last_end_ns is None)}
        values |= {"first_ticks": self.ticks(first_ns)}
        values |= {"last_end_ticks": 0 if last_end_ns is None else self.ticks(last_end_ns)}
        self._add(BlockKind.MAP, record_layout.MAP, values | fields)

    def latencies(self, operation: str, calls: Mapping[int, int]) -> None:
        """Adds latencies: calls by nanoseconds."""
        buckets = np.zeros(len(LATENCY_BEGINS_TICKS), np.uint64)
        for ns, count in calls.items():
            buckets[np.searchsorted(LATENCY_BEGINS_TICKS, round(ns / self.tick_ns), side="right") - 1] += count
        fields = {"operation": OPERATIONS.index(operation), "calls": buckets}
        self._add(BlockKind.LATENCIES, record_layout.LATENCIES, fields)

    def errors(self, calls: Mapping[tuple[str, int], int]) -> None:
        """Adds failures: calls by operation and errno."""
        kinds, counts = np.zeros((2, 120), np.uint32)
        for index, ((operation, errno), count) in enumerate(calls.items()):
            kinds[index], counts[index] = (OPERATIONS.index(operation) + 1) << 16 | errno, count
        self._add(BlockKind.ERRORS, record_layout.ERRORS, {"kinds": kinds, "calls": counts})

    def ring(self, *, requests: int, unread: int, flags: int = 0, unreadable: int = 0) -> None:
        """Adds a ring of io_uring: its requests, those that could not be read, and why."""
        fields = {"requests": requests, "unread": unread, "flags": flags, "unreadable": unreadable}
        self._add(BlockKind.RING, record_layout.RING, fields)

    def build(self) -> bytes:
        """The table."""
        for kind, layout, rows in (
            (BlockKind.SECONDS, record_layout.SECONDS, self._seconds),
            (BlockKind.STEPS, record_layout.STEPS, self._steps),
        ):
            if rows:
                self._add(kind, layout, {"rows": len(np.concatenate(rows))}, np.concatenate(rows).tobytes())
                rows.clear()
        self._header["used_bytes"] = self._size
        return b"".join([self._header.tobytes(), *self._blocks])

    def _add(self, kind: BlockKind, layout: np.dtype[np.void], fields: Mapping[str, Any], after: bytes = b"") -> int:
        block = np.zeros(1, layout)
        for name, value in fields.items():
            block[name] = value
        after += bytes(-len(after) % ALIGNMENT)
        block["kind_and_bytes"] = kind << 32 | layout.itemsize + len(after)
        place = self._size
        self._blocks += [block.tobytes(), after]
        self._size += layout.itemsize + len(after)
        return place


def joined(tables: Iterable[TableBuilder]) -> bytes:
    """A file of tables."""
    return b"".join(table.build() for table in tables)


def checksums(tables: Sequence[bytes]) -> bytes:
    """The checksums of a file of these tables, as `ioassay record` writes them."""
    content = b"".join(tables)
    chunks = np.zeros(-(-len(content) // _CHUNK_BYTES), record_layout.CHUNK_CHECKSUM)
    chunks["crc32"] = [zlib.crc32(content[index * _CHUNK_BYTES :][:_CHUNK_BYTES]) for index in range(len(chunks))]
    chunks["first_block"] = record_layout.NO_BLOCK
    begin = 0
    for table in tables:
        place = record_layout.HEADER.itemsize
        while place < len(table):
            chunk, within = divmod(begin + place, _CHUNK_BYTES)
            chunks["first_block"][chunk] = min(chunks["first_block"][chunk], within)
            place += int.from_bytes(table[place : place + 4], "little")
        begin += len(table)
    head = np.zeros(1, record_layout.CHECKSUMS)
    head["magic"] = np.frombuffer(record_layout.CHECKSUMS_MAGIC, np.uint8)
    head["version"], head["chunk_bytes"], head["bytes"] = record_layout.CHECKSUMS_VERSION, _CHUNK_BYTES, len(content)
    every = head.tobytes() + chunks.tobytes()
    return every + zlib.crc32(every).to_bytes(4, "little")


def store_record(path: Path, *tables: TableBuilder, **document: Any) -> Path:
    """Makes a record directory with these tables. `document` has fields of its document that are to be others."""
    path.mkdir(parents=True)
    (path / f"{_NODE}.tables").write_bytes(joined(tables))
    values: dict[str, Any] = {
        "kind": RECORD.name,
        "version": RECORD.version,
        "record": path.name,
        "state": "complete",
        "started": "2025-11-24T16:00:00+00:00",
        "command": ["app", "--input", "data"],
        "host": _NODE,
        "environment": environment(_NODE),
        "ioassay_version": __version__,
        "ended": "2025-11-24T16:00:10+00:00",
        "exit_status": 0,
    }
    (path / RECORD.document).write_text(json.dumps(values | document, indent=2))
    return path

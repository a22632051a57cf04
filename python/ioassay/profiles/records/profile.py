"""All tables of some records become one profile, table after table.

First the headers are read: which tables there are, which are one process, when all began and ended. Then each table is
read and added up.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ioassay.errors import UsageError
from ioassay.profiles.model import (
    ERRORS,
    IN_FLIGHT,
    LATENCIES,
    Loss,
    ProcessState,
    Profile,
)
from ioassay.profiles.records.callers import Callers, Symbols, read_symbols, unknown_stacks
from ioassay.profiles.records.directory import Record, RecordFile, open_record
from ioassay.profiles.records.files import Files, folded
from ioassay.profiles.records.grouped import GroupedRows, whole
from ioassay.profiles.records.maps import Maps
from ioassay.profiles.records.processes import Image, Processes, current, measure_ticks, number
from ioassay.profiles.records.regions import Regions
from ioassay.profiles.records.rings import Rings
from ioassay.profiles.records.tables import Table, TableReader, open_tables
from ioassay.profiles.records.timelines import Timelines
from ioassay.protocol.record_layout import LATENCY_BEGINS_TICKS, OPERATIONS, VERSION, BlockKind, LossCause, State

_MOST_GROWTH_NS = 120 * 10**9
"""What processes that run may go on while all tables are read."""

_COUNT_DIGITS = 2
"""Of the number of files in rows of many: it is known to 3 %."""

_RATE_DIGITS = 3
"""Clocks whose ticks agree so far share buckets of latencies."""


def load_profile(paths: Sequence[Path]) -> Profile:
    """The profile of all records together. Raises `UsageError` where there is no table to read."""
    records = [open_record(path) for path in paths]
    files = [file for record in records for file in record.files]
    for file in files:
        file.require_readable()
    with open_tables([file.path for file in files]) as reader:
        return _Reading(records, files, reader).profile()


class _Reading:
    """What is known so far."""

    def __init__(self, records: Sequence[Record], files: Sequence[RecordFile], reader: TableReader) -> None:
        self._records = records
        self._files = files
        self._reader = reader
        self._losses = list(_losses_of_documents(records))
        self._versions: set[int] = set()
        tables, lost = reader.headers()
        for row in lost:
            self._lose(LossCause(int(row["cause"])), int(row["length"]), row)
        record_of = [number for number, record in enumerate(records) for _ in record.files]
        self._images = current(Image(record_of[table.file], table) for table in tables)
        if not self._images:
            raise self._nothing()
        self._refuse_same()
        for _, images in groupby(self._images, key=lambda image: image.record):
            measure_ticks(list(images))
        self._count = number(self._images)
        self._begin_ns = min(image.begin_ns for image in self._images)
        end_ns = max(image.end_ns for image in self._images)
        self._processes = Processes()
        growing_ns = _MOST_GROWTH_NS if any(image.state == State.RUNNING for image in self._images) else 0
        self._timelines = Timelines(
            self._begin_ns,
            end_ns,
            self._count,
            growing_ns=growing_ns,
            has_steps=any(image.table.header["keeps_steps"] for image in self._images),
        )
        self._file_rows = Files()
        self._regions = Regions()
        self._maps = Maps()
        self._rings = Rings()
        self._callers = Callers()
        self._symbols: dict[int, Symbols] = {}
        """Of files of tables."""
        self._latencies: dict[float, np.ndarray[tuple[int, int], np.dtype[np.float64]]] = {}
        key = {"operation": pl.Int64, "errno": pl.Int64}
        self._errors = GroupedRows(key | {"calls": pl.Float64}, list(key))
        self._in_flight: list[tuple[int, int, str, int, int, ProcessState]] = []

    def _refuse_same(self) -> None:
        """Raises `UsageError` where two records have the same process: everything in it would count twice."""
        first_record: dict[tuple[int, int, int, int], int] = {}
        for image in self._images:
            header = image.table.header
            key = (image.pid, int(header["parent"]), image.begin_ns, int(header["begin_ticks"]))
            first = first_record.setdefault(key, image.record)
            if first != image.record:
                both = " and ".join(str(self._records[number].path) for number in (first, image.record))
                raise UsageError(
                    f"{both} are the same record, or one of them is a part or a copy.", "Name one of them."
                )

    def profile(self) -> Profile:
        """The profile of all tables."""
        images = {image.table.number: image for image in self._images}
        for table_found, table in self._reader.tables([image.table for image in self._images]):
            image = images[table_found.number]
            image.table = replace(table_found, header=table.header)
            self._add(image, table)
        is_running = any(record.is_running for record in self._records)
        processes = self._processes.frame(is_running, self._file_rows.spent(self._count))
        named = [record.document["command"] for record in self._records if record.document]
        commands = [shlex.join(command) for command in named] or processes["command"].to_list()[:1]
        origin_ns = self._timelines.origin_ns
        files = self._file_rows.frames(origin_ns)
        return Profile(
            source="record",
            names=tuple(str(record.path) for record in self._records),
            commands=tuple(dict.fromkeys(commands)),
            is_running=is_running,
            begin_unix_ns=self._begin_ns,
            end_unix_ns=max(image.end_ns for image in self._images),
            origin_unix_ns=origin_ns,
            timeline_step_s=self._timelines.step_s,
            heat_step_s=self._timelines.heat_step_s,
            processes=processes,
            process_operations=self._timelines.process_operations(),
            timeline=self._timelines.timeline(),
            heat=self._timelines.heat(),
            **files.frames,
            maps=self._maps.frame(origin_ns, files.of_entries),
            latencies=self._latency_frame(),
            errors=_errors(self._errors.frame()),
            in_flight=self._in_flight_frame(),
            losses=(*self._losses, *self._rings.losses(processes), *self._escaped()),
            unknown=(),
            supplements=(),
            uncounted=frozenset(),
            **self._regions.frames(origin_ns),
            **self._callers.frames(files.of_entries),
        )

    def _symbols_of(self, file: int) -> Symbols:
        """The names of functions in the stacks of a file of tables."""
        if file not in self._symbols:
            self._symbols[file], damaged = read_symbols(self._files[file].read_symbols() or b"")
            if damaged:
                reason = "lines of it are damaged: the functions that they name are addresses here"
                self._losses.append(Loss("damaged-bytes", damaged, str(self._files[file].symbols_path), reason))
        return self._symbols[file]

    def _lose(self, cause: LossCause, length: int, lost: Any) -> None:
        """`lost` is a row of `LOST_BYTES`."""
        file = self._files[int(lost["file"])]
        match cause:
            case LossCause.OTHER_VERSION:
                version = int(lost["version"])
                self._versions.add(version)
                reason = f"version {version}; this ioassay reads version {VERSION}"
                self._losses.append(Loss("foreign-tables", 1, str(file.path), reason))
            case LossCause.DAMAGED_CHECKSUMS:
                reason = "the checksums themselves are damaged, so that the tables were not verified"
                self._losses.append(Loss("damaged-bytes", length, str(file.checksums_path), reason))
            case LossCause.MISSING_END:
                self._losses.append(Loss("damaged-bytes", length, str(file.path), "the end is missing"))
            case LossCause.DAMAGED:
                self._losses.append(Loss("damaged-bytes", length, f"{file.path}, from byte {int(lost['offset'])}"))

    def _nothing(self) -> UsageError:
        names = ", ".join(str(record.path) for record in self._records)
        if self._versions:
            versions = " and ".join(map(str, sorted(self._versions)))
            return UsageError(
                f"The tables of {names} have version {versions}; this ioassay reads version {VERSION}.",
                "Use the ioassay that recorded them, or record again.",
            )
        if any(loss.kind == "damaged-bytes" for loss in self._losses):
            return UsageError(f"The tables of {names} are damaged: none can be read.", "Restore them from a copy.")
        if lost := sum(record.document.get("lost_tables", 0) for record in self._records if record.document):
            of = "1 process" if lost == 1 else f"{lost} processes"
            return UsageError(
                f"{names} has no table: those of {of} could not be kept.",
                "Record again, and leave the directory of the tables alone meanwhile; it needs space on its disk.",
            )
        return UsageError(
            f"{names} has no table: no process was recorded.",
            "Record a dynamically linked program, or use --via ptrace.",
        )

    def _add(self, image: Image, table: Table) -> None:
        document = self._records[image.record].document
        node = document["host"] if document else ""
        self._processes.add(image, table, node)
        where = f"{self._files[image.table.file].path}, process {image.pid}"
        header = image.table.header
        for kind, amount in (
            ("rows-outside", self._timelines.add(image, table)),
            ("damaged-bytes", table.unread_bytes if image.state != State.RUNNING or table.is_damaged else 0),
            ("lost-calls", int(header["lost_calls"])),
            ("handler-calls", int(header["handler_calls"])),
            ("untraced-calls", int(header["untraced_calls"])),
            ("lost-regions", int(header["lost_regions"])),
            ("stackless-calls", int(header["stackless_calls"])),
            ("held-back-ns", round(int(header["throttled_ticks"]) * image.ns_per_tick)),
        ):
            if amount:
                self._losses.append(Loss(kind, amount, where))  # type: ignore[arg-type]
        self._rings.add(image, table, where)
        if why := unknown_stacks(header):
            self._losses.append(Loss("unreadable-stacks", 1, where, why))
        if header["folded_calls"]:
            calls, count = folded(table)
            about = f": about {int(float(f'{count:.{_COUNT_DIGITS - 1}e}')):,} files" if count else ""
            self._losses.append(Loss("folded-calls", max(calls, int(header["folded_calls"])), where + about))
        entries = self._file_rows.add(image, table, node)
        self._regions.add(image, table)
        self._maps.add(image, table, entries)
        self._callers.add(image, table, entries, lambda: self._symbols_of(image.table.file))
        self._add_latencies(image, table)
        self._add_errors(table)
        if image.state == State.RUNNING:
            self._add_in_flight(image, table, entries)

    def _add_latencies(self, image: Image, table: Table) -> None:
        _, rows = table.rows(BlockKind.LATENCIES)
        rows = rows[rows["operation"] < len(OPERATIONS)]
        if len(rows):
            length = float(f"{image.ns_per_tick:.{_RATE_DIGITS - 1}e}")
            shape = (len(OPERATIONS), len(LATENCY_BEGINS_TICKS))
            grid = self._latencies.setdefault(length, np.zeros(shape))
            np.add.at(grid, rows["operation"], rows["calls"].astype(np.float64))

    def _latency_frame(self) -> pl.DataFrame:
        begins = np.array(LATENCY_BEGINS_TICKS, dtype=np.float64)
        ends = np.append(begins[1:], np.nan)
        parts = [LATENCIES.to_frame()]
        for length, grid in sorted(self._latencies.items()):
            operation, bucket = np.nonzero(grid)
            columns = {
                "operation": np.array(OPERATIONS)[operation],
                "begin_ns": begins[bucket] * length,
                "end_ns": ends[bucket] * length,
                "calls": np.clip(grid[operation, bucket], 0, 2.0**62).astype(np.int64),
            }
            parts.append(pl.DataFrame(columns, schema=LATENCIES, nan_to_null=True))
        order = pl.col("operation").cast(pl.Enum(OPERATIONS))
        return pl.concat(parts).sort(order, "begin_ns")

    def _add_errors(self, table: Table) -> None:
        _, blocks = table.rows(BlockKind.ERRORS)
        kinds, calls = blocks["kinds"].ravel(), blocks["calls"].ravel()
        operation = (kinds >> 16).astype(np.int64) - 1
        known = (operation >= 0) & (operation < len(OPERATIONS)) & (calls > 0)
        columns = {"operation": operation[known], "errno": kinds[known] & 0xFFFF, "calls": calls[known]}
        self._errors.add(columns)

    def _add_in_flight(self, image: Image, table: Table, entries: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        places, _ = table.rows(BlockKind.FILE)
        by_place = dict(zip(places.tolist(), entries.tolist(), strict=True))
        _, threads = table.rows(BlockKind.THREAD)
        state: ProcessState = "running" if self._records[image.record].is_running else "killed"
        for thread in threads[threads["in_flight"] != 0]:
            word = int(thread["in_flight"])
            operation, entry = (word >> 32) - 1, by_place.get(word & 0xFFFF_FFFF)
            if 0 <= operation < len(OPERATIONS):
                since = image.unix_ns(int(thread["in_flight_since_ticks"]))
                entry = -1 if entry is None else entry
                row = (image.process, int(thread["thread"]), OPERATIONS[operation], entry, since, state)
                self._in_flight.append(row)

    def _in_flight_frame(self) -> pl.DataFrame:
        paths = self._file_rows.paths()
        rows = [
            (process, thread, operation, paths[entry] if entry >= 0 else None, min(max(since, 0), 2**62), state)
            for process, thread, operation, entry, since, state in self._in_flight
        ]
        return pl.DataFrame(rows, schema=IN_FLIGHT, orient="row").sort("since_unix_ns", "process", "thread")

    def _escaped(self) -> Iterator[Loss]:
        """Processes that went on as a program without a table, where the document does not name them."""
        named = {
            escape["pid"]
            for record in self._records
            if record.document
            for escape in record.document.get("escaped", ())
        }
        for pid, program in self._processes.escaped():
            if pid not in named:
                yield Loss("escaped", 1, f"process {pid}", f"{program or 'a program'} was not recorded")


def _losses_of_documents(records: Sequence[Record]) -> Iterator[Loss]:
    for record in records:
        document = record.document
        if document is None:
            continue
        for escape in document.get("escaped", ()):
            yield Loss("escaped", 1, f"process {escape['pid']}", f"{escape['path']}: {escape['reason']}")
        for pid in document.get("still_running", ()):
            yield Loss("still-running", 1, f"process {pid}")
        if lost := document.get("lost_tables"):
            yield Loss("lost-tables", lost, str(record.path))
        is_left = document["state"] == "incomplete" or record.was_killed
        # A user may have moved them by hand.
        if is_left and (record.has_live_tables or not record.files):
            why = "the recording was killed" if record.was_killed else document.get("reason")
            complete = f"are still in {document.get('tables')} (to move them: ioassay-engine complete {record.path})"
            there = complete if record.has_live_tables else f"were, and cannot be found, in {document.get('tables')}"
            yield Loss("partial", 1, str(record.path), f"{why}; the tables {there}")


def _errors(rows: pl.DataFrame) -> pl.DataFrame:
    words = pl.lit(pl.Series(OPERATIONS)).gather("operation")
    return rows.select(words.alias("operation"), "errno", whole("calls")).cast(ERRORS)

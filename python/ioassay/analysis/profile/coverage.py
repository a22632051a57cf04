"""How much of the I/O the profile covers: the kernel's counters against calls and maps.

The kernel counts bytes of all read and write calls (`/proc/PID/io`: rchar, wchar). The recorder misses calls inside the
C library, direct system calls, and reads before the recorder is loaded: the kernel and the loader read the headers of a
program and of each library. Streams read more than the program requests, because the library reads whole buffers. Maps
and rings of io_uring are not in these counters. The kernel also counts traffic with storage (`read_bytes`,
`write_bytes`), in pages, with read-ahead and the loader: only the part that neither calls nor maps explain shows a ring
that is set up and entered without the C library.

Every difference is reported in bytes; differences above what loading and streams explain are doubts. All I/O that was
not recorded is a `Loss` (`Coverage.losses`), together with those that the source itself reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import polars as pl

from ioassay.analysis.profile.maps import HIDES_CALLS, Maps, Range, storage_of_processes
from ioassay.analysis.profile.maps import maps as of_maps
from ioassay.analysis.profile.totals import known_total, on_storage
from ioassay.profiles.model import DIRECTION, ELSEWHERE, Loss, LossKind, Profile

Way = Literal["read", "write"]

WAYS: tuple[Way, ...] = ("read", "write")

LOADING_BYTES = 64 << 10
"""The most bytes that loading reads for each program that a process ran: 832 bytes of each library, locales and the
list of users. dd has 8 KiB, CPython 11 KiB.
"""

_BUFFER_BYTES = 4096
"""A stream's buffer, unless the file system asks for a larger one (`st_blksize`)."""

_TABLE_BYTES = 64 << 10
"""Bytes that the recorder writes to begin a table in a child process, which the kernel counts after an `exec`."""

_LOADED_BYTES = 256 << 20
"""Unexplained reads of a process from storage that are normal: its program, libraries, read-ahead."""

_FOLIO_BYTES = 2 << 20
"""The most that a call dirties in the page cache by writing a byte: a large folio."""

_METADATA_BYTES = 64 << 10
"""The most that any other call dirties, such as one that creates a file."""

_DOUBTFUL_BYTES = 64 << 10
"""Unexplained bytes up to this are reported, but no doubt."""

Cause = Literal["loading programs", "buffers of streams", "tables of the recorder", "bypassed the recorder"]
"""The explanation of bytes that the kernel counted beyond those of calls."""


@dataclass(frozen=True)
class Shortfall:
    """A process for which the kernel counted more bytes in a direction than its calls moved."""

    process: int
    pid: int | None
    direction: Way
    kernel_bytes: int
    recorded_bytes: int
    cause: Cause

    @property
    def missing_bytes(self) -> int:
        """Bytes that the kernel counted, but no recorded call moved."""
        return self.kernel_bytes - self.recorded_bytes


@dataclass(frozen=True)
class CounterSums:
    """Sums of all compared processes, in a direction."""

    kernel_bytes: int
    recorded_bytes: int
    missing_bytes: int
    """Bytes that the kernel counted but no call moved, summed over processes with such bytes."""
    excess_bytes: int
    """Bytes of calls that the kernel did not count, such as of splice, summed over processes with such bytes."""


@dataclass(frozen=True)
class StorageTraffic:
    """Traffic with storage by the kernel's counters, of processes for which it is known."""

    read_bytes: int
    written_bytes: int
    cancelled_bytes: int
    """Written bytes that were removed before they reached the storage."""
    unexplained_read_bytes: int
    """Bytes beyond those of calls and maps: loading programs, read-ahead, directories."""


@dataclass(frozen=True)
class Coverage:
    """How complete the profile is."""

    read: CounterSums
    write: CounterSums
    shortfalls: tuple[Shortfall, ...]
    """Every difference, the largest first."""
    compared: int
    """The number of compared processes."""
    unknown: int
    """Processes with unknown kernel counters, such as killed ones."""
    storage: StorageTraffic | None
    """`None`: unknown."""
    mapped_read: Range
    mapped_write: Range
    losses: tuple[Loss, ...]
    """I/O that was not recorded, beginning with losses that the source reports."""

    def of(self, way: Way) -> CounterSums:
        return self.read if way == "read" else self.write

    def mapped(self, way: Way) -> Range:
        """Bytes that maps moved in a direction."""
        return self.mapped_read if way == "read" else self.mapped_write

    @cached_property
    def doubts(self) -> tuple[Shortfall, ...]:
        """Large differences without an explanation."""
        return tuple(
            shortfall
            for shortfall in self.shortfalls
            if shortfall.cause == "bypassed the recorder" and shortfall.missing_bytes > _DOUBTFUL_BYTES
        )


def coverage(profile: Profile, mapped: Maps | None = None) -> Coverage:
    """The coverage of a profile. `mapped` is the result of `maps.maps`, if known already."""
    maps = of_maps(profile) if mapped is None else mapped
    rows = _compared(profile)
    shortfalls = [shortfall for way in WAYS for shortfall in _shortfalls(rows, way)]
    shortfalls.sort(key=lambda shortfall: (-shortfall.missing_bytes, shortfall.process))
    unknown = profile.processes.height - rows.height
    unexplained = _unexplained_storage(profile, maps)
    return Coverage(
        read=_sum(rows, "read"),
        write=_sum(rows, "write"),
        shortfalls=tuple(shortfalls),
        compared=rows.height,
        unknown=unknown,
        storage=_storage(profile, unexplained),
        mapped_read=maps.total("read"),
        mapped_write=maps.total("write"),
        losses=(*profile.losses, *_unseen(profile, shortfalls, maps, unexplained)),
    )


_KERNEL = {"read": "kernel_read_bytes", "write": "kernel_written_bytes"}


def _compared(profile: Profile) -> pl.DataFrame:
    """process, pid, images, kernel and recorded bytes of each direction, and stream_bytes: the most bytes that the
    buffers of its streams may have read beyond its requests.
    """
    known = profile.processes.filter(pl.col("kernel_read_bytes").is_not_null()).select(
        "process", "pid", "images", *(pl.col(name).alias(f"kernel_{way}") for way, name in _KERNEL.items())
    )
    if known.is_empty():
        return known.with_columns(recorded_read=0, recorded_write=0, stream_calls=0, stream_bytes=0)
    direction = pl.col("operation").replace_strict({**DIRECTION, **ELSEWHERE}, default=None, return_dtype=pl.String)
    # The kernel counts submitted I/O for the process that executes it.
    counted = profile.process_operations.filter(~pl.col("operation").str.starts_with("submit"))
    moved = counted.group_by("process").agg(
        *(pl.col("bytes").filter(direction == way).sum().alias(f"recorded_{way}") for way in WAYS),
        stream_calls=pl.col("calls").filter(pl.col("operation").is_in(("stream read", "stream seek"))).sum(),
    )
    blocks = on_storage(profile).filter(pl.col("operation") == "stream read")["block_bytes"]
    buffer = max(_BUFFER_BYTES, known_total([blocks.max()]) or 0)  # type: ignore[list-item]
    return (
        known.join(moved, on="process", how="left")
        .with_columns(pl.col("^recorded_.*$", "stream_calls").fill_null(0))
        .with_columns(stream_bytes=pl.col("stream_calls") * buffer)
    )


def _shortfalls(rows: pl.DataFrame, way: Way) -> Iterator[Shortfall]:
    if rows.is_empty():
        return
    kernel, recorded = pl.col(f"kernel_{way}"), pl.col(f"recorded_{way}")
    images, missing = pl.col("images").fill_null(1).clip(1), kernel - recorded
    if way == "read":
        loading = LOADING_BYTES * images
        streams = _cause(
            missing <= loading + pl.col("stream_bytes"), "buffers of streams", pl.lit("bypassed the recorder")
        )
        cause = _cause(missing <= loading, "loading programs", streams)
    else:
        cause = _cause(
            missing <= _TABLE_BYTES * (images - 1), "tables of the recorder", pl.lit("bypassed the recorder")
        )
    short = rows.filter(kernel > recorded).select("process", "pid", kernel, recorded, cause.alias("cause"))
    for process, pid, counted, recorded_bytes, cause_of_process in short.iter_rows():
        yield Shortfall(process, pid, way, counted, recorded_bytes, cause_of_process)


def _cause(explains: pl.Expr, cause: Cause, otherwise: pl.Expr) -> pl.Expr:
    return pl.when(explains).then(pl.lit(cause)).otherwise(otherwise)


def _sum(rows: pl.DataFrame, way: Way) -> CounterSums:
    kernel, recorded = rows[f"kernel_{way}"], rows[f"recorded_{way}"]
    return CounterSums(
        kernel_bytes=int(kernel.sum()),
        recorded_bytes=int(recorded.sum()),
        missing_bytes=int((kernel - recorded).clip(0).sum()),
        excess_bytes=int((recorded - kernel).clip(0).sum()),
    )


def _storage(profile: Profile, unexplained: pl.DataFrame) -> StorageTraffic | None:
    known = profile.processes.filter(pl.col("storage_read_bytes").is_not_null())
    if known.is_empty():
        return None
    return StorageTraffic(
        read_bytes=int(known["storage_read_bytes"].sum()),
        written_bytes=int(known["storage_written_bytes"].sum()),
        cancelled_bytes=int(known["storage_cancelled_bytes"].sum()),
        unexplained_read_bytes=int(unexplained["read"].sum()),
    )


def _unexplained_storage(profile: Profile, maps: Maps) -> pl.DataFrame:
    """process, read, write: lower bounds of its traffic with storage beyond its calls and maps; null: unknown. No rows
    if the source does not know traffic with storage.
    """
    traffic = profile.processes.select("storage_read_bytes", "storage_written_bytes")
    if all(column.null_count() == len(column) for column in traffic):
        return pl.DataFrame(schema={"process": pl.Int64, "read": pl.Int64, "write": pl.Int64})
    traffic_of_processes = storage_of_processes(profile).join(maps.of_processes, on="process", how="left")
    direction = pl.col("operation").replace_strict(DIRECTION, default=None, return_dtype=pl.String)
    dirtied = (
        pl.when(direction == "write").then(_FOLIO_BYTES).when(direction.is_null()).then(_METADATA_BYTES).otherwise(0)
    )
    calls = profile.process_operations.group_by("process").agg(dirtied=(pl.col("calls") * dirtied).sum())
    counted = profile.processes.select(
        "process",
        called=pl.max_horizontal("read_bytes", "kernel_read_bytes").fill_null(0),
        # Bytes that the recorder missed, which are reported as separate losses.
        bypassed=(pl.col("kernel_written_bytes").fill_null(0) - pl.col("written_bytes").fill_null(0)).clip(0),
    )
    read = pl.col("storage_read_bytes") - pl.col("called") - pl.col("read_most_bytes").fill_null(0)
    written = pl.col("unexplained_bytes") - pl.col("bypassed") - pl.col("dirtied").fill_null(0)
    # A page of a map may have been written back and made dirty any number of times.
    write_without_maps = pl.when(pl.col("written_most_bytes").fill_null(0) == 0).then(written.clip(0)).otherwise(0)
    joined = traffic_of_processes.join(counted, on="process").join(calls, on="process", how="left")
    return joined.select("process", read=read.clip(0), write=write_without_maps)


_MISSING: dict[Way, LossKind] = {"read": "unrecorded-read-bytes", "write": "unrecorded-written-bytes"}
_NAMES: dict[Way, Literal["read", "written"]] = {"read": "read", "write": "written"}
_NO_CALL: dict[Way, str] = {
    "read": "read by loading programs, by read-ahead, or through io_uring without the C library",
    "write": "written through io_uring without the C library, which --via ptrace sees, or by the file system itself",
}
_MAPPED: dict[Way, LossKind] = {"read": "mapped-read-bytes", "write": "mapped-written-bytes"}


def _unseen(profile: Profile, shortfalls: list[Shortfall], maps: Maps, unexplained: pl.DataFrame) -> Iterator[Loss]:
    """Losses that the source cannot report: bytes of the kernel's counters and maps without calls."""
    for shortfall in shortfalls:
        yield Loss(
            _MISSING[shortfall.direction],
            shortfall.missing_bytes,
            _process_name(shortfall.process, shortfall.pid),
            shortfall.cause,
        )
    pids = dict(profile.processes.select("process", "pid").iter_rows())
    paths = dict(profile.files.select("file", "path").iter_rows())
    for row in maps.bounds.iter_rows(named=True):
        for way, name in _NAMES.items():
            least, most = row[f"{name}_least_bytes"], row[f"{name}_most_bytes"]
            if most:
                where = f"{paths[row['file']]}, {_process_name(row['process'], pids[row['process']])}"
                how = f"at least: {row[f'{name}_least_by']}, at most: {row[f'{name}_most_by']}"
                yield Loss(_MAPPED[way], most, where, how, least)
    if not any(loss.kind in HIDES_CALLS for loss in profile.losses):
        for process, read, written in unexplained.iter_rows():
            if read is not None and read > _LOADED_BYTES:
                yield Loss("unexplained-storage-bytes", read, _process_name(process, pids[process]), _NO_CALL["read"])
            if written:
                yield Loss(
                    "unexplained-storage-bytes", written, _process_name(process, pids[process]), _NO_CALL["write"]
                )
    if profile.source != "record":
        return
    unknown = profile.processes.filter(pl.col("kernel_read_bytes").is_null())
    for process, pid, state, threads in unknown.select("process", "pid", "state", "threads").iter_rows():
        reason = "no call that the recorder counts" if state == "ended" and not threads else state
        yield Loss("uncompared", 1, _process_name(process, pid), reason)


def _process_name(process: int, pid: int | None) -> str:
    return f"process {process if pid is None else pid}"

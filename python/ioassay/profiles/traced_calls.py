"""The calls of a trace → the frames of a profile, whatever traced them.

A trace names files, no descriptors. So where a call without an offset was is known only of a file that its process
opened, and has open once at a time. Not: reading traces (`dftracer`, `recorder`), which parse theirs into `CALLS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl

from ioassay.profiles.darshan.timelines import Moves, Timelines, timeline_step
from ioassay.profiles.model import (
    COMMON_SIZES,
    DIRECTION,
    ERRORS,
    FILE_OPERATIONS,
    FILE_PROCESSES,
    FILE_SIZES,
    FILES,
    IN_FLIGHT,
    LATENCIES,
    MAPS,
    OF_OPERATION,
    ON_STORAGE,
    PROCESS_OPERATIONS,
    PROCESSES,
    REGION_OPERATIONS,
    REGIONS,
    Loss,
    Profile,
)
from ioassay.profiles.traced_files import elsewhere, kind_of
from ioassay.protocol.record_layout import FIRST_TRANSFER, LATENCY_BEGINS_TICKS, SIZE_BEGINS_BYTES
from ioassay.protocol.record_layout import OPERATIONS as CLASSES

_OPERATION: pl.DataType = pl.Enum(CLASSES)
_PATH: pl.DataType = pl.Categorical()

CALLS = pl.Schema(  # on files, those of each process in their order; what a source does not know is null
    {
        "process": pl.Int32(),  # its number
        "path": _PATH,
        "new_path": _PATH,  # of a rename
        "operation": _OPERATION,
        "begin_s": pl.Float64(),  # since the origin of the profile
        "end_s": pl.Float64(),
        "ns": pl.Int64(),
        "bytes": pl.Int64(),  # that it moved, 0 if none
        "offset": pl.Int64(),  # of a read or write that has one of its own (pread)
        "seek_to": pl.Int64(),  # of a seek: from the beginning
        "seek_by": pl.Int64(),  # of a seek: from where it was. Neither: the target is unknown.
        "open_flags": pl.Int64(),  # of an open
        "is_stream": pl.Boolean(),  # of an open or a close: it is of a stream, whose calls move no descriptor
        "failed": pl.Boolean(),
    }
)

_MOST_COMMON = 4
_APPENDS = 0o2000

_FILE = ("process", "path")
_USE = ("process", "path", "operation")

_SHOWN = (
    pl.when("is_stored")
    .then("operation")
    .otherwise(pl.col("operation").replace_strict({name: elsewhere(name) for name in CLASSES}))
    .alias("shown")
)
"""The operation by which a call is in sums over files."""

_TRANSFERS = list(CLASSES[FIRST_TRANSFER:])
_ORDERED = ["read", "write"]
"""Operations whose order is known: those of a descriptor."""

_MOST_SIZES = 64
"""Sizes of the requests of a file and operation that are kept of calls that were added."""


class TracedCalls:
    """Calls, reduced as they are added: what is kept grows with processes, files and operations."""

    def __init__(self, duration_s: float, finest_ns: float) -> None:
        """`duration_s`: of the time line. `finest_ns`: the step of the source's clock; what is shorter counts as 0."""
        self._finest_ns = finest_ns
        self._timelines = Timelines(duration_s, timeline_step(duration_s, [], is_traced=True))
        self._renames: list[pl.DataFrame] = []
        self._uses: list[pl.DataFrame] = []
        self._sizes: list[pl.DataFrame] = []
        self._common_sizes: list[pl.DataFrame] = []
        self._latencies: list[pl.DataFrame] = []

    @property
    def is_empty(self) -> bool:
        """Whether no call was added."""
        return not self._uses

    def add(self, calls: pl.DataFrame) -> None:
        """Adds `CALLS`: all of the processes that are among them. Columns may be missing."""
        calls = _with_is_stored(shaped(calls, CALLS))
        self._renames.append(calls.filter(pl.col("new_path").is_not_null()).select("path", "new_path", "begin_s"))
        self._uses.append(_uses(calls))
        self._sizes.append(_sizes(calls))
        self._common_sizes.append(_common_sizes(calls, _MOST_SIZES))
        self._latencies.append(_latencies(calls, self._finest_ns))
        self._add_times(calls)

    def _add_times(self, calls: pl.DataFrame) -> None:
        columns = ("begin_s", "end_s", "bytes")
        key = ("process", "operation", "is_stored")
        groups = calls.select(*key, *columns).partition_by(key, as_dict=True, include_key=False)
        for (process, operation, is_stored), rows in groups.items():
            direction = DIRECTION.get(operation)
            shown = operation if is_stored else elsewhere(operation)
            begin, end, moved = (rows[name].to_numpy().astype(np.float64) for name in columns)
            moves = Moves(process, shown, direction == "write", begin, end, moved, is_traced=True)
            self._timelines.add(moves, is_heat=is_stored and direction in ("read", "write"))

    def profile(
        self,
        processes: pl.DataFrame,
        *,
        source: Literal["dftracer", "recorder"],
        names: tuple[str, ...],
        commands: tuple[str, ...],
        begin_unix_ns: int,
        end_unix_ns: int,
        origin_unix_ns: int,
        losses: tuple[Loss, ...],
        unknown: tuple[str, ...],
        uncounted: frozenset[str],
        regions: pl.DataFrame | None = None,
        region_operations: pl.DataFrame | None = None,
    ) -> Profile:
        """The profile of all calls. `processes` has what is known of each without its calls."""
        uses = pl.concat(self._uses)
        paths = _paths(uses, pl.concat(self._renames))
        numbers = paths.select("path", "file")
        uses = uses.join(numbers, on="path", how="left").drop("path")
        of_processes = _file_processes(uses)
        return Profile(
            source=source,
            names=names,
            commands=commands,
            is_running=False,
            begin_unix_ns=begin_unix_ns,
            end_unix_ns=end_unix_ns,
            origin_unix_ns=origin_unix_ns,
            timeline_step_s=self._timelines.step_s,
            heat_step_s=self._timelines.heat_step_s,
            processes=_processes(processes, uses),
            process_operations=_process_operations(uses),
            timeline=self._timelines.timeline(),
            heat=self._timelines.heat(),
            files=_file_frame(paths, uses, of_processes),
            file_operations=_file_operations(uses),
            file_processes=of_processes,
            file_sizes=_size_frame(_of_files(self._sizes, numbers)),
            common_sizes=_common_frame(_of_files(self._common_sizes, numbers)),
            maps=MAPS.to_frame(),
            latencies=_latency_frame(pl.concat(self._latencies), self._finest_ns),
            errors=ERRORS.to_frame(),
            in_flight=IN_FLIGHT.to_frame(),
            losses=losses,
            unknown=unknown,
            uncounted=uncounted,
            regions=REGIONS.to_frame() if regions is None else regions,
            region_operations=REGION_OPERATIONS.to_frame() if region_operations is None else region_operations,
        )


def shaped(rows: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """The columns of a schema; those that the rows lack are null."""
    return rows.select(
        (pl.col(name) if name in rows.columns else pl.lit(None)).cast(kind, strict=False).alias(name)
        for name, kind in schema.items()
    )


def _with_is_stored(calls: pl.DataFrame) -> pl.DataFrame:
    paths = calls["path"].unique()
    is_stored = [kind_of(path) in ON_STORAGE for path in paths]
    stored = pl.DataFrame({"path": paths, "is_stored": pl.Series(is_stored, dtype=pl.Boolean)})
    return calls.hstack(calls.select("path").join(stored, on="path", how="left", maintain_order="left").drop("path"))


def _paths(uses: pl.DataFrame, renames: pl.DataFrame) -> pl.DataFrame:
    """All paths with the number and the kind of their file."""
    first_s = uses.group_by("path").agg(pl.col("first_s").min()).sort("first_s", pl.col("path").cast(pl.String))
    numbers = _numbered(dict(first_s.iter_rows()), renames.sort("begin_s", maintain_order=True).rows())
    listed = set(uses.filter(pl.col("operation") == "list")["path"])
    rows = [
        (path, file, "directory" if kind_of(path) == "file" and path in listed else kind_of(path))
        for path, file in numbers.items()
    ]
    schema = pl.Schema({"path": _PATH, "file": pl.Int32(), "kind": pl.String()})
    return pl.DataFrame(rows, schema=schema, orient="row")


def _of_files(counts: list[pl.DataFrame], numbers: pl.DataFrame) -> pl.DataFrame:
    """Calls of paths as those of their files."""
    every = pl.concat(counts).join(numbers, on="path", how="left").drop("path")
    return every.group_by(pl.exclude("calls")).agg(pl.col("calls").sum())


def _numbered(first_s: Mapping[str, float], renames: Sequence[tuple[str, str, float]]) -> dict[str, int]:
    """The number of the file of each path, by when it was used first. A file keeps its number when it is renamed."""
    old_of = {new: (old, second) for old, new, second in renames if new and first_s.get(new, second) >= second}
    files: dict[str, int] = {}
    known = 0
    for path in first_s:
        old, _ = old_of.get(path, ("", 0.0))
        if old in files:
            files[path] = files[old]
        else:
            files[path] = known
            known += 1
    for new, (old, _) in old_of.items():
        files.setdefault(new, files[old])
    return files


def _uses(calls: pl.DataFrame) -> pl.DataFrame:
    """What each process did to each file by each operation: all that does not need each call."""
    sums = calls.group_by(_USE).agg(
        is_stored=pl.col("is_stored").first(),
        calls=pl.len(),
        failed=pl.when(pl.col("failed").is_not_null().all()).then(pl.col("failed").sum()),
        bytes=pl.col("bytes").sum(),
        duration_ns=pl.col("ns").sum(),
        slowest_ns=pl.col("ns").max(),
        open_flags=pl.col("open_flags").drop_nulls().bitwise_or(),
        first_s=pl.col("begin_s").min(),
        last_s=pl.col("end_s").max(),
    )
    sums = sums.join(_order(_with_offsets(calls)), on=_USE, how="left").cast({"operation": pl.String})
    return sums.with_columns(OF_OPERATION, _SHOWN)


def _with_offsets(calls: pl.DataFrame) -> pl.DataFrame:
    """Reads and writes that did not fail, with the offsets of those that have none of their own, where known."""
    is_close, is_seek = pl.col("operation") == "close", pl.col("operation") == "seek"
    is_open, is_placed = pl.col("operation") == "open", pl.col("operation").is_in(_ORDERED)
    is_stream = pl.col("is_stream").fill_null(value=False)
    is_moving = is_placed | is_seek | ((is_open | is_close) & ~is_stream)
    has_failed = pl.col("failed").fill_null(value=False) & ~is_close
    balance = (is_open.cast(pl.Int32) - is_close.cast(pl.Int32)).cum_sum()
    opens = balance - balance.cum_min().clip(upper_bound=0)  # one that was inherited is closed, too
    rows = calls.filter(is_moving & ~has_failed).with_columns(opens.over(_FILE).alias("opens"))
    is_known = is_open & (pl.col("opens") == 1) & ((pl.col("open_flags").fill_null(0) & _APPENDS) == 0)
    is_start = is_open | (is_seek & pl.col("seek_by").is_null() & (pl.col("opens") == 1))
    advance = pl.when(is_seek).then("seek_by").when(is_placed & pl.col("offset").is_null()).then("bytes")
    rows = rows.with_columns(
        start=pl.when(is_known).then(0.0).when(is_seek).then(pl.col("seek_to").cast(pl.Float64)),
        stretch=is_start.cast(pl.Int64).cum_sum().over(_FILE),
        advance=advance.fill_null(0).cast(pl.Float64),
    )
    stretch = (*_FILE, "stretch")
    start = pl.when(is_start).then("start").first().over(stretch)
    position = start + (pl.col("advance").cum_sum() - pl.col("advance")).over(stretch)
    known = pl.when(pl.col("opens") == 1).then(position.cast(pl.Int64, strict=False))
    return rows.with_columns(pl.coalesce("offset", known).alias("offset")).filter(is_placed)


def _order(moves: pl.DataFrame) -> pl.DataFrame:
    """How requests of each process, file and operation follow each other."""
    end = pl.col("offset") + pl.col("bytes")
    skipped = pl.col("offset") - end.shift(1).fill_null(0)
    has_moved = pl.col("bytes") > 0
    return moves.group_by(_USE).agg(
        is_disordered=pl.col("offset").is_null().any(),
        consecutive=(skipped == 0).sum(),
        forward=(skipped > 0).sum(),
        strided=((skipped > 0) & (skipped == skipped.shift(1))).sum(),
        begin_bytes=pl.col("offset").filter(has_moved).min(),
        end_bytes=end.filter(has_moved).max(),
    )


def _processes(known: pl.DataFrame, uses: pl.DataFrame) -> pl.DataFrame:
    of = {name: pl.col("is_stored") & (pl.col("direction") == name) for name in ("read", "write", "metadata")}
    spent = uses.group_by("process").agg(
        read_bytes=pl.col("bytes").filter(of["read"]).sum(),
        written_bytes=pl.col("bytes").filter(of["write"]).sum(),
        read_ns=pl.col("duration_ns").filter(of["read"]).sum(),
        write_ns=pl.col("duration_ns").filter(of["write"]).sum(),
        metadata_ns=pl.col("duration_ns").filter(of["metadata"]).sum(),
        elsewhere_ns=pl.col("duration_ns").filter(~pl.col("is_stored")).sum(),
    )
    frame = known.join(spent, on="process", how="left")
    return shaped(frame.with_columns(pl.col(spent.columns).fill_null(0)), PROCESSES).sort("process")


def _process_operations(uses: pl.DataFrame) -> pl.DataFrame:
    sums = uses.group_by("process", pl.col("shown").alias("operation")).agg(
        pl.col("calls", "bytes", "duration_ns").sum(), pl.col("slowest_ns").max()
    )
    return shaped(sums, PROCESS_OPERATIONS).sort("process", "operation")


def _file_operations(uses: pl.DataFrame) -> pl.DataFrame:
    is_ordered = pl.col("operation").is_in(_ORDERED) & ~pl.col("is_disordered")
    is_transfer = pl.col("operation").is_in(_TRANSFERS)
    sums = uses.group_by("file", "operation").agg(
        pl.col("calls", "bytes", "duration_ns", "consecutive", "forward", "strided").sum(),
        failed=pl.when(pl.col("failed").is_not_null().all()).then(pl.col("failed").sum()),
        slowest_ns=pl.col("slowest_ns").max(),
        processes=pl.col("process").n_unique(),
        is_disordered=pl.col("is_disordered").any(),
        begin_bytes=pl.col("begin_bytes").min(),
        end_bytes=pl.col("end_bytes").max(),
    )
    known = sums.with_columns(
        *(pl.when(is_transfer).then(pl.col(name)) for name in ("bytes", "duration_ns", "slowest_ns")),
        *(pl.when(is_ordered).then(pl.col(name)) for name in ("consecutive", "forward", "strided")),
    )
    return shaped(known, FILE_OPERATIONS).sort("file", "operation")


def _file_frame(paths: pl.DataFrame, uses: pl.DataFrame, of_processes: pl.DataFrame) -> pl.DataFrame:
    used = uses.group_by("file").agg(
        processes=pl.col("process").n_unique(),
        metadata_ns=pl.col("duration_ns").filter(pl.col("direction") == "metadata").sum(),
    )
    moved = (
        uses.filter(pl.col("direction").is_in(["read", "write"]))
        .group_by("file", "process")
        .agg(pl.col("bytes", "duration_ns").sum())
        .group_by("file")
        .agg(
            least_process_bytes=pl.col("bytes").min(),
            most_process_bytes=pl.col("bytes").max(),
            fastest_process_ns=pl.col("duration_ns").min(),
            slowest_process_ns=pl.col("duration_ns").max(),
        )
    )
    opened = of_processes.group_by("file").agg(
        pl.col("open_flags").drop_nulls().bitwise_or(),
        pl.col("first_open_s").min(),
        pl.col("last_close_s").max(),
    )
    files = paths.group_by("file").agg(pl.col("path", "kind").first(), names=pl.len())
    for part in (used, moved, opened):
        files = files.join(part, on="file", how="left")
    return shaped(files, FILES).sort("file")


def _file_processes(uses: pl.DataFrame) -> pl.DataFrame:
    def of(name: str, *, column: str = "operation") -> pl.Expr:
        return pl.col(column) == name

    counted = {"creates": "create", "removes": "remove", "renames": "rename", "truncates": "truncate", "maps": "map"}
    is_read, is_written = of("read", column="direction"), of("write", column="direction")
    rows = (
        uses.filter("is_stored")
        .group_by("file", "process")
        .agg(
            processes=pl.lit(1),
            read_bytes=pl.col("bytes").filter(is_read).sum(),
            written_bytes=pl.col("bytes").filter(is_written).sum(),
            read_ns=pl.col("duration_ns").filter(is_read).sum(),
            write_ns=pl.col("duration_ns").filter(is_written).sum(),
            open_flags=pl.col("open_flags").drop_nulls().bitwise_or(),
            first_open_s=pl.col("first_s").filter(of("open")).min(),
            last_close_s=pl.col("last_s").filter(of("close")).max(),
            **{name: pl.col("calls").filter(of(operation)).sum() for name, operation in counted.items()},
        )
    )
    is_moved = pl.any_horizontal(pl.col(name) > 0 for name in ("read_bytes", "written_bytes", *counted))
    is_used = pl.col("first_open_s").is_not_null() | is_moved
    return shaped(rows.filter(is_used), FILE_PROCESSES).sort("file", "process")


def _transfers(calls: pl.DataFrame) -> pl.DataFrame:
    """Calls whose sizes are counted: of descriptors those that did not fail, of others those that moved something."""
    has_worked = pl.col("operation").is_in(_ORDERED) & ~pl.col("failed").fill_null(value=False)
    return calls.filter(has_worked | (pl.col("bytes") > 0)).select("path", "operation", "bytes")


def _sizes(calls: pl.DataFrame) -> pl.DataFrame:
    moved = _transfers(calls)
    bucket = np.searchsorted(np.array(SIZE_BEGINS_BYTES), moved["bytes"].to_numpy(), side="right") - 1
    buckets = moved.with_columns(bucket=pl.Series(bucket, dtype=pl.Int64))
    return buckets.group_by("path", "operation", "bucket").agg(calls=pl.len())


def _size_frame(sizes: pl.DataFrame) -> pl.DataFrame:
    begins = pl.lit(pl.Series(SIZE_BEGINS_BYTES, dtype=pl.Int64))
    ends = pl.lit(pl.Series([*SIZE_BEGINS_BYTES[1:], None], dtype=pl.Int64))
    sizes = sizes.with_columns(begin_bytes=begins.gather("bucket"), end_bytes=ends.gather("bucket"))
    return shaped(sizes, FILE_SIZES).sort("file", "operation", "begin_bytes")


def _common_sizes(calls: pl.DataFrame, most: int) -> pl.DataFrame:
    counts = _transfers(calls).group_by("path", "operation", "bytes").agg(calls=pl.len())
    return counts.sort("calls", "bytes", descending=[True, False]).group_by("path", "operation").head(most)


def _common_frame(counts: pl.DataFrame) -> pl.DataFrame:
    first = counts.sort("calls", "bytes", descending=[True, False]).group_by("file", "operation").head(_MOST_COMMON)
    return shaped(first, COMMON_SIZES).sort("file", "operation", "bytes")


def _latencies(calls: pl.DataFrame, finest_ns: float) -> pl.DataFrame:
    """Calls by their bucket; -1: shorter than a step of the clock."""
    ns = calls["ns"].to_numpy().astype(np.float64)
    begins = np.array(LATENCY_BEGINS_TICKS, dtype=np.float64)
    bucket = np.where(ns < finest_ns, -1, np.searchsorted(begins, ns, side="right") - 1)
    return (
        calls.select("operation", "is_stored", pl.Series("bucket", bucket, dtype=pl.Int64))
        .group_by("operation", "is_stored", "bucket")
        .agg(calls=pl.len())
        .cast({"operation": pl.String})
    )


def _latency_frame(counts: pl.DataFrame, finest_ns: float) -> pl.DataFrame:
    begins = pl.Series(LATENCY_BEGINS_TICKS, dtype=pl.Float64)
    place = pl.col("bucket").clip(0)
    ends = pl.lit(pl.Series([*begins[1:], None], dtype=pl.Float64)).gather(place)
    is_short = pl.col("bucket") < 0
    counts = (
        counts.group_by(_SHOWN.alias("operation"), "bucket")
        .agg(pl.col("calls").sum())
        .with_columns(
            begin_ns=pl.when(is_short).then(0.0).otherwise(pl.lit(begins).gather(place)),
            end_ns=pl.when(is_short).then(finest_ns).otherwise(ends),
        )
    )
    return shaped(counts, LATENCIES).sort(pl.col("operation").cast(_OPERATION), "begin_ns")

"""Traces of Recorder, converted to Parquet → the profile of an application. Each rank is a process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from ioassay.errors import UsageError
from ioassay.protocol.record_layout import FIRST_TRANSFER, LATENCY_BEGINS_TICKS, SIZE_BEGINS_BYTES
from ioassay.protocol.record_layout import OPERATIONS as CLASSES
from ioassay.results.darshan.timelines import Moves, Timelines, timeline_step
from ioassay.results.profile_model import (
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
    MPI_TRANSFERS,
    OF_OPERATION,
    ON_STORAGE,
    PROCESS_OPERATIONS,
    PROCESSES,
    Loss,
    Profile,
)
from ioassay.results.recorder import calls
from ioassay.results.recorder.order import with_offsets, with_order
from ioassay.results.recorder.recognise import TAKES, Trace, trace_at
from ioassay.results.traced_files import elsewhere, kind_of

_NS = 1e9
_MOST_ARGUMENTS = 10
_MOST_COMMON = 4
_LATEST_S = 1e9
_FINEST_NS = 100.0
"""Recorder's own resolution."""

_COLUMNS = pl.Schema(
    {"index": pl.Int64, "rank": pl.Int64, "thread_id": pl.Int64, "cat": pl.Int64, "tstart": pl.Float64}
    | {"tend": pl.Float64, "func_id": pl.String}
    | {f"args_{number}": pl.String for number in range(1, _MOST_ARGUMENTS + 1)}
)
"""Those that are read."""

_MOVES = list(CLASSES[FIRST_TRANSFER:])
_MPI = frozenset(
    name for of_direction in MPI_TRANSFERS.values() for group in of_direction for name in group
)  # MPI-IO's own

_UNKNOWN = (
    "Recorder does not keep what calls returned: bytes are what they asked for, so a read beyond the end of a file "
    "counts too much; which calls failed, and with which error, is unknown.",
    "Recorder does not record preadv, pwritev, aio, io_uring, sendfile, copy_file_range, single characters of streams "
    "(getc, fgets), fflush, readdir by path, and stat with its like of programs built against glibc 2.33 or newer.",
    "A trace names files, no descriptors: offsets and order of reads and writes without one of their own (pread) are "
    "known only of files that a process has open once at a time.",
    "Recorder does not record nodes, process numbers, users, sizes of files, the block of the file system, and what "
    "the kernel counted.",
    "Offsets of MPI-IO count in its view of the file; order and extent are those of the calls below it.",
    "What calls that move no bytes took is known of each process and operation, not of each process over time.",
)

_UNCOUNTED = frozenset({"glob", "copy from", "copy to", "submit read", "submit write", "accept", "connect"}) | {
    "stat", "advise", "stream flush", "MPI non-blocking collective read", "MPI non-blocking collective write",
}  # fmt: skip


def load_profile(paths: Sequence[Path]) -> Profile:
    """The profile of all traces together. Raises `UsageError` where there is none, or where no row is a call."""
    return _Reading([trace_at(path) for path in paths], tuple(map(str, paths))).profile()


class _Reading:
    """What is known of all traces."""

    def __init__(self, traces: Sequence[Trace], names: tuple[str, ...]) -> None:
        self._sources, self._traces = names, traces
        self._losses: list[Loss] = []
        self._rows = self._read()
        self._begin_ns, self._rows = self._placed(self._rows)
        last_s = float(self._rows["end_s"].max() or 0.0)  # type: ignore[arg-type]
        self._finest_ns = max(_FINEST_NS, float(np.spacing(np.float32(self._rows["tend"].max() or 0.0))) * _NS)  # type: ignore[arg-type]
        ranks = self._rows.select("trace", "rank").unique(maintain_order=True).sort("trace", "rank")
        self._ranks = ranks.with_row_index("process").with_columns(pl.col("process").cast(pl.Int64))
        self._rows = self._rows.join(self._ranks, on=["trace", "rank"], how="left", maintain_order="left")
        self._calls = self._add_files(self._described())
        self._rows = self._rows.select(pl.exclude("^args_.*$"))
        if self._calls.is_empty():
            raise UsageError(
                f"{', '.join(self._sources)}: none of its {self._rows.height:,} calls reads, writes or names a file.",
                "Record again with Recorder's POSIX and MPI-IO tracing, which is its default.",
            )
        step = timeline_step(last_s, [], is_traced=True)
        self._timelines = Timelines(last_s, step)
        self._add_times()

    def _read(self) -> pl.DataFrame:
        """All rows, in the order of the calls of each rank."""
        parts: list[pl.DataFrame] = []
        failures: list[UsageError] = []
        for number, trace in enumerate(self._traces):
            for file in trace.files:
                try:
                    parts.append(_rows_of(file).with_columns(trace=pl.lit(number, pl.Int64)))
                except UsageError as error:
                    failures.append(error)
                    self._losses.append(Loss("partial", 1, str(file), "it cannot be read"))
        if failures and not parts:
            raise failures[0]
        every = pl.concat(parts) if parts else _COLUMNS.to_frame()
        is_call = (
            pl.col("rank").is_not_null()
            & pl.col("func_id").is_not_null()
            & (pl.col("rank") >= 0)
            & pl.col("tstart").is_between(-_LATEST_S, _LATEST_S)
            & pl.col("tend").is_between(-_LATEST_S, _LATEST_S)
        )
        rows = every.filter(is_call)
        if rows.height < every.height:
            lost = every.height - rows.height
            self._losses.append(Loss("untraced-calls", lost, self._sources[0], "rows without a rank, function or time"))
        if rows.is_empty():
            raise UsageError(f"{', '.join(self._sources)}: no call was recorded, or none can be read.", TAKES)
        for number, trace in enumerate(self._traces):
            missing = (trace.ranks or 0) - rows.filter(trace=number)["rank"].n_unique()
            if missing > 0:
                reason = (
                    f"{missing} of {trace.ranks} ranks have no call in it; recorder2parquet leaves ranks out where "
                )
                reason += "its own processes do not divide them"
                self._losses.append(Loss("partial", 1, str(trace.files[0].parent), reason))
        return rows.sort("trace", "rank", "tstart", "index", maintain_order=True)

    def _placed(self, rows: pl.DataFrame) -> tuple[int, pl.DataFrame]:
        """When the first trace began, and all rows with `begin_s` and `end_s` since then. A trace without its metadata
        begins with the first of the others.
        """
        known = [trace.start_unix_s for trace in self._traces if trace.start_unix_s is not None]
        origin = min(known, default=0.0)
        shifts = [0.0 if trace.start_unix_s is None else trace.start_unix_s - origin for trace in self._traces]
        shift = pl.lit(pl.Series(shifts, dtype=pl.Float64)).gather("trace")
        begin = (pl.col("tstart").clip(0) + shift).alias("begin_s")
        rows = rows.with_columns(begin).with_columns(
            pl.max_horizontal(pl.col("tend") + shift, "begin_s").alias("end_s")
        )
        return round(origin * _NS), rows.with_columns(
            ((pl.col("end_s") - pl.col("begin_s")) * _NS).round().cast(pl.Int64).alias("ns")
        )

    def _described(self) -> pl.DataFrame:
        """Calls that are an operation on a file, with its path."""
        unused = ["args_1", *(f"args_{number}" for number in range(4, _MOST_ARGUMENTS + 1))]
        posix = calls.described(self._rows, calls.POSIX, calls.OF_POSIX).with_columns(path="name").drop(unused)
        mpi = calls.described(self._rows, calls.MPI_IO, calls.OF_MPI_IO)
        is_open = pl.col("func_id") == calls.MPI_OPEN
        opened = (
            mpi.filter(is_open)
            .select("process", pl.col("name").alias("opened"), calls.argument(5).alias("handle"))
            .unique(["process", "handle"], keep="last")
        )
        named = mpi.with_columns(handle=pl.when(is_open).then(calls.argument(5)).otherwise("name"))
        mpi = named.join(opened, on=["process", "handle"], how="left", maintain_order="left")
        mpi = mpi.with_columns(path=pl.coalesce("opened", pl.when(is_open).then("name"))).drop("handle", "opened")
        self._nameless = mpi["path"].null_count()
        self._unsized = mpi.filter(pl.col("operation").is_in(list(_MPI)) & pl.col("bytes").is_null()).height
        every = pl.concat([posix, mpi.filter(pl.col("path").is_not_null()).drop(unused)])
        every = every.with_columns(pl.col("path").str.replace(r"^//+", "/"))
        moves = pl.col("operation").is_in([name for name in _MOVES if name != "map"])
        return every.with_columns(pl.when(moves).then(pl.col("bytes").fill_null(0)).otherwise(0).alias("bytes"))

    def _add_files(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Adds the file of each call, and the operation that is shown."""
        rows = rows.sort("begin_s", maintain_order=True)
        first_s = rows.group_by("path", maintain_order=True).agg(pl.col("begin_s").first())
        files = _numbered(dict(first_s.iter_rows()), rows.filter(operation="rename"))
        numbers = pl.DataFrame(
            [(path, number, kind_of(path)) for path, number in files.items()],
            schema={"path": pl.String, "file": pl.Int64, "kind": pl.String},
            orient="row",
        )
        listed = rows.filter(operation="list")["path"].unique()
        numbers = numbers.with_columns(
            pl.when(pl.col("path").is_in(listed.implode())).then(pl.lit("directory")).otherwise("kind").alias("kind")
        )
        rows = rows.join(numbers, on="path", how="left", maintain_order="left").drop("path", "name")
        first_paths = numbers.group_by("file").agg(
            pl.col("path").first(), pl.col("kind").first(), names=pl.len().cast(pl.Int64)
        )
        self._files = first_paths.sort("file")
        is_stored = pl.col("kind").is_in(ON_STORAGE)
        other = {name: elsewhere(name) for name in rows["operation"].unique()}
        return rows.with_columns(
            is_stored.alias("is_stored"),
            pl.when(is_stored).then("operation").otherwise(pl.col("operation").replace_strict(other)).alias("shown"),
        )

    def _add_times(self) -> None:
        groups = self._calls.partition_by("process", "shown", "is_stored", as_dict=True)
        for (process, operation, is_stored), rows in groups.items():
            direction = DIRECTION.get(operation)
            begin, end, moved = (rows[name].to_numpy().astype(np.float64) for name in ("begin_s", "end_s", "bytes"))
            moves = Moves(process, operation, direction == "write", begin, end, moved, is_traced=True)
            self._timelines.add(moves, is_heat=is_stored and direction in ("read", "write"))

    def profile(self) -> Profile:
        """The profile of all traces."""
        programs = tuple(dict.fromkeys(trace.program for trace in self._traces if trace.program))
        every = self._rows
        posix = pl.col("cat") == calls.OF_POSIX
        ordered = with_order(with_offsets(self._calls.filter(posix).sort("process", "begin_s", "index")))
        uses = self._file_processes()
        return Profile(
            source="recorder",
            names=self._sources,
            commands=programs,
            is_running=False,
            begin_unix_ns=self._begin_ns + round(float(every["begin_s"].min()) * _NS),  # type: ignore[arg-type]
            end_unix_ns=self._begin_ns + round(float(every["end_s"].max()) * _NS),  # type: ignore[arg-type]
            origin_unix_ns=self._begin_ns,
            timeline_step_s=self._timelines.step_s,
            heat_step_s=self._timelines.heat_step_s,
            processes=self._processes(),
            process_operations=self._process_operations(),
            timeline=self._timelines.timeline(),
            heat=self._timelines.heat(),
            files=self._file_frame(uses),
            file_operations=self._file_operations(ordered),
            file_processes=uses,
            file_sizes=self._sizes(),
            common_sizes=self._common(),
            maps=MAPS.to_frame(),
            latencies=self._latencies(),
            errors=ERRORS.to_frame(),
            in_flight=IN_FLIGHT.to_frame(),
            losses=tuple(self._losses),
            unknown=(*_UNKNOWN, *self._also_unknown()),
            uncounted=_UNCOUNTED,
        )

    def _also_unknown(self) -> Iterator[str]:
        if any(trace.start_unix_s is None for trace in self._traces):
            yield "When it began is unknown: recorder.mt is not in the directory above the Parquet files."
        if self._finest_ns > _FINEST_NS:
            finest_us = self._finest_ns / 1e3
            yield (
                f"recorder2parquet keeps times in 32 bits: at the end of this trace in steps of {finest_us:.1f} µs. "
                "What is shorter counts as 0 or as a step."
            )
        if self._unsized:
            yield f"{self._unsized:,} calls of MPI-IO have a type of the application's own, of unknown size: 0 bytes."
        if self._nameless:
            yield f"{self._nameless:,} calls of MPI-IO are on files whose open is not in the trace, and left out."
        hdf5 = self._rows.filter(cat=calls.OF_HDF5).height
        if hdf5:
            yield f"{hdf5:,} calls of HDF5 are left out; what they did through MPI-IO and POSIX counts."
        own = self._rows.filter(cat=calls.OF_PROGRAM).height
        if own:
            yield f"{own:,} calls of functions of the application are left out."

    def _processes(self) -> pl.DataFrame:
        stored, moved = pl.col("is_stored"), self._calls.with_columns(OF_OPERATION)
        of = {name: stored & (pl.col("direction") == name) for name in ("read", "write", "metadata")}
        spent = moved.group_by("process").agg(
            read_bytes=pl.col("bytes").filter(of["read"]).sum(),
            written_bytes=pl.col("bytes").filter(of["write"]).sum(),
            read_ns=pl.col("ns").filter(of["read"]).sum(),
            write_ns=pl.col("ns").filter(of["write"]).sum(),
            metadata_ns=pl.col("ns").filter(of["metadata"]).sum(),
            elsewhere_ns=pl.col("ns").filter(~stored).sum(),
        )
        lived = self._rows.group_by("process").agg(
            begin_unix_ns=self._unix_ns(pl.col("begin_s").min()),
            end_unix_ns=self._unix_ns(pl.col("end_s").max()),
            threads=pl.col("thread_id").n_unique().cast(pl.Int64),
        )
        if not self._rows.filter(pl.col("thread_id") != 0).height:  # kept with RECORDER_LOG_TID=1 alone
            lived = lived.drop("threads")
        programs = pl.lit(pl.Series([trace.program for trace in self._traces], dtype=pl.String))
        sums = [name for name in spent.columns if name != "process"]
        frame = self._ranks.with_columns(command=programs.gather("trace"), state=pl.lit("ended"), images=pl.lit(1))
        frame = frame.join(lived, on="process", how="left").join(spent, on="process", how="left")
        return _shaped(frame.with_columns(pl.col(sums).fill_null(0)), PROCESSES).sort("process")

    def _unix_ns(self, second: pl.Expr) -> pl.Expr:
        return (second * _NS).round().cast(pl.Int64) + self._begin_ns

    def _process_operations(self) -> pl.DataFrame:
        sums = self._calls.group_by("process", pl.col("shown").alias("operation")).agg(
            calls=pl.len(), bytes=pl.col("bytes").sum(), duration_ns=pl.col("ns").sum(), slowest_ns=pl.col("ns").max()
        )
        return _shaped(sums, PROCESS_OPERATIONS).sort("process", "operation")

    def _file_operations(self, ordered: pl.DataFrame) -> pl.DataFrame:
        moves = pl.col("operation").is_in(_MOVES)
        own = self._calls.group_by("file", "operation").agg(
            calls=pl.len(),
            bytes=pl.col("bytes").sum(),
            duration_ns=pl.col("ns").sum(),
            slowest_ns=pl.col("ns").max(),
            processes=pl.col("process").n_unique(),
        )
        known = ("consecutive", "forward", "strided")
        order = ordered.group_by("file", "operation").agg(
            *(pl.when(pl.col(name).is_not_null().all()).then(pl.col(name).sum()).alias(name) for name in known),
            begin_bytes=pl.col("begin").min(),
            end_bytes=pl.col("end").max(),
        )
        every = own.with_columns(
            pl.when(moves).then(pl.col(name)) for name in ("bytes", "duration_ns", "slowest_ns")
        ).join(order, on=["file", "operation"], how="left")
        return _shaped(every, FILE_OPERATIONS).sort("file", "operation")

    def _file_frame(self, uses: pl.DataFrame) -> pl.DataFrame:
        moved = self._calls.with_columns(OF_OPERATION)
        used = moved.group_by("file").agg(
            processes=pl.col("process").n_unique(),
            metadata_ns=pl.col("ns").filter(pl.col("direction") == "metadata").sum(),
        )
        of_process = (
            moved.filter(pl.col("direction").is_in(["read", "write"]))
            .group_by("file", "process")
            .agg(pl.col("bytes", "ns").sum())
            .group_by("file")
            .agg(
                least_process_bytes=pl.col("bytes").min(),
                most_process_bytes=pl.col("bytes").max(),
                fastest_process_ns=pl.col("ns").min(),
                slowest_process_ns=pl.col("ns").max(),
            )
        )
        opened = uses.group_by("file").agg(
            pl.col("open_flags").drop_nulls().bitwise_or(),
            pl.col("first_open_s").min(),
            pl.col("last_close_s").max(),
        )
        files = self._files
        for part in (used, of_process, opened):
            files = files.join(part, on="file", how="left")
        return _shaped(files.filter(pl.col("processes").is_not_null()), FILES).sort("file")

    def _file_processes(self) -> pl.DataFrame:
        def calls_of(operation: str) -> pl.Expr:
            return (pl.col("operation") == operation).sum()

        rows = self._calls.filter("is_stored").with_columns(OF_OPERATION)
        is_open = pl.col("operation") == "open"
        of = {name: pl.col("direction") == name for name in ("read", "write")}
        uses = rows.group_by("file", "process").agg(
            processes=pl.lit(1),
            read_bytes=pl.col("bytes").filter(of["read"]).sum(),
            written_bytes=pl.col("bytes").filter(of["write"]).sum(),
            read_ns=pl.col("ns").filter(of["read"]).sum(),
            write_ns=pl.col("ns").filter(of["write"]).sum(),
            open_flags=calls.open_flags().filter(is_open).bitwise_or(),
            first_open_s=pl.col("begin_s").filter(is_open).min(),
            last_close_s=pl.col("end_s").filter(pl.col("operation") == "close").max(),
            creates=calls_of("create"),
            removes=calls_of("remove"),
            renames=calls_of("rename"),
            truncates=calls_of("truncate"),
            maps=calls_of("map"),
        )
        counts = ("read_bytes", "written_bytes", "creates", "removes", "renames", "truncates", "maps")
        is_used = pl.col("first_open_s").is_not_null() | pl.any_horizontal(pl.col(name) > 0 for name in counts)
        return _shaped(uses.filter(is_used), FILE_PROCESSES).sort("file", "process")

    def _transfers(self) -> pl.DataFrame:
        """Calls whose sizes are counted: of streams and MPI-IO those that moved something."""
        counted = pl.col("operation").is_in(["read", "write"]) | (pl.col("bytes") > 0)
        return self._calls.filter(counted).select("file", "operation", "bytes")

    def _sizes(self) -> pl.DataFrame:
        moved = self._transfers()
        begins = np.array(SIZE_BEGINS_BYTES)
        bucket = np.searchsorted(begins, moved["bytes"].to_numpy(), side="right") - 1
        ends = pl.lit(pl.Series([*SIZE_BEGINS_BYTES[1:], None], dtype=pl.Int64))
        sizes = (
            moved.with_columns(bucket=pl.Series(bucket, dtype=pl.Int64))
            .group_by("file", "operation", "bucket")
            .agg(calls=pl.len())
            .with_columns(begin_bytes=pl.lit(pl.Series(begins)).gather("bucket"), end_bytes=ends.gather("bucket"))
        )
        return _shaped(sizes, FILE_SIZES).sort("file", "operation", "begin_bytes")

    def _common(self) -> pl.DataFrame:
        counts = self._transfers().group_by("file", "operation", "bytes").agg(calls=pl.len())
        first = counts.sort("calls", "bytes", descending=[True, False]).group_by("file", "operation").head(_MOST_COMMON)
        return _shaped(first, COMMON_SIZES).sort("file", "operation", "bytes")

    def _latencies(self) -> pl.DataFrame:
        """Calls shorter than a step of the clock are below it."""
        begins = np.array(LATENCY_BEGINS_TICKS, dtype=np.float64)
        ns = self._calls["ns"].to_numpy().astype(np.float64)
        bucket = np.where(ns < self._finest_ns, -1, np.searchsorted(begins, ns, side="right") - 1)
        place = pl.col("bucket").clip(0)
        ends = pl.lit(pl.Series([*begins[1:], None], dtype=pl.Float64)).gather(place)
        is_short = pl.col("bucket") < 0
        counts = (
            self._calls.select(pl.col("shown").alias("operation"), pl.Series("bucket", bucket, dtype=pl.Int64))
            .group_by("operation", "bucket")
            .agg(calls=pl.len())
            .with_columns(
                begin_ns=pl.when(is_short).then(0.0).otherwise(pl.lit(pl.Series(begins)).gather(place)),
                end_ns=pl.when(is_short).then(self._finest_ns).otherwise(ends),
            )
        )
        return _shaped(counts, LATENCIES).sort(pl.col("operation").cast(pl.Enum(CLASSES)), "begin_ns")


def _numbered(first_s: Mapping[str, float], renames: pl.DataFrame) -> dict[str, int]:
    """The number of the file of each path, by when it was used first. A file keeps its number when it is renamed."""
    old_of = {
        new: (old, at)
        for old, new, at in renames.select("path", calls.argument(2), "begin_s").iter_rows()
        if new and first_s.get(new, at) >= at
    }
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


def _rows_of(file: Path) -> pl.DataFrame:
    """The rows of a file. Raises `UsageError` for what is no Parquet, or another."""
    try:
        found = pl.read_parquet_schema(file)
        missing = [name for name in _COLUMNS if name not in found]
        if missing:
            raise UsageError(f"{file} is Parquet, but not of Recorder: it has no column {missing[0]}.", TAKES)
        rows = pl.read_parquet(file, columns=list(_COLUMNS))
        return rows.select(pl.col(name).cast(kind, strict=False) for name, kind in _COLUMNS.items())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}.", TAKES) from error
    except PolarsError as error:
        what = "is empty" if file.stat().st_size == 0 else "is no Parquet file, or a damaged one"
        raise UsageError(f"{file} {what}.", "Run recorder2parquet again.") from error


def _shaped(rows: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    return rows.select(
        (pl.col(name) if name in rows.columns else pl.lit(None)).cast(kind, strict=False).alias(name)
        for name, kind in schema.items()
    )

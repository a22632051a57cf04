"""Traces of Recorder, converted to Parquet → the profile of an application. Each rank is a process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from ioassay.errors import UsageError
from ioassay.profiles.model import MPI_TRANSFERS, Loss, Profile
from ioassay.profiles.recorder import calls
from ioassay.profiles.recorder.recognise import TAKES, Trace, trace_at
from ioassay.profiles.traced_calls import CALLS, TracedCalls, shaped
from ioassay.protocol.record_layout import FIRST_TRANSFER
from ioassay.protocol.record_layout import OPERATIONS as CLASSES

_NS = 1e9
_MOST_ARGUMENTS = 10
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
        self._finest_ns = max(_FINEST_NS, float(np.spacing(np.float32(self._rows["tend"].max() or 0.0))) * _NS)  # type: ignore[arg-type]
        ranks = self._rows.select("trace", "rank").unique(maintain_order=True).sort("trace", "rank")
        self._ranks = ranks.with_row_index("process").with_columns(pl.col("process").cast(pl.Int64))
        self._rows = self._rows.join(self._ranks, on=["trace", "rank"], how="left", maintain_order="left")
        self._calls = self._described()
        self._rows = self._rows.select(pl.exclude("^args_.*$"))
        if self._calls.is_empty():
            raise UsageError(
                f"{', '.join(self._sources)}: none of its {self._rows.height:,} calls reads, writes or names a file.",
                "Record again with Recorder's POSIX and MPI-IO tracing, which is its default.",
            )

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
        """Calls that are an operation on a file: `CALLS`."""
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
        moved = pl.when(moves).then(pl.col("bytes").fill_null(0)).otherwise(0)
        every = every.with_columns(moved.alias("bytes"), *calls.states())
        return shaped(every.sort("process", "begin_s", "index"), CALLS)

    def profile(self) -> Profile:
        """The profile of all traces."""
        programs = tuple(dict.fromkeys(trace.program for trace in self._traces if trace.program))
        every = self._rows
        last_s = float(every["end_s"].max() or 0.0)  # type: ignore[arg-type]
        reduced = TracedCalls(last_s, self._finest_ns)
        reduced.add(self._calls)
        return reduced.profile(
            self._processes(),
            source="recorder",
            names=self._sources,
            commands=programs,
            begin_unix_ns=self._begin_ns + round(float(every["begin_s"].min()) * _NS),  # type: ignore[arg-type]
            end_unix_ns=self._begin_ns + round(last_s * _NS),
            origin_unix_ns=self._begin_ns,
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
        of_program = self._rows.filter(cat=calls.OF_PROGRAM).height
        if of_program:
            yield f"{of_program:,} calls of functions of the application are left out."

    def _processes(self) -> pl.DataFrame:
        lived = self._rows.group_by("process").agg(
            begin_unix_ns=self._unix_ns(pl.col("begin_s").min()),
            end_unix_ns=self._unix_ns(pl.col("end_s").max()),
            threads=pl.col("thread_id").n_unique(),
        )
        if not self._rows.filter(pl.col("thread_id") != 0).height:  # kept with RECORDER_LOG_TID=1 alone
            lived = lived.drop("threads")
        programs = pl.lit(pl.Series([trace.program for trace in self._traces], dtype=pl.String))
        frame = self._ranks.with_columns(command=programs.gather("trace"), state=pl.lit("ended"), images=pl.lit(1))
        return frame.join(lived, on="process", how="left")

    def _unix_ns(self, second: pl.Expr) -> pl.Expr:
        return (second * _NS).round().cast(pl.Int64) + self._begin_ns


def _rows_of(file: Path) -> pl.DataFrame:
    """The rows of a file. Raises `UsageError` for what is no Parquet, or another."""
    try:
        columns = pl.read_parquet_schema(file)
        missing = [name for name in _COLUMNS if name not in columns]
        if missing:
            raise UsageError(f"{file} is Parquet, but not of Recorder: it has no column {missing[0]}.", TAKES)
        rows = pl.read_parquet(file, columns=list(_COLUMNS))
        return rows.select(pl.col(name).cast(kind, strict=False) for name, kind in _COLUMNS.items())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}.", TAKES) from error
    except PolarsError as error:
        what = "is empty" if file.stat().st_size == 0 else "is no Parquet file, or a damaged one"
        raise UsageError(f"{file} {what}.", "Run recorder2parquet again.") from error

"""Counters of files → what was called on each: operations, sizes, who did it.

A row of the tables here is a record's: of a file and a process, or of a file and all processes of an MPI job, whose
`process` is null. What Darshan counts of reads and writes together is that of one of them where there was no other.
Not: when it was (`timelines`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ioassay.profiles.darshan.log import MOST_S, SHARED, Log, counted

SIZE_BEGINS_BYTES = (0, 101, 1025, 10_241, 102_401, 1_048_577, 4_194_305, 10_485_761, 104_857_601, 1_073_741_825)
"""The least size in each of Darshan's buckets: its `100_1K` has 101 to 1024 bytes (DARSHAN_BUCKET_INC). The last has no
end.
"""

_SIZES = ("0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M", "1M_4M", "4M_10M", "10M_100M", "100M_1G", "1G_PLUS")

_OTHER = {"READ": "WRITE", "WRITE": "READ"}
_PAST = {"READ": "READ", "WRITE": "WRITTEN"}
"""As counters of bytes call them."""

_MOST_COMMON = 4
"""Sizes that Darshan keeps of a file."""

ROWS = pl.Schema(
    {
        "path": pl.String,
        "process": pl.Int64,
        "log": pl.Int64,
        "file": pl.UInt64,  # the record's number
        "module": pl.String,
        "operation": pl.String,
        "calls": pl.Int64,
        "bytes": pl.Int64,
        "duration_ns": pl.Float64,
        "slowest_ns": pl.Float64,
        "consecutive": pl.Int64,
        "forward": pl.Int64,
        "misaligned": pl.Int64,
        "end_bytes": pl.Int64,
    }
)

FACTS = pl.Schema(
    {
        "path": pl.String,
        "process": pl.Int64,
        "log": pl.Int64,
        "file": pl.UInt64,
        "module": pl.String,
        "block_bytes": pl.Int64,
        "first_open_s": pl.Float64,
        "last_close_s": pl.Float64,
        "metadata_ns": pl.Float64,
        # Of a record of all processes: the two that it names.
        "fastest_bytes": pl.Int64,
        "slowest_bytes": pl.Int64,
        "fastest_ns": pl.Float64,
        "slowest_ns": pl.Float64,
    }
)

SIZES = pl.Schema(
    {"path": pl.String, "operation": pl.String, "begin_bytes": pl.Int64, "end_bytes": pl.Int64, "calls": pl.Int64}
)

COMMON = pl.Schema({"path": pl.String, "operation": pl.String, "bytes": pl.Int64, "calls": pl.Int64})

KINDS = {"POSIX": ("read", "write"), "STDIO": ("stream read", "stream write")}
"""What reads and writes are called; of MPI-IO there are several of each (`mpi_kind`)."""

_MPI_COUNTERS = {"INDEP": "MPI {}", "NB": "MPI non-blocking {}", "COLL": "MPI collective {}"} | {
    "SPLIT": "MPI split collective {}"
}
"""What the calls of each counter are called. Darshan counts no non-blocking collective ones."""

MPI_READS, MPI_WRITES = (
    tuple(name.format(direction) for name in _MPI_COUNTERS.values()) for direction in ("read", "write")
)


@dataclass(frozen=True)
class Placed:
    """A log in a profile."""

    log: Log
    number: int
    first_process: int
    offset_s: float
    """From the origin of the profile to the start of its job."""


class Records:
    """The records of a module in all logs."""

    def __init__(self, logs: Sequence[Placed], module: str) -> None:
        self._module = module
        self._prefix = module.replace("-", "")
        parts = [_placed(one, module) for one in logs if module in one.log.records]
        every = pl.concat(parts, how="diagonal")
        self._rows = every.with_columns(counted(every.select(pl.selectors.starts_with(f"{self._prefix}_"))))

    def counter(self, name: str) -> pl.Expr:
        """A counter without its module's prefix; null where this version of Darshan has none."""
        whole = f"{self._prefix}_{name}"
        return pl.col(whole) if whole in self._rows.columns else pl.lit(None, pl.Int64)

    def _shaped(self, schema: pl.Schema, **columns: pl.Expr) -> pl.DataFrame:
        every = self._rows.with_columns(module=pl.lit(self._module), **columns)
        return every.select(
            (pl.col(name) if name in every.columns else pl.lit(None)).cast(kind, strict=False).alias(name)
            for name, kind in schema.items()
        )

    def operations(self) -> pl.DataFrame:
        """`ROWS`."""
        parts = [self._shaped(ROWS, operation=pl.lit(name), **columns) for name, columns in self._operations()]
        return pl.concat(parts).filter(pl.col("calls") > 0)

    def _operations(self) -> Iterator[tuple[str, Mapping[str, pl.Expr]]]:
        of = self.counter
        match self._module:
            case "POSIX":
                again = pl.sum_horizontal(of("FILENOS"), of("DUPS"))  # counted as opens, and are none
                yield "open", {"calls": of("OPENS") - again}
                yield "seek", {"calls": of("SEEKS")}
                yield "stat", {"calls": of("STATS")}
                yield "sync", {"calls": pl.sum_horizontal(of("FSYNCS"), of("FDSYNCS"))}
                yield "rename", {"calls": of("RENAME_SOURCES")}
                yield "map", {"calls": of("MMAPS")}
            case "STDIO":
                yield "open", {"calls": of("OPENS") - pl.sum_horizontal(of("FDOPENS"))}
                yield "stream seek", {"calls": of("SEEKS")}
                yield "stream flush", {"calls": of("FLUSHES")}
        if self._module != "MPI-IO":
            for name, verb in zip(KINDS[self._module], _OTHER, strict=True):
                yield name, self._transfers(verb, _OTHER[verb])
            return
        others = ("INDEP_OPENS", "COLL_OPENS", "SYNCS", "HINTS", "VIEWS")
        yield "MPI file", {"calls": pl.sum_horizontal(*map(of, others))}
        for verb, names in (("READ", MPI_READS), ("WRITE", MPI_WRITES)):
            calls = self._mpi_calls(verb)
            every = pl.sum_horizontal(*calls)
            for operation, own in zip(names, calls, strict=True):
                moved = self._moved(verb)
                yield operation, {"calls": own} | {one: pl.when(own == every).then(moved[one]) for one in moved}

    def _mpi_calls(self, verb: str) -> tuple[pl.Expr, ...]:
        """The calls of each kind, in the order of `MPI_READS`."""
        return tuple(self.counter(f"{kind}_{verb}S").fill_null(0) for kind in _MPI_COUNTERS)

    def _moved(self, verb: str) -> dict[str, pl.Expr]:
        past = _PAST[verb]
        return {
            "bytes": self.counter(f"BYTES_{past}"),
            "duration_ns": self.counter(f"F_{verb}_TIME") * 1e9,
            "slowest_ns": self.counter(f"F_MAX_{verb}_TIME") * 1e9,
        }

    def _transfers(self, verb: str, other: str) -> dict[str, pl.Expr]:
        past = _PAST[verb]
        calls, others, misaligned = (
            self.counter(f"{verb}S"),
            self.counter(f"{other}S"),
            self.counter("FILE_NOT_ALIGNED"),
        )
        consecutive = self.counter(f"CONSEC_{verb}S")
        return self._moved(verb) | {
            "calls": calls,
            "consecutive": consecutive,
            # Darshan's sequential ones are all that began behind the one before, consecutive ones too.
            "forward": (self.counter(f"SEQ_{verb}S") - consecutive).clip(0),
            "misaligned": pl.when(others == 0)
            .then(misaligned)
            .when(misaligned == 0)
            .then(0)
            .when(misaligned == calls + others)
            .then(calls),
            "end_bytes": pl.when(self.counter(f"BYTES_{past}") > 0).then(self.counter(f"MAX_BYTE_{past}") + 1),
        }

    def facts(self) -> pl.DataFrame:
        """`FACTS`."""
        block, of = self.counter("FILE_ALIGNMENT"), self.counter
        return self._shaped(
            FACTS,
            block_bytes=pl.when(block > 0).then(block).otherwise("stripe"),
            first_open_s=self._moment("F_OPEN_START_TIMESTAMP"),
            last_close_s=self._moment("F_CLOSE_END_TIMESTAMP"),
            metadata_ns=of("F_META_TIME") * 1e9 if self._module != "MPI-IO" else pl.lit(None),
            fastest_bytes=of("FASTEST_RANK_BYTES"),
            slowest_bytes=of("SLOWEST_RANK_BYTES"),
            fastest_ns=of("F_FASTEST_RANK_TIME") * 1e9,
            slowest_ns=of("F_SLOWEST_RANK_TIME") * 1e9,
        )

    def _moment(self, name: str) -> pl.Expr:
        """Seconds since the origin; null where it never happened."""
        return pl.when(self.counter(name) > 0).then(self.counter(name) + pl.col("offset_s"))

    def sizes(self) -> pl.DataFrame:
        """`SIZES`. The largest size in a bucket is a round one, such as 1 MiB: calls of it have a row of their own, and
        smaller ones too, as far as the common sizes, of reads and writes together, say how many there are.
        """
        parts = [SIZES.to_frame()]
        for verb, other in _OTHER.items():
            for name, begin, end in zip(_SIZES, SIZE_BEGINS_BYTES, [*SIZE_BEGINS_BYTES[1:], None], strict=True):
                if not self._has_calls(verb, name):  # most have none, and each takes a millisecond
                    continue
                own, others = self._of_size(verb, name), self._of_size(other, name)
                rows: list[tuple[int, int | None, pl.Expr]] = [(begin, end, own)]
                if end is not None and self._module == "POSIX":
                    same = self._common_calls(end - 1)
                    exact = pl.when(same > 0).then((own - (own + others - same).clip(0)).clip(0)).otherwise(0)
                    smaller = pl.when(same > 0).then((own - same).clip(0)).otherwise(0)
                    rows = [(begin, end, own - exact - smaller), (begin, end - 1, smaller), (end - 1, end, exact)]
                for operation, is_only in self._only(verb):
                    columns = {"operation": pl.lit(operation)}
                    for first, last, calls in rows:
                        bounds = {"begin_bytes": pl.lit(first), "end_bytes": pl.lit(last)}
                        parts.append(self._shaped(SIZES, **columns, **bounds, calls=pl.when(is_only).then(calls)))
        return pl.concat(parts).filter(pl.col("calls") > 0)

    def _of_size(self, verb: str, name: str) -> pl.Expr:
        return self.counter(self._size_counter(verb, name))

    def _size_counter(self, verb: str, name: str) -> str:
        return f"SIZE_{verb}{'_AGG' if self._module == 'MPI-IO' else ''}_{name}"

    def _has_calls(self, verb: str, name: str) -> bool:
        """Whether any call was of this size."""
        whole = f"{self._prefix}_{self._size_counter(verb, name)}"
        return whole in self._rows.columns and bool((self._rows[whole] > 0).any())

    def _common_calls(self, size: int) -> pl.Expr:
        """Reads and writes of a size, as far as it is one of the most common."""
        each = range(1, _MOST_COMMON + 1)
        return pl.sum_horizontal(
            pl.when(self.counter(f"ACCESS{at}_ACCESS") == size).then(self.counter(f"ACCESS{at}_COUNT")) for at in each
        ).fill_null(0)

    def _only(self, verb: str) -> list[tuple[str, pl.Expr]]:
        """The operations that may be meant by what is counted of a verb, and where it is that one alone."""
        if self._module == "MPI-IO":
            calls = self._mpi_calls(verb)
            names = MPI_READS if verb == "READ" else MPI_WRITES
            return [(name, own == pl.sum_horizontal(*calls)) for name, own in zip(names, calls, strict=True)]
        return [(KINDS[self._module][verb == "WRITE"], pl.lit(True))]

    def common(self) -> pl.DataFrame:
        """`COMMON`. The operation is null where a file was read and written; of MPI-IO such sizes are left out, because
        they are not those of the calls that it makes.
        """
        parts = [COMMON.to_frame()]
        if self._module == "STDIO":
            return parts[0]
        name = pl.lit(None, pl.String)
        for verb, other in _OTHER.items():
            others = self._calls(other) == 0
            for operation, is_only in self._only(verb):
                name = pl.when(others & is_only & (self._calls(verb) > 0)).then(pl.lit(operation)).otherwise(name)
        for at in range(1, _MOST_COMMON + 1):
            size, calls = self.counter(f"ACCESS{at}_ACCESS"), self.counter(f"ACCESS{at}_COUNT")
            parts.append(self._shaped(COMMON, operation=name, bytes=size, calls=calls))
        common = pl.concat(parts).filter(pl.col("calls") > 0)
        return common.drop_nulls("operation") if self._module == "MPI-IO" else common

    def _calls(self, verb: str) -> pl.Expr:
        return pl.sum_horizontal(*self._mpi_calls(verb)) if self._module == "MPI-IO" else self.counter(f"{verb}S")


def _placed(one: Placed, module: str) -> pl.DataFrame:
    """Its records with their paths, and processes of the profile."""
    log, rows = one.log, one.log.records[module]
    is_shared = (pl.col("rank") == SHARED) & (log.job.processes > 1)
    files = rows["id"].to_list()
    # A record of a file is of another process than those before it; which one is unknown.
    rank = pl.int_range(pl.len()).over("id") if log.is_merged else pl.col("rank")
    return (
        rows.with_columns(rank=rank)
        .rename({"id": "file"})
        .with_columns(
            path=pl.Series([log.names.get(file) or f"(record {file})" for file in files], dtype=pl.String),
            stripe=pl.Series([log.stripes.get(file) for file in files], dtype=pl.Int64),
            process=pl.when(~is_shared).then(pl.col("rank").clip(0, log.job.processes - 1) + one.first_process),
            log=pl.lit(one.number, pl.Int64),
            offset_s=pl.lit(one.offset_s),
        )
    )


def latest_s(log: Log) -> float:
    """The latest moment that its counters know, from the start of its job."""
    latest = 0.0
    for rows in log.records.values():
        moments = rows.select(pl.selectors.ends_with("_END_TIMESTAMP")).to_numpy().astype(np.float64)
        latest = max(latest, float(moments[moments <= MOST_S].max(initial=0.0)))
    return latest


def mpi_kind(rows: pl.DataFrame, names: Sequence[str]) -> str | None:
    """Which of MPI-IO's operations `names` all calls of a log were. `None`: of several."""
    used = rows.filter(pl.col("operation").is_in(names))["operation"].unique().to_list()
    return used[0] if len(used) == 1 else None

"""Counters of files → what was called on each: operations, sizes, who did it.

A row of the tables here is a record's: of a file and a process, or of a file and all processes of an MPI job, whose
`process` is null. What Darshan counts of reads and writes together is that of one of them where there was no other.
Not: when it was (`timelines`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

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

_CALLS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "POSIX": {
        "open": ("OPENS",),
        "seek": ("SEEKS",),
        "stat": ("STATS",),
        "sync": ("FSYNCS", "FDSYNCS"),
        "rename": ("RENAME_SOURCES",),
        "map": ("MMAPS",),
    },
    "STDIO": {"open": ("OPENS",), "stream seek": ("SEEKS",), "stream flush": ("FLUSHES",)},
    "MPI-IO": {"MPI file": ("INDEP_OPENS", "COLL_OPENS", "SYNCS", "HINTS", "VIEWS")},
}
"""The counters of operations that move no bytes."""

_NO_OPENS = {"POSIX": ("FILENOS", "DUPS"), "STDIO": ("FDOPENS",)}
"""Counters of what is counted as opens, too."""

_MPI_COUNTERS = {"INDEP": "MPI {}", "NB": "MPI non-blocking {}", "COLL": "MPI collective {}"} | {
    "SPLIT": "MPI split collective {}"
}
"""What the calls of each counter are called. Darshan counts no non-blocking collective ones."""

MPI_READS, MPI_WRITES = (
    tuple(name.format(direction) for name in _MPI_COUNTERS.values()) for direction in ("read", "write")
)


@dataclass(frozen=True)
class PlacedLog:
    """A log in a profile."""

    log: Log
    number: int
    first_process: int
    offset_s: float
    """From the origin of the profile to the start of its job."""


class Records:
    """The records of a module in all logs."""

    def __init__(self, logs: Sequence[PlacedLog], module: str) -> None:
        self._module = module
        self._prefix = module.replace("-", "")
        parts = [_placed(log, module) for log in logs if module in log.log.records]
        every = parts[0] if len(parts) == 1 else pl.concat(parts, how="diagonal")
        self._rows = counted(every, f"{self._prefix}_")
        self._most = self._rows.select_seq(pl.selectors.starts_with(f"{self._prefix}_").max()).row(0, named=True)
        """The maximum of each counter."""

    def counter(self, name: str) -> pl.Expr:
        """A counter without its module's prefix; null where this version of Darshan has none."""
        whole = f"{self._prefix}_{name}"
        return pl.col(whole) if whole in self._most else pl.lit(None, pl.Int64)

    def _shaped(self, schema: pl.Schema, **columns: pl.Expr) -> pl.DataFrame:
        of_module = columns | {"module": pl.lit(self._module)}
        known = self._rows.columns
        return self._rows.select_seq(
            (of_module[name] if name in of_module else pl.col(name) if name in known else pl.lit(None))
            .cast(kind, strict=False)
            .alias(name)
            for name, kind in schema.items()
        )

    def _stacked(self, schema: pl.Schema, parts: Iterable[Mapping[str, pl.Expr]]) -> pl.DataFrame:
        """The rows of all parts that have `calls`."""
        rows = pl.concat([schema.to_frame(), *(self._shaped(schema, **part) for part in parts)])
        return rows.filter(pl.col("calls") > 0)

    def _counts(self, name: str) -> bool:
        """Whether a counter is more than 0 in any record. What most logs never count costs nothing else."""
        return (self._most.get(f"{self._prefix}_{name}") or 0) > 0

    def operations(self) -> pl.DataFrame:
        """`ROWS`."""
        return self._stacked(ROWS, ({"operation": pl.lit(name), **columns} for name, columns in self._operations()))

    def _operations(self) -> Iterator[tuple[str, Mapping[str, pl.Expr]]]:
        """Those of which there may be calls."""
        for name, counters in _CALLS[self._module].items():
            if any(map(self._counts, counters)):
                calls = pl.sum_horizontal(map(self.counter, counters))
                if name == "open":
                    calls -= pl.sum_horizontal(map(self.counter, _NO_OPENS[self._module]))
                yield name, {"calls": calls}
        if self._module != "MPI-IO":
            for name, verb in zip(KINDS[self._module], _OTHER, strict=True):
                if self._counts(f"{verb}S"):
                    yield name, self._transfers(verb, _OTHER[verb])
            return
        for verb, moved in ((verb, self._moved(verb)) for verb in _OTHER):
            for operation, calls, is_only in self._mpi_calls(verb):
                yield operation, {"calls": calls} | {name: pl.when(is_only).then(moved[name]) for name in moved}

    def _mpi_calls(self, verb: str) -> Iterator[tuple[str, pl.Expr, pl.Expr]]:
        """MPI-IO's operations of a verb that were called: name, calls, and whether these are all calls of the verb."""
        names = MPI_READS if verb == "READ" else MPI_WRITES
        every = self._calls(verb)
        for name, kind in zip(names, _MPI_COUNTERS, strict=True):
            if self._counts(f"{kind}_{verb}S"):
                calls = self.counter(f"{kind}_{verb}S").fill_null(0)
                yield name, calls, calls == every

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
        parts: list[Mapping[str, pl.Expr]] = []
        for verb, other in _OTHER.items():
            for name, begin, end in zip(_SIZES, SIZE_BEGINS_BYTES, [*SIZE_BEGINS_BYTES[1:], None], strict=True):
                if not self._counts(self._size_counter(verb, name)):
                    continue
                in_bucket = self.counter(self._size_counter(verb, name))
                rows: list[tuple[int, int | None, pl.Expr]] = [(begin, end, in_bucket)]
                if end is not None and self._module == "POSIX" and end - 1 in self._common:
                    others, same = self.counter(self._size_counter(other, name)), self._common_calls(end - 1)
                    exact = (
                        pl.when(same > 0).then((in_bucket - (in_bucket + others - same).clip(0)).clip(0)).otherwise(0)
                    )
                    smaller = pl.when(same > 0).then((in_bucket - same).clip(0)).otherwise(0)
                    rows = [
                        (begin, end, in_bucket - exact - smaller),
                        (begin, end - 1, smaller),
                        (end - 1, end, exact),
                    ]
                for operation, is_only in self._only(verb):
                    for first, last, calls in rows:
                        bounds = {"begin_bytes": pl.lit(first), "end_bytes": pl.lit(last)}
                        columns = {"operation": pl.lit(operation), "calls": pl.when(is_only).then(calls)}
                        parts.append(columns | bounds)
        return self._stacked(SIZES, parts)

    def _size_counter(self, verb: str, name: str) -> str:
        return f"SIZE_{verb}{'_AGG' if self._module == 'MPI-IO' else ''}_{name}"

    @cached_property
    def _common(self) -> set[int]:
        """The sizes that are the most common of any record."""
        known = (f"{self._prefix}_ACCESS{rank}_ACCESS" for rank in range(1, _MOST_COMMON + 1))
        return {size for name in known if name in self._most for size in self._rows[name].to_list()}

    def _common_calls(self, size: int) -> pl.Expr:
        """Reads and writes of a size, as far as it is one of the most common."""
        ranks = range(1, _MOST_COMMON + 1)
        return pl.sum_horizontal(
            pl.when(self.counter(f"ACCESS{rank}_ACCESS") == size).then(self.counter(f"ACCESS{rank}_COUNT"))
            for rank in ranks
        ).fill_null(0)

    def _only(self, verb: str) -> list[tuple[str, pl.Expr]]:
        """The operations that may be meant by what is counted of a verb, and where it is that one alone."""
        if self._module == "MPI-IO":
            return [(name, is_only) for name, _, is_only in self._mpi_calls(verb)]
        return [(KINDS[self._module][verb == "WRITE"], pl.lit(True))]

    def common(self) -> pl.DataFrame:
        """`COMMON`. The operation is null where a file was read and written; of MPI-IO such sizes are left out, because
        they are not those of the calls that it makes.
        """
        if self._module == "STDIO":
            return COMMON.to_frame()
        name = pl.lit(None, pl.String)
        for verb, other in _OTHER.items():
            if self._module != "MPI-IO" and not self._counts(f"{verb}S"):
                continue
            others = self._calls(other) == 0
            for operation, is_only in self._only(verb):
                name = pl.when(others & is_only & (self._calls(verb) > 0)).then(pl.lit(operation)).otherwise(name)
        common = self._stacked(
            COMMON,
            (
                {"operation": name, "bytes": self.counter(f"ACCESS{rank}_ACCESS"), "calls": self.counter(calls)}
                for rank in range(1, _MOST_COMMON + 1)
                if self._counts(calls := f"ACCESS{rank}_COUNT")
            ),
        )
        return common.drop_nulls("operation") if self._module == "MPI-IO" else common

    def _calls(self, verb: str) -> pl.Expr:
        if self._module != "MPI-IO":
            return self.counter(f"{verb}S")
        each = (f"{kind}_{verb}S" for kind in _MPI_COUNTERS)
        return pl.sum_horizontal(pl.lit(0), *(self.counter(name) for name in each if self._counts(name)))


def _placed(placed: PlacedLog, module: str) -> pl.DataFrame:
    """Its records with their paths, and processes of the profile."""
    log, rows = placed.log, placed.log.records[module]
    is_shared = (pl.col("rank") == SHARED) & (log.job.processes > 1)
    files = rows["id"].to_list()
    # A record of a file is of another process than those before it; of which one is unknown.
    rank = pl.int_range(pl.len()).over("id") if log.is_merged else pl.col("rank")
    return (
        rows.with_columns(rank=rank)
        .rename({"id": "file"})
        .with_columns(
            path=pl.Series([log.names.get(file) or f"(record {file})" for file in files], dtype=pl.String),
            stripe=pl.Series([log.stripes.get(file) for file in files], dtype=pl.Int64),
            process=pl.when(~is_shared).then(pl.col("rank").clip(0, log.job.processes - 1) + placed.first_process),
            log=pl.lit(placed.number, pl.Int64),
            offset_s=pl.lit(placed.offset_s),
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

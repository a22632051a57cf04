"""The calls that DXT traced, and of which files it traced all.

DXT keeps so many calls of a process and drops the rest: only where their number is that of the counters are they used
for sums. It knows the process of each call, also in files whose counters are those of all processes together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ioassay.profiles.darshan.counters import KINDS, MPI_READS, MPI_WRITES, ROWS, PlacedLog
from ioassay.profiles.darshan.log import Trace

_READS = (*(read for read, _ in KINDS.values()), *MPI_READS)
_WRITES = (*(write for _, write in KINDS.values()), *MPI_WRITES)

IS_WRITE = pl.col("operation").replace_strict(
    dict.fromkeys(_READS, False) | dict.fromkeys(_WRITES, True), default=None, return_dtype=pl.Boolean
)
"""Of a row: null where it moves no bytes."""

_LONGEST_CALL_S = 1e9

KEY = ("log", "module", "file", "is_write")

_SUMS = pl.Schema(
    {
        "log": pl.Int64,
        "module": pl.String,
        "file": pl.UInt64,
        "is_write": pl.Boolean,
        "process": pl.Int64,
        "traced": pl.Int64,
        "bytes": pl.Int64,
        "duration_ns": pl.Float64,
        "slowest_ns": pl.Float64,
        "begin_bytes": pl.Int64,
        "misaligned": pl.Int64,
    }
)


@dataclass(frozen=True)
class _PlacedTrace:
    trace: Trace
    log: PlacedLog
    process: int


class Calls(NamedTuple):
    """The reads, or the writes, of a trace."""

    log: PlacedLog
    module: str
    is_write: bool
    operation: str | None
    """`None`: of several."""
    process: int
    trace: Trace
    mask: NDArray[np.bool_]
    """Which calls of the trace they are."""


class Traced:
    """All traces of all logs."""

    def __init__(self, logs: Sequence[PlacedLog], rows: pl.DataFrame, blocks: pl.DataFrame) -> None:
        """`rows` are `ROWS`; `blocks` has `block_bytes` by `log` and `file`."""
        self._traces = [
            _PlacedTrace(trace, log, log.first_process + min(max(trace.rank, 0), log.log.job.processes - 1))
            for log in logs
            for trace in log.log.traces
        ]
        block = {(log, file): size for log, file, size in blocks.select("log", "file", "block_bytes").iter_rows()}
        sums = [
            row for placed in self._traces for row in _sums(placed, block.get((placed.log.number, placed.trace.file)))
        ]
        self._sums = pl.DataFrame(sums, schema=_SUMS, orient="row")
        counted = (
            rows.with_columns(is_write=IS_WRITE)
            .filter(pl.col("is_write").is_not_null())
            .group_by(KEY)
            .agg(pl.col("calls").sum(), pl.col("operation").unique())
        )
        traced = self._sums.group_by(KEY).agg(pl.col("traced").sum())
        self._whole = counted.join(traced, on=KEY, how="left").with_columns(
            is_whole=pl.col("calls") == pl.col("traced").fill_null(0),
            operation=pl.when(pl.col("operation").list.len() == 1).then(pl.col("operation").list.first()),
        )

    def whole_modules(self) -> set[tuple[int, str]]:
        """Logs and their modules of which DXT traced every call."""
        modules = self._whole.group_by("log", "module").agg(pl.col("is_whole").all()).filter("is_whole")
        return set(modules.select("log", "module").iter_rows())

    def attributed(self, rows: pl.DataFrame) -> pl.DataFrame:
        """`ROWS` in which those of all processes together are rows of each, where that is known."""
        if not self._traces:
            return rows
        shared = pl.col("process").is_null() & IS_WRITE.is_not_null()
        known = self._whole.filter("is_whole", pl.col("operation").is_not_null()).select(*KEY)
        keyed = rows.with_columns(is_write=IS_WRITE)
        replaced = keyed.filter(shared).join(known, on=KEY, how="semi")
        each = replaced.select(*KEY, "path", "operation").join(self._sums, on=KEY).rename({"traced": "calls"})
        each = each.filter(pl.col("calls") > 0).drop("misaligned", "begin_bytes")
        left = pl.concat([keyed.filter(~shared), keyed.filter(shared).join(known, on=KEY, how="anti")])
        return pl.concat([left, each], how="diagonal").select(pl.col(name).cast(kind) for name, kind in ROWS.items())

    def extents(self) -> pl.DataFrame:
        """`begin_bytes` and `misaligned` by `KEY` and operation, of what was traced whole."""
        whole = self._whole.filter("is_whole", pl.col("operation").is_not_null()).select(*KEY, "operation")
        sums = self._sums.group_by(KEY).agg(
            pl.col("begin_bytes").min(),
            pl.when(pl.col("misaligned").is_not_null().all()).then(pl.col("misaligned").sum()),
        )
        return whole.join(sums, on=KEY)

    def calls(self) -> Iterator[Calls]:
        """Each trace's reads and its writes."""
        operations = {row[:4]: row[4] for row in self._whole.select(*KEY, "operation").iter_rows()}
        for placed in self._traces:
            for is_write in (False, True):
                mask = placed.trace.is_write == is_write
                if mask.any():
                    module = placed.trace.module
                    operation = operations.get((placed.log.number, module, placed.trace.file, is_write))
                    yield Calls(placed.log, module, is_write, operation, placed.process, placed.trace, mask)

    def nodes(self) -> dict[int, str]:
        """The node of each process that was traced."""
        return {placed.process: placed.trace.node for placed in self._traces if placed.trace.node}


def latest_end_s(trace: Trace) -> float:
    """The end of the last call of a trace, from the start of its job."""
    ends = trace.end_s[np.isfinite(trace.end_s)]
    return float(ends.max()) if len(ends) else 0.0


def durations_ns(trace: Trace) -> NDArray[np.float64]:
    """How long each call of a trace took: 0 where it says what cannot be, and not longer than any can."""
    lasting = np.nan_to_num(trace.end_s - trace.start_s, nan=0, posinf=0, neginf=0)
    return lasting.clip(0, _LONGEST_CALL_S) * 1e9


def _sums(placed: _PlacedTrace, block_bytes: int | None) -> Iterator[tuple[object, ...]]:
    trace = placed.trace
    lasting = durations_ns(trace)
    for is_write in (False, True):
        mask = trace.is_write == is_write
        if not mask.any():
            continue
        offsets = trace.offset_bytes[mask]
        yield (
            placed.log.number, trace.module, trace.file, is_write, placed.process, int(mask.sum()),
            int(trace.length_bytes[mask].clip(0).sum()), float(lasting[mask].sum()), float(lasting[mask].max()),
            int(offsets.min()), int((offsets % block_bytes != 0).sum()) if block_bytes else None,
        )  # fmt: skip

"""When bytes were moved, from HEATMAP and DXT: the time line, the heat of each process, latencies.

Of a module that DXT traced whole, every call is known; else HEATMAP knows the bytes, in its steps of 0.1 s and more.
Both are spread evenly over the steps of the profile that they reach into. Metadata is in neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from ioassay.profiles.model import HEAT, LATENCIES, MOST_HEAT_BINS, MOST_TIMELINE_BINS, TIMELINE
from ioassay.profiles.spreading import Floats, bins_of, spread
from ioassay.protocol.record_layout import LATENCY_BEGINS_TICKS

_FINEST_S = 0.1
"""HEATMAP's finest step."""
_MOST_FINE_S = 100.0
"""Up to this duration what DXT traced is shown in the finest steps, else in seconds."""
_LATEST_S = 1e9


@dataclass(frozen=True)
class Moves:
    """Bytes that a process moved in intervals of time, in seconds from the origin; all arrays have one length."""

    process: int
    operation: str
    is_write: bool
    start_s: Floats
    end_s: Floats
    bytes: Floats
    is_traced: bool
    """Each is a call; else what HEATMAP counted in a step."""


def timeline_step(duration_s: float, steps_s: Iterable[float], is_traced: bool) -> float:
    """Steps of the time line: as fine as the source's, and not more than are allowed."""
    finest = [step for step in steps_s if step >= _FINEST_S]
    if is_traced:
        finest.append(_FINEST_S if duration_s <= _MOST_FINE_S else 1.0)
    step = min(finest, default=1.0)
    while duration_s / step > MOST_TIMELINE_BINS - 2:
        step *= 2
    return step


class Timelines:
    """The sums of all moves."""

    def __init__(self, duration_s: float, step_s: float) -> None:
        self.step_s = step_s
        self._bins = min(int(duration_s / step_s) + 2, MOST_TIMELINE_BINS)
        per_heat = -(-self._bins // MOST_HEAT_BINS)
        self._per_heat = per_heat
        self.heat_step_s = step_s * per_heat
        self._sums: dict[str, Floats] = {}
        """Of each operation: calls, bytes, duration, slowest."""
        self._untraced: set[str] = set()
        self._heat: dict[int, Floats] = {}
        """Of each process: bytes read, bytes written, time of reads, of writes."""
        self._timeless: set[int] = set()

    def add(self, moves: Moves, is_heat: bool) -> None:
        """Adds moves, to the heat only where they reach the file system."""
        keep = np.isfinite(moves.start_s) & np.isfinite(moves.end_s) & (moves.bytes >= 0)
        start = np.clip(moves.start_s[keep], 0, _LATEST_S)
        end, moved = np.clip(moves.end_s[keep], start, _LATEST_S), moves.bytes[keep]
        if not len(start):
            return
        sums = self._sums.setdefault(moves.operation, np.zeros((4, self._bins)))
        in_bins = [spread(start, end, moved, self.step_s, self._bins)]
        if moves.is_traced:
            bins = bins_of(start, self.step_s, self._bins)
            in_bins.append(spread(start, end, (end - start) * 1e9, self.step_s, self._bins))
            sums[0] += np.bincount(bins, minlength=self._bins)
            sums[2] += in_bins[1]
            np.maximum.at(sums[3], bins, (end - start) * 1e9)
        else:
            self._untraced.add(moves.operation)
        sums[1] += in_bins[0]
        if is_heat:
            heat = self._heat.setdefault(moves.process, np.zeros((4, -(-self._bins // self._per_heat))))
            if not moves.is_traced:
                self._timeless.add(moves.process)
            for kind, value in enumerate(in_bins):
                heat[2 * kind + moves.is_write] += np.add.reduceat(value, np.arange(0, self._bins, self._per_heat))

    def timeline(self) -> pl.DataFrame:
        """`TIMELINE`."""
        parts = [TIMELINE.to_frame()]
        for operation, sums in sorted(self._sums.items()):
            (busy,) = np.nonzero(sums.any(axis=0))
            columns = dict(zip(list(TIMELINE)[2:], sums[:, busy], strict=True))
            rows = pl.DataFrame({"start_s": busy * self.step_s, "operation": [operation] * len(busy)} | columns)
            if operation in self._untraced:
                unknown = ("calls", "duration_ns", "slowest_ns")
                rows = rows.with_columns(pl.lit(None, pl.Float64).alias(name) for name in unknown)
            parts.append(rows.cast(dict(TIMELINE)))  # type: ignore[arg-type]
        return pl.concat(parts).sort("start_s", "operation")

    def heat(self) -> pl.DataFrame:
        """`HEAT`. Times are null where not every call was traced."""
        parts = [HEAT.to_frame()]
        names = ("read_bytes", "written_bytes", "read_ns", "write_ns")
        for process, sums in sorted(self._heat.items()):
            (busy,) = np.nonzero(sums.any(axis=0))
            rows = pl.DataFrame(
                {"process": [process] * len(busy), "start_s": busy * self.heat_step_s}
                | dict(zip(names, sums[:, busy], strict=True))
            ).with_columns(metadata_ns=None)
            if process in self._timeless:
                rows = rows.with_columns(read_ns=None, write_ns=None)
            parts.append(rows.cast(dict(HEAT)))  # type: ignore[arg-type]
        return pl.concat(parts)


def latencies(durations_ns: Mapping[str, Iterable[Floats]]) -> pl.DataFrame:
    """`LATENCIES` of calls by operation."""
    begins = np.array(LATENCY_BEGINS_TICKS, dtype=np.float64)
    parts = [LATENCIES.to_frame()]
    for operation, every in sorted(durations_ns.items()):
        durations = np.concatenate([np.zeros(0), *every])
        buckets = np.clip(np.searchsorted(begins, durations, side="right") - 1, 0, None)
        calls = np.bincount(buckets, minlength=len(begins))
        (used,) = np.nonzero(calls)
        columns = {
            "operation": [operation] * len(used),
            "begin_ns": begins[used],
            "end_ns": np.append(begins[1:], np.nan)[used],
            "calls": calls[used],
        }
        parts.append(pl.DataFrame(columns, schema=LATENCIES, nan_to_null=True))
    return pl.concat(parts)

"""Rows of seconds, added up while they are read: the time line, the heat of each process, the sums of each process."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ioassay.protocol.record_layout import MOST_OPERATIONS, OPERATIONS, SECOND, TOTALS, BlockKind
from ioassay.results.profile_model import (
    DIRECTION,
    DIRECTIONS,
    HEAT,
    MOST_HEAT_BINS,
    MOST_TIMELINE_BINS,
    PROCESS_OPERATIONS,
    TIMELINE,
)
from ioassay.results.records.processes import Image
from ioassay.results.records.tables import Rows, Table

_N = len(OPERATIONS)

_MEMBERS = np.array(
    [[DIRECTION.get(name) == direction for direction in DIRECTIONS] for name in OPERATIONS], dtype=float
)
"""Which operations make up which direction."""

_WIDEST = 31
"""The widest row that is believed has 2^31 seconds."""

_MOST_PARTS = 1 << 22
"""Seconds over which the rows of one table are spread. More are not what a recorder writes."""

Floats = NDArray[np.float64]


class Timelines:
    """Everything that is a sum of rows of seconds."""

    def __init__(self, begin_ns: int, end_ns: int, processes: int) -> None:
        self.origin_s = begin_ns // 10**9
        seconds = end_ns // 10**9 - self.origin_s + 1
        self._shift = max(0, (-(-seconds // MOST_TIMELINE_BINS) - 1).bit_length())
        self.step_s = 1 << self._shift
        self._bins = (seconds >> self._shift) + 1
        self._heat_bins = -(-self._bins // MOST_HEAT_BINS)
        """Steps of the time line in one of the heat."""
        self.heat_step_s = self.step_s * self._heat_bins
        self._sums = np.zeros((3, self._bins, _N))
        self._slowest = np.zeros(self._bins * _N)
        self._of_processes = np.zeros((processes, 4, _N))
        self._heat: list[tuple[int, NDArray[np.int64], Floats]] = []

    def add(self, image: Image, table: Table) -> int:
        """Adds the rows of a table. Returns how many cannot be of its process."""
        rows = np.concatenate([table.seconds(), _current(image, table)])
        second = rows["second"].astype(np.int64)
        first, last = image.begin_ns // 10**9 - 1, image.end_ns // 10**9 + 1
        widths = np.minimum(rows["width"], _WIDEST).astype(np.int64)
        # A row that began before the image did is its own where it reaches into it.
        fits = (second + (1 << widths) > first) & (second <= last) & (rows["operation"] < _N)
        lost = int((~fits & (second != 0)).sum())
        if not fits.all():
            rows, second, widths = rows[fits], second[fits], widths[fits]
        lasting = np.clip(np.minimum(1 << widths, last - second), 1, None)
        if lasting.sum() > _MOST_PARTS:
            return lost + len(rows)
        if len(rows):
            self._add(image, rows, second, lasting)
        return lost

    def _add(self, image: Image, rows: Rows, second: NDArray[np.int64], lasting: NDArray[np.int64]) -> None:
        # Few of all operations happen in a process: what is added up has a column for each of these.
        used, operation = np.unique(rows["operation"], return_inverse=True)
        operation = operation.astype(np.int64)
        values: list[Floats] = [rows[name].astype(np.float64) for name in ("calls", "bytes")]
        values.append(rows["ticks"] * image.ns_per_tick)
        slowest_ns = rows["slowest_ticks"] * image.ns_per_tick
        own = self._of_processes[image.process]
        for at, value in enumerate(values):
            own[at, used] += np.bincount(operation, value, len(used))
        np.maximum.at(own[3], used[operation], slowest_ns)

        bins = self._bins_of(second)
        np.maximum.at(self._slowest, bins * _N + used[operation], slowest_ns)
        if lasting.max() > 1:
            of = np.repeat(np.arange(len(rows)), lasting)
            within = np.arange(len(of)) - np.repeat(np.cumsum(lasting) - lasting, lasting)
            bins, operation = self._bins_of(second[of] + within), operation[of]
            values = [value[of] / lasting[of] for value in values]
        low, steps = int(bins.min()), int(bins.max() - bins.min()) + 1
        places = (bins - low) * len(used) + operation
        sums = [np.bincount(places, value, steps * len(used)).reshape(steps, len(used)) for value in values]
        for at, grid in enumerate(sums):
            self._sums[at, low : low + steps, used] += grid.T
        self._add_heat(image.process, low, sums[1] @ _MEMBERS[used, :2], sums[2] @ _MEMBERS[used])

    def _bins_of(self, second: NDArray[np.int64]) -> NDArray[np.int64]:
        bins: NDArray[np.int64] = np.clip(second - self.origin_s >> self._shift, 0, self._bins - 1)
        return bins

    def _add_heat(self, process: int, low: int, moved: Floats, spent: Floats) -> None:
        steps = (low + np.arange(len(moved))) // self._heat_bins
        first = np.flatnonzero(np.diff(steps, prepend=-1))
        summed = np.add.reduceat(np.concatenate([moved, spent], axis=1), first, axis=0)
        busy = summed.any(axis=1)
        self._heat.append((process, steps[first][busy], summed[busy]))

    def process_operations(self) -> pl.DataFrame:
        """`PROCESS_OPERATIONS`."""
        process, operation = np.nonzero(self._of_processes[:, 0] + self._of_processes[:, 2])
        sums = np.clip(self._of_processes[process, :, operation].round(), 0, 2.0**62).astype(np.int64)
        return _frame(
            {"process": process, "operation": operation}
            | {name: sums[:, at] for at, name in enumerate(("calls", "bytes", "duration_ns", "slowest_ns"))},
            PROCESS_OPERATIONS,
        )

    def timeline(self) -> pl.DataFrame:
        """`TIMELINE`."""
        step, operation = np.nonzero(self._sums.any(axis=0))
        columns = ("calls", "bytes", "duration_ns")
        return _frame(
            {"start_s": step * float(self.step_s), "operation": operation}
            | {name: self._sums[at, step, operation] for at, name in enumerate(columns)}
            | {"slowest_ns": self._slowest[step * _N + operation]},
            TIMELINE,
        )

    def heat(self) -> pl.DataFrame:
        """`HEAT`. Images of a process may share a step."""
        if not self._heat:
            return HEAT.to_frame()
        process = np.concatenate([np.full(len(steps), process) for process, steps, _ in self._heat])
        start = np.concatenate([steps for _, steps, _ in self._heat]) * float(self.heat_step_s)
        values = np.concatenate([summed for _, _, summed in self._heat])
        columns = {"process": process, "start_s": start} | {
            name: values[:, at] for at, name in enumerate(list(HEAT)[2:])
        }
        return pl.DataFrame(columns, schema=HEAT).group_by("process", "start_s").sum().sort("process", "start_s")


def _current(image: Image, table: Table) -> Rows:
    """What threads did in the second that is not over, as rows."""
    _, threads = table.rows(BlockKind.THREAD)
    totals = threads["totals"].reshape(len(threads), MOST_OPERATIONS, len(TOTALS))
    thread, operation = np.nonzero(totals.any(axis=2))
    rows = np.zeros(len(thread), SECOND)
    rows["second"] = threads["second"][thread]
    rows["operation"] = operation
    rows["width"] = min(int(image.found.header["width"]), _WIDEST)
    for at, name in enumerate(TOTALS):
        rows[name] = totals[thread, operation, at]
    return rows


def _frame(columns: dict[str, NDArray[Any]], schema: pl.Schema) -> pl.DataFrame:
    names = np.array(OPERATIONS)[columns["operation"]]
    return pl.DataFrame(columns | {"operation": names}, schema=schema)

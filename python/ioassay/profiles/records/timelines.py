"""Rows of seconds and steps, added up while they are read: the time line, the heat of each process, the sums of each
process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ioassay.profiles.model import (
    DIRECTION,
    DIRECTIONS,
    HEAT,
    MOST_HEAT_BINS,
    MOST_TIMELINE_BINS,
    PROCESS_OPERATIONS,
    TIMELINE,
)
from ioassay.profiles.records.processes import Image
from ioassay.profiles.records.tables import Rows, Table
from ioassay.protocol.record_layout import MOST_OPERATIONS, OPERATIONS, SECOND, STEPS_PER_SECOND, TOTALS, BlockKind

_N = len(OPERATIONS)

_MEMBERS = np.array(
    [[DIRECTION.get(name) == direction for direction in DIRECTIONS] for name in OPERATIONS], dtype=float
)
"""Which operations make up which direction."""

_WIDEST = 31
"""The widest row that is believed has 2^31 seconds."""

_FEWEST_STEPS = 128
"""Of the time line of a run with steps shorter than a second; up to twice as many."""

_SECOND = STEPS_PER_SECOND.bit_length() - 1
"""A second has 2 to this power of the shortest steps: ticks of the time line."""

_MOST_PARTS = 1 << 22
"""Steps over which the rows of one table are spread. More are not what a recorder writes."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class _Amounts:
    """What was done, row by row."""

    begin: Integers
    """In shortest steps since 1970."""
    length: Integers
    operation: Integers
    values: Floats
    """By rows: calls, bytes, ticks, and the ticks of the slowest call."""

    def where(self, rows: NDArray[np.bool]) -> _Amounts:
        return _Amounts(self.begin[rows], self.length[rows], self.operation[rows], self.values[rows])

    def and_also(self, other: _Amounts) -> _Amounts:
        return _Amounts(
            np.concatenate([self.begin, other.begin]),
            np.concatenate([self.length, other.length]),
            np.concatenate([self.operation, other.operation]),
            np.concatenate([self.values, other.values]),
        )


class Timelines:
    """Everything that is a sum of rows of seconds; of steps, where the run is short and its tables have them."""

    def __init__(self, begin_ns: int, end_ns: int, processes: int, *, growing_ns: int = 0, has_steps: bool) -> None:
        """`growing_ns`: how much longer the run may become while its tables are read."""
        steps = max(1, -(-(end_ns - begin_ns) * STEPS_PER_SECOND // 10**9))
        shift = (-(-steps // (2 * _FEWEST_STEPS)) - 1).bit_length()
        if not has_steps or shift >= _SECOND:
            seconds = (end_ns + growing_ns) // 10**9 - begin_ns // 10**9 + 1
            shift = _SECOND + max(0, (-(-seconds // MOST_TIMELINE_BINS) - 1).bit_length())
        self._shift = shift
        # Rows of a second lie within a step, or steps within a second.
        aligned = min(shift, _SECOND)
        self._origin = begin_ns * STEPS_PER_SECOND // 10**9 >> aligned << aligned
        self.origin_ns = self._origin * 10**9 // STEPS_PER_SECOND
        self.step_s = 2.0 ** (shift - _SECOND)
        bins = [self._bin_of(ns * STEPS_PER_SECOND // 10**9) + 2 for ns in (end_ns, end_ns + growing_ns)]
        self._bins = bins[1]
        self._heat_bins = -(-bins[0] // MOST_HEAT_BINS)
        """Steps of the time line in one of the heat."""
        self.heat_step_s = self.step_s * self._heat_bins
        self._sums = np.zeros((3, self._bins, _N))
        self._slowest = np.zeros(self._bins * _N)
        self._of_processes = np.zeros((processes, 4, _N))
        self._heat: list[tuple[int, Integers, Floats]] = []

    def add(self, image: Image, table: Table) -> int:
        """Adds the rows of a table. Returns how many cannot be of its process."""
        rows = np.concatenate([table.seconds(), _current(image, table)])
        amounts = _amounts(rows, rows["second"].astype(np.int64) << _SECOND, _SECOND)
        first, last = image.begin_ns // 10**9 - 1, image.end_ns // 10**9 + 1
        # A row that began before the image did is its own where it reaches into it.
        fits = (amounts.begin + amounts.length > first << _SECOND) & (amounts.begin <= last << _SECOND)
        fits &= amounts.operation < _N
        lost = int((~fits & (rows["second"] != 0)).sum())
        amounts = amounts.where(fits)
        if not len(amounts.begin):
            return lost
        self._add_to_process(image, amounts)
        if self._shift < _SECOND:
            steps = _steps(image, table)
            known = (steps.begin >= first << _SECOND) & (steps.begin <= last << _SECOND) & (steps.operation < _N)
            amounts = _rest(amounts, steps.where(known)).and_also(steps.where(known))
        return lost if self._add(image, amounts) else lost + len(amounts.begin)

    def _add_to_process(self, image: Image, amounts: _Amounts) -> None:
        sums = self._of_processes[image.process]
        for column, value in enumerate(amounts.values.T[:3] * _factors(image)[:3, None]):
            sums[column] += np.bincount(amounts.operation, value, _N)
        np.maximum.at(sums[3], amounts.operation, amounts.values[:, 3] * image.ns_per_tick)

    def _add(self, image: Image, amounts: _Amounts) -> bool:
        # Few of all operations happen in a process: what is added up has a column for each of these.
        used, operation = np.unique(amounts.operation, return_inverse=True)
        operation = operation.astype(np.int64)
        values = list(amounts.values.T * _factors(image)[:, None])
        begin, end = self._within(image, amounts)
        bins, lasting = self._bins_of(begin), self._bins_of(end - 1)
        lasting = lasting - bins + 1
        if lasting.sum() > _MOST_PARTS:
            return False
        np.maximum.at(self._slowest, bins * _N + used[operation], values.pop())
        if lasting.max() > 1:
            of = np.repeat(np.arange(len(begin)), lasting)
            within = np.arange(len(of)) - np.repeat(np.cumsum(lasting) - lasting, lasting)
            bins, operation = bins[of] + within, operation[of]
            begins = self._origin + (bins << self._shift)
            part = np.minimum(begins + (1 << self._shift), end[of]) - np.maximum(begins, begin[of])
            # What lies beyond the last step is in the last one.
            part = np.where(within == lasting[of] - 1, end[of] - np.maximum(begins, begin[of]), part)
            share = part / (end - begin)[of]
            values = [value[of] * share for value in values]
        low, steps = int(bins.min()), int(bins.max() - bins.min()) + 1
        places = (bins - low) * len(used) + operation
        sums = [np.bincount(places, value, steps * len(used)).reshape(steps, len(used)) for value in values]
        for column, grid in enumerate(sums):
            self._sums[column, low : low + steps, used] += grid.T
        self._add_heat(image.process, low, sums[1] @ _MEMBERS[used, :2], sums[2] @ _MEMBERS[used])
        return True

    def _within(self, image: Image, amounts: _Amounts) -> tuple[Integers, Integers]:
        """Begin and end of each row, without what lies before or after its image, unless that is all of it."""
        begin, end = amounts.begin, amounts.begin + amounts.length
        aligned = 0 if self._shift < _SECOND else _SECOND
        first, last = (ns * STEPS_PER_SECOND // 10**9 >> aligned for ns in (image.begin_ns, image.end_ns))
        cut_begin, cut_end = np.maximum(begin, first << aligned), np.minimum(end, last + 1 << aligned)
        is_within = cut_end > cut_begin
        return np.where(is_within, cut_begin, begin), np.where(is_within, cut_end, end)

    def _bin_of(self, moment: int) -> int:
        return moment - self._origin >> self._shift

    def _bins_of(self, moments: Integers) -> Integers:
        bins: Integers = np.clip(moments - self._origin >> self._shift, 0, self._bins - 1)
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
            | {name: sums[:, column] for column, name in enumerate(("calls", "bytes", "duration_ns", "slowest_ns"))},
            PROCESS_OPERATIONS,
        )

    def timeline(self) -> pl.DataFrame:
        """`TIMELINE`."""
        step, operation = np.nonzero(self._sums.any(axis=0))
        columns = ("calls", "bytes", "duration_ns")
        return _frame(
            {"start_s": step * self.step_s, "operation": operation}
            | {name: self._sums[column, step, operation] for column, name in enumerate(columns)}
            | {"slowest_ns": self._slowest[step * _N + operation]},
            TIMELINE,
        )

    def heat(self) -> pl.DataFrame:
        """`HEAT`. Images of a process may share a step."""
        if not self._heat:
            return HEAT.to_frame()
        process = np.concatenate([np.full(len(steps), process) for process, steps, _ in self._heat])
        start = np.concatenate([steps for _, steps, _ in self._heat]) * self.heat_step_s
        values = np.concatenate([summed for _, _, summed in self._heat])
        columns = {"process": process, "start_s": start} | {
            name: values[:, column] for column, name in enumerate(list(HEAT)[2:])
        }
        return pl.DataFrame(columns, schema=HEAT).group_by("process", "start_s").sum().sort("process", "start_s")


def _current(image: Image, table: Table) -> Rows:
    """What threads did in the second that is not over, as rows of seconds."""
    rows = _current_rows(table, "second")
    rows["width"] = min(int(image.table.header["width"]), _WIDEST)
    return rows


def _current_rows(table: Table, begin: str) -> Rows:
    """What threads did in the second or step that is not over, as rows that begin there, as wide as steps are."""
    _, threads = table.rows(BlockKind.THREAD)
    totals = threads["totals"].reshape(len(threads), MOST_OPERATIONS, len(TOTALS))
    thread, operation = np.nonzero(totals.any(axis=2))
    rows = np.zeros(len(thread), SECOND)
    rows["second"] = threads[begin][thread]
    rows["operation"] = operation
    rows["width"] = np.minimum(threads["step_width"], _WIDEST)[thread]
    for column, name in enumerate(TOTALS):
        rows[name] = totals[thread, operation, column]
    return rows


def _amounts(rows: Rows, begin: Integers, unit: int) -> _Amounts:
    """`unit`: of rows of width 0, as a power of 2 of the shortest steps."""
    lengths = np.int64(1) << np.minimum(rows["width"], _WIDEST).astype(np.int64) + unit
    values = np.stack([rows[name].astype(np.float64) for name in TOTALS], axis=1)
    return _Amounts(begin, lengths, rows["operation"].astype(np.int64), values)


def _steps(image: Image, table: Table) -> _Amounts:
    """What is known of steps shorter than a second."""
    rows = np.concatenate([table.steps(), _current_rows(table, "step")])
    rows = rows[(rows["second"] != 0) & (rows["width"] < _SECOND)]
    # Steps are counted from the second before the one in which the table began.
    origin = image.begin_ns // 10**9 - 1
    return _amounts(rows, (origin << _SECOND) + rows["second"].astype(np.int64), 0)


def _rest(of_seconds: _Amounts, steps: _Amounts) -> _Amounts:
    """What rows of seconds have more than their steps: their time within the second is unknown."""
    is_second = of_seconds.length == 1 << _SECOND  # there are no steps of wider rows
    rows = of_seconds.where(is_second)
    key = np.concatenate([rows.begin >> _SECOND, steps.begin >> _SECOND]) * _N
    keys, key = np.unique(key + np.concatenate([rows.operation, steps.operation]), return_inverse=True)
    of_rows, taken = key[: len(rows.begin)], key[len(rows.begin) :]
    left = np.zeros((len(keys), len(TOTALS)))
    np.maximum.at(left[:, 3], of_rows, rows.values[:, 3])
    for column in range(3):
        left[:, column] = np.bincount(of_rows, rows.values[:, column], len(keys))
        left[:, column] -= np.bincount(taken, steps.values[:, column], len(keys))
    left[:, :3] = left[:, :3].clip(0)
    rest = _Amounts(keys // _N << _SECOND, np.full(len(keys), 1 << _SECOND), keys % _N, left)
    return rest.where(left[:, :3].sum(axis=1) > 0).and_also(of_seconds.where(~is_second))


def _factors(image: Image) -> Floats:
    """What makes `TOTALS` calls, bytes and nanoseconds."""
    return np.array([1, 1, image.ns_per_tick, image.ns_per_tick])


def _frame(columns: dict[str, NDArray[Any]], schema: pl.Schema) -> pl.DataFrame:
    names = np.array(OPERATIONS)[columns["operation"]]
    return pl.DataFrame(columns | {"operation": names}, schema=schema)

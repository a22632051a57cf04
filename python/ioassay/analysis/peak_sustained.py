"""Peak and sustained performance, as storage papers summarise a sweep in one table.

Peak is the best median over the sweep; being the best of several it is a little too high, and `best_of` says by how
much at most on average. Sustained is what a machine room can count on: the median over the
sweep points at and beyond the first one, in ascending clients, that reaches 90 % of the peak; so a system
that collapses under more clients shows it, and the slow start with few clients does not count. Instead of clients it
may be any other axis of the sweep; words, which do not ascend, are all sustained. The form of
the table is that of "Dell EMC Ready Solution for HPC PixStor Storage, capacity expansion" (2020), Table 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import polars as pl

from ioassay.analysis import axes, rates, series
from ioassay.analysis.axes import Axis, Value, Values
from ioassay.analysis.best_of import best_of
from ioassay.analysis.intervals import Interval
from ioassay.analysis.rate_units import UNITS, Unit
from ioassay.analysis.series import Series
from ioassay.results.document import RunDocument

SATURATED = 0.9
"""The share of the peak from which on a sweep counts as saturated."""


@dataclass(frozen=True)
class Level:
    """A rate (bytes/s or operations/s) and the sweep points that it rests on, as values of an axis."""

    rate: float
    at: tuple[Value, ...]
    axis: Axis = "clients"
    interval: Interval | None = None
    """Of a peak, where its point has enough repetitions: that of the highest true rate (`best_of`)."""
    alike: int = 1
    """Of a peak: points of the sweep that cannot be distinguished from its own, with this."""
    luck: float = 0.0
    """Of a peak: the share by which it is too high on average where these are equal."""
    stonewall: float | None = None
    """Of a peak: the median rate at the stonewall, where one came."""
    others: Values = ()
    """Of a peak: where axes beside its own were swept, its values on them."""


@dataclass(frozen=True)
class PeakSustained:
    """The two numbers that a sweep comes down to."""

    peak: Level
    sustained: Level


@dataclass(frozen=True)
class Row:
    """What the study asks for of a workload: each of its series, `None` where nothing valid was measured."""

    label: str
    workload: str
    unit: Unit
    series: Mapping[Series, PeakSustained | None]

    @property
    def is_write_and_read(self) -> bool:
        """True where nothing is done but one write and one read, as in the tables of the papers."""
        operations = [one.operation for one in self.series]
        return set(operations) <= {"write", "read"} and len(set(operations)) == len(operations)

    def of(self, operation: str) -> PeakSustained | None:
        """The first series with this operation."""
        return next((both for one, both in self.series.items() if one.operation == operation), None)


def peak_and_sustained(curve: Sequence[tuple[Value, float]], axis: Axis = "clients") -> PeakSustained | None:
    """Peak and sustained rate of `curve`: (value on the axis, median rate) per sweep point, in any order.

    Of several rates at one place the best counts, and of several equal peaks the one with the lowest value. An empty
    curve gives `None`.
    """
    if not curve:
        return None
    best: dict[Value, float] = {}
    for place, rate in curve:
        best[place] = max(rate, best.get(place, rate))
    ascending = sorted(best.items(), key=lambda point: (isinstance(point[0], str), point[0]))
    place, peak = max(ascending, key=lambda point: point[1])  # the first of equal ones
    first = next(at for at, (_, rate) in enumerate(ascending) if rate >= SATURATED * peak)
    plateau = ascending if isinstance(place, str) else ascending[first:]
    return PeakSustained(
        peak=Level(peak, (place,), axis),
        sustained=Level(median(rate for _, rate in plateau), tuple(place for place, _ in plateau), axis),
    )


def table(document: RunDocument, points: pl.DataFrame) -> list[Row]:
    """The rows that the study asks for, from the `points` of `rates.points`."""
    return [
        Row(
            label=row.label,
            workload=row.workload,
            unit=UNITS[row.unit],
            series={
                one: _of(rates.of(points, row.workload, one.operation, one.phase, one.job), UNITS[row.unit])
                for one in series.of_workload(document, row.workload)
            },
        )
        for row in document.study.summary
    ]


def _of(points: pl.DataFrame, unit: Unit) -> PeakSustained | None:
    axis = axes.axis(points)
    place = axes.column(axis)
    # Some imported results do not say how many there were.
    curve = axes.with_column(rates.repeated(points, unit.column), axis).drop_nulls(place)
    both = peak_and_sustained(list(zip(curve[place], curve["median"], strict=True)), axis)
    if both is None:
        return None
    peak = curve.filter(pl.col(place) == both.peak.at[0], pl.col("median") == both.peak.rate).row(0, named=True)
    others = axes.values(peak["point"], [one for one in axes.swept(points) if one != axis])
    level = replace(both.peak, stonewall=peak["stonewall"], others=others)
    if peak["low"] is not None:
        best = best_of(curve["rates"].to_list(), estimate=both.peak.rate)
        alone = Interval(peak["median"], peak["low"], peak["high"], peak["confidence"])
        level = (
            replace(level, interval=alone)
            if best is None
            else replace(level, interval=best.interval, alike=best.alike, luck=best.luck)
        )
    return replace(both, peak=level)

"""Peak and sustained performance, as storage papers summarise a sweep in one table.

Peak is the best median over the sweep. Sustained is what a machine room can count on: the median over the sweep points
at and beyond the first one, in ascending clients, that reaches 90 % of the peak; so a system that collapses under more
clients shows it, and the slow start with few clients does not count. Instead of clients it may be any other axis of the
sweep; words, which do not ascend, are all sustained. The form of the table is that of "Dell EMC Ready Solution for HPC
PixStor Storage, capacity expansion" (2020), Table 4.

The highest of several medians is too high on average, the more points lie close to the best and the more they scatter:
of 7 equal points with 3 repetitions and 5 % scatter by 4.5 %. `best_of` says two things of it, both from the means of
logarithms with moderated variances:

- **Interval** of the highest true rate among all points: its upper end is the highest upper end of Student's
  intervals, since that of the really best point suffices; its lower end the highest lower end of intervals that hold
  for all points together (Bonferroni), since whichever looks best was chosen.
- **Luck**: how far the highest of so many normal means lies above them on average (Tippett, 1925), for as many points
  as cannot be distinguished from the best (Gupta's subset, 1965). It is what the estimate may be too high by, exact
  where these are equal, and less where they are not; so it is said beside the number and not taken from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import polars as pl

from ioassay.analysis import axes, rates, series
from ioassay.analysis.axes import Axis, Value, Values
from ioassay.analysis.intervals import WANTED, Interval
from ioassay.analysis.moderated_variance import moderated
from ioassay.analysis.series import Series
from ioassay.store.document import RunDocument
from ioassay.text.rate_units import UNITS, Unit

SATURATED = 0.9
"""The share of the peak from which on a sweep counts as saturated."""

_MEDIAN_ERROR = 1.2
"""Standard error of a median over that of a mean: of 3 to 10 normal values between 1.09 and 1.22."""


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
        """True where one write and one read are done and nothing else, as in the tables of the papers."""
        operations = [one.operation for one in self.series]
        return sorted(operations) == ["read", "write"]

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
    first = next(index for index, (_, rate) in enumerate(ascending) if rate >= SATURATED * peak)
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
                for one in series.without_preparation(series.of_workload(document, row.workload))
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


@dataclass(frozen=True)
class Best:
    """What is known of the highest median."""

    interval: Interval
    """Of the highest true rate, around the highest median."""
    alike: int
    """Points that cannot be distinguished from the best, which is one of them."""
    luck: float
    """The share of the rate by which the highest median is too high on average where these are equal; 0 of one."""


def best_of(points: Sequence[Sequence[float]], *, estimate: float) -> Best | None:
    """What is known of the highest of `points`, each the repetitions of one, above 0; `estimate` is its median.

    `None` for fewer than two points, and where one has fewer than two repetitions or a rate that is not above 0.
    """
    if len(points) < 2 or min(map(len, points)) < 2 or min(map(min, points)) <= 0:
        return None
    import numpy as np  # noqa: PLC0415
    from scipy.special import stdtrit  # noqa: PLC0415  (0.3 s, and few commands need it)

    logs = [np.log(point) for point in points]
    means = np.array([log.mean() for log in logs])
    counts = np.array([len(log) for log in logs], dtype=np.float64)
    variances, freedom = moderated(np.array([log.var(ddof=1) for log in logs]), counts - 1)
    errors = np.sqrt(variances / counts)
    tail = (1 - WANTED) / 2
    low = float(np.exp(np.max(means + stdtrit(freedom, tail / len(points)) * errors)))
    high = float(np.exp(np.max(means - stdtrit(freedom, tail) * errors)))
    best = int(means.argmax())
    apart = (means[best] - means) / np.hypot(errors, errors[best])
    alike = int(np.sum(apart <= -stdtrit(np.minimum(freedom, freedom[best]), (1 - WANTED) / (len(points) - 1))))
    # The median of few repetitions scatters a little more than their mean, which the luck is of.
    luck = math.expm1(_highest_of(alike) * float(errors[best]) * _MEDIAN_ERROR)
    return Best(Interval(estimate, min(low, estimate), max(high, estimate), WANTED), alike, luck)


def _highest_of(count: int) -> float:
    """The mean of the highest of `count` standard normal values: the integral of 1 - F(x)^n - F(-x)^n, x from 0."""
    if count == 1:
        return 0.0
    import numpy as np  # noqa: PLC0415
    from scipy.special import ndtr  # noqa: PLC0415

    at = np.linspace(0, 8, 801)
    return float(np.trapezoid(1 - ndtr(at) ** count - ndtr(-at) ** count, at))

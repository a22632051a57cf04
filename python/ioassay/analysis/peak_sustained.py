"""Peak and sustained performance, as storage papers summarise a sweep in one table.

Peak is the best median over the sweep. Sustained is the dependable rate: the median over the sweep points
from the first one (in ascending clients) that reaches 90 % of the peak; so a system that collapses under more
clients shows it, and the slow start with few clients does not count. Clients may be any other axis of the sweep; on an
axis of words, which have no order, all points count. The form of the table is that of "Dell EMC Ready Solution for HPC
PixStor Storage, capacity expansion" (2020), Table 4.

The highest of several medians is too high on average; the more so the more points lie close to the best and the more
they scatter: by 4.5 % for 7 equal points with 3 repetitions and 5 % scatter. `best_of` estimates two things, both from
the means of logarithms with moderated variances:

- **Interval** of the highest true rate among all points: its upper end is the highest upper end of Student's
  intervals, because that of the really best point suffices; its lower end is the highest lower end of intervals that
  hold for all points together (Bonferroni), because the best-looking point was selected.
- **Luck**: how far the highest of several normal means lies above them on average (Tippett, 1925), for the points that
  cannot be distinguished from the best (Gupta's subset, 1965). The estimate is too high by this if these are equal, and
  by less if they are not; so it is reported beside the number and not subtracted.
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
"""The share of the peak above which a sweep counts as saturated."""

_MEDIAN_ERROR = 1.2
"""Standard error of a median over that of a mean: between 1.09 and 1.22 for 3 to 10 normal values."""


@dataclass(frozen=True)
class Level:
    """A rate (bytes/s or operations/s), and the sweep points that it rests on as values of an axis."""

    rate: float
    points: tuple[Value, ...]
    axis: Axis = "clients"
    interval: Interval | None = None
    """For a peak whose point has enough repetitions: that of the highest true rate (`best_of`)."""
    alike: int = 1
    """For a peak: the number of points that cannot be distinguished from it, including itself."""
    luck: float = 0.0
    """For a peak: the share by which it is too high on average if these points are equal."""
    stonewall: float | None = None
    """For a peak: the median rate at the stonewall, if there was one."""
    others: Values = ()
    """For a peak: its values on other swept axes."""


@dataclass(frozen=True)
class PeakSustained:
    """Peak and sustained rate of a sweep."""

    peak: Level
    sustained: Level


@dataclass(frozen=True)
class Row:
    """A row of the study's summary of a workload: its series, `None` without a valid measurement."""

    label: str
    workload: str
    unit: Unit
    series: Mapping[Series, PeakSustained | None]

    @property
    def is_write_and_read(self) -> bool:
        """True if the series are one write and one read, as in the tables of the papers."""
        operations = [series.operation for series in self.series]
        return sorted(operations) == ["read", "write"]

    def of(self, operation: str) -> PeakSustained | None:
        """The first series with this operation."""
        return next((both for series, both in self.series.items() if series.operation == operation), None)


def peak_and_sustained(curve: Sequence[tuple[Value, float]], axis: Axis = "clients") -> PeakSustained | None:
    """Peak and sustained rate of `curve`: (value on the axis, median rate) per sweep point, in any order.

    The best of several rates at one value counts, and of equal peaks the one with the lowest value. An empty curve
    gives `None`.
    """
    if not curve:
        return None
    best: dict[Value, float] = {}
    for place, rate in curve:
        best[place] = max(rate, best.get(place, rate))
    ascending = sorted(best.items(), key=lambda point: (isinstance(point[0], str), point[0]))
    place, peak = max(ascending, key=lambda point: point[1])  # the first of equal peaks
    first = next(index for index, (_, rate) in enumerate(ascending) if rate >= SATURATED * peak)
    plateau = ascending if isinstance(place, str) else ascending[first:]
    return PeakSustained(
        peak=Level(peak, (place,), axis),
        sustained=Level(median(rate for _, rate in plateau), tuple(place for place, _ in plateau), axis),
    )


def table(document: RunDocument, points: pl.DataFrame) -> list[Row]:
    """The rows of the study's summary, from the `points` of `rates.points`."""
    return [
        Row(
            label=row.label,
            workload=row.workload,
            unit=UNITS[row.unit],
            series={
                key: _of(measured, UNITS[row.unit])
                for key in series.without_preparation(series.of_workload(document, row.workload))
                for measured in [rates.of(points, row.workload, key.operation, key.phase, key.job)]
                # They have no rate in bytes.
                if UNITS[row.unit].column != "rate_bytes_per_s" or not rates.moves_nothing(measured)
            },
        )
        for row in document.study.summary
    ]


def _of(points: pl.DataFrame, unit: Unit) -> PeakSustained | None:
    axis = axes.axis(points)
    place = axes.column(axis)
    # Some imported results do not state the number of clients.
    curve = axes.with_column(rates.repeated(points, unit.column), axis).drop_nulls(place)
    both = peak_and_sustained(list(zip(curve[place], curve["median"], strict=True)), axis)
    if both is None:
        return None
    peak = curve.filter(pl.col(place) == both.peak.points[0], pl.col("median") == both.peak.rate).row(0, named=True)
    others = axes.values(peak["point"], [name for name in axes.swept(points) if name != axis])
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
    """Estimates for the highest median."""

    interval: Interval
    """Interval of the highest true rate, around the highest median."""
    alike: int
    """The number of points that cannot be distinguished from the best, including it."""
    luck: float
    """The share by which the highest median is too high on average if these are equal; 0 for one point."""


def best_of(points: Sequence[Sequence[float]], *, estimate: float) -> Best | None:
    """Estimates for the highest of `points`, each a sequence of repetitions; `estimate` is its median.

    `None` for fewer than two points, or if a point has fewer than two repetitions or a rate that is not above 0.
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
    # The luck is that of means; the median of few repetitions scatters a little more.
    luck = math.expm1(_highest_of(alike) * float(errors[best]) * _MEDIAN_ERROR)
    return Best(Interval(estimate, min(low, estimate), max(high, estimate), WANTED), alike, luck)


def _highest_of(count: int) -> float:
    """The mean of the highest of `count` standard normal values: the integral of 1 - F(x)^n - F(-x)^n, x from 0."""
    if count == 1:
        return 0.0
    import numpy as np  # noqa: PLC0415
    from scipy.special import ndtr  # noqa: PLC0415

    points = np.linspace(0, 8, 801)
    return float(np.trapezoid(1 - ndtr(points) ** count - ndtr(-points) ** count, points))

"""Fits the Universal Scalability Law to the medians of each sweep over clients or ranks.

    X(N) = λN / (1 + σ(N - 1) + κN(N - 1))        peak at N = sqrt((1 - σ)/κ)

(Gunther, *A Simple Capacity Model of Massively Parallel Transaction Systems*, 1993; *Guerrilla Capacity Planning*,
2007.) λ is the rate of one client, σ the contention (the share of work that waits for a shared resource), κ the
coherency (the cost of agreement of each pair). Without κ the rate has no peak but the limit λ/σ; with σ above 1 one
client has the highest rate.

N/X is linear in 1/λ, σ/λ and κ/λ. So non-negative least squares of the relative residuals of N/X (Lawson and Hanson,
1974) give the best fit, without a start value or local minima. The intervals are those of a parametric bootstrap: rates
are drawn from the fitted law with errors as large as the observed ones, whose uncertainty is drawn, too (chi-square,
with the number of points minus three as degrees of freedom), and fitted again; with 4 to 7 points and errors of 3 and
10 % they covered 92 to 100 % where they claim 95 % (`test_scalability.py`). Resampling the residuals of 4 points would
claim far too much.

A sweep whose medians deviate from the law by more than `FOLLOWS` does not follow it, and no number of the law is
reported.

Not: the saturation point of a survey (`saturation`), sentences.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from ioassay.analysis import axes, rates, series
from ioassay.analysis.axes import Axis, Values
from ioassay.analysis.intervals import Interval
from ioassay.analysis.series import Series
from ioassay.store.document import RunDocument
from ioassay.store.measurement import Measurement
from ioassay.text.rate_units import RateColumn

FEWEST = 4
"""The fewest points of a sweep that determine three terms."""

FOLLOWS = 0.15
"""The largest typical deviation of the medians from the law, as a share of it, in a sweep that follows it."""

PLATEAU = 0.95
"""The share of the law's highest rate above which more clients gain almost nothing."""

CONFIDENCE = 0.95

_DRAWS = 400
_SEED = 1993
_SMALLEST = 0.02
"""Drawn errors leave at least this share of N/X: a rate is never below 0."""

_NEGLIGIBLE = 1e-9
"""Smaller terms are rounding errors of 0."""

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Array = NDArray[np.float64]

Reach = Literal["reached", "level", "not reached", "uncertain"]
"""`reached`: the rate significantly peaks within the sweep. `level`: the rate beyond the sweep may be only slightly
higher. `uncertain`: the law has a peak within the sweep, its interval extends beyond, and the last point is not level.
"""


@dataclass(frozen=True)
class Law:
    """The law with its terms: λ in the unit of the rates; σ and κ have no unit."""

    rate_of_one: float
    contention: float
    coherency: float

    def rate(self, count: float) -> float:
        """The rate of `count` clients or ranks."""
        cost = 1 + self.contention * (count - 1) + self.coherency * count * (count - 1)
        return self.rate_of_one * count / cost

    @property
    def peak_at(self) -> float:
        """The number with the highest rate; infinite if more always help, below 1 if one has it."""
        if self.contention > 1:
            return 0.0
        return math.sqrt((1 - self.contention) / self.coherency) if self.coherency > 0 else math.inf

    @property
    def highest(self) -> float:
        """The highest rate, or its limit without a peak; infinite if nothing limits it."""
        if math.isfinite(self.peak_at):
            return self.rate(max(self.peak_at, 1))
        return self.rate_of_one / self.contention if self.contention > 0 else math.inf


@dataclass(frozen=True)
class Fit:
    """The law of a sweep, the intervals of its terms, and the deviation of the medians."""

    law: Law
    contention: Interval
    coherency: Interval
    peak_at: Interval
    error: float
    """Typical relative deviation: the root of the sum of squares over the degrees of freedom."""

    @property
    def follows(self) -> bool:
        """True if the sweep follows the law."""
        return self.error <= FOLLOWS


@dataclass(frozen=True)
class Sweep:
    """A series at every point of its sweep."""

    workload: str
    series: Series
    files: int | None
    """The number of files of this sweep, if several were swept."""
    others: Values
    """The values of this sweep on other swept axes."""
    axis: Axis
    column: RateColumn
    medians: tuple[tuple[int, float], ...]
    """(clients or ranks, median rate), ascending."""
    rests_on: tuple[Measurement, ...]
    rises: bool
    """The last median is significantly above the previous one, which is below `PLATEAU` of it; intervals of both, if
    known, do not overlap."""
    falls: bool
    """The last median is significantly below the highest, by the same criterion."""
    fit: Fit | None
    """`None` with fewer than `FEWEST` points, or if a rate is 0."""

    @property
    def law(self) -> Fit | None:
        """The fit, if the sweep follows it."""
        return self.fit if self.fit is not None and self.fit.follows else None

    @property
    def best(self) -> tuple[int, float]:
        """The first point with the highest median."""
        return max(self.medians, key=lambda point: (point[1], -point[0]))

    @property
    def reach(self) -> Reach:
        """Whether the sweep reaches its highest rate: by the law if it follows it, otherwise by the medians."""
        last = self.medians[-1][0]
        if self.law is None:
            return "not reached" if self.rises else "reached" if self.falls else "level"
        if self.law.peak_at.high <= last:
            return "reached"
        if self.law.law.rate(last) / self.law.law.highest >= PLATEAU:
            return "level"
        return "uncertain" if self.law.law.peak_at <= last else "not reached"


def sweeps(document: RunDocument, points: pl.DataFrame) -> list[Sweep]:
    """Every series with at least two points of a sweep, from `rates.points`; surveys, which are grids, are left out."""
    surveyed = {survey.workload for survey in document.study.surveys}
    return [
        sweep
        for workload in dict.fromkeys(case.workload for case in document.cases)
        if workload not in surveyed
        for of_series in series.of_workload(document, workload)
        for sweep in _of_series(document, points.filter("valid"), workload, of_series)
    ]


def _of_series(document: RunDocument, points: pl.DataFrame, workload: str, of_series: Series) -> list[Sweep]:
    series_points = rates.of(points, workload, of_series.operation, of_series.phase, of_series.job)
    axis = axes.axis(series_points)
    if axis not in axes.COUNTED:
        return []
    series_points = series_points.filter(pl.col(axis).is_not_null())
    column = rates.column(document, series_points, workload)
    series_sweeps = []
    for others, files, part in _parts(series_points, axis):
        # The best of several points with the same count is used, as in the peak and sustained table.
        best = (
            rates.medians(part, column)
            .drop_nulls("median")
            .sort(axis, "median")
            .unique(axis, keep="last", maintain_order=True)
        )
        if best.height > 1:
            medians = tuple(zip(best[axis], best["median"], strict=True))
            last = best.row(-1, named=True)
            series_sweeps.append(
                Sweep(
                    workload=workload,
                    series=of_series,
                    files=files,
                    others=others,
                    axis=axis,
                    column=column,
                    medians=medians,
                    rests_on=tuple(rates.places(part)),
                    rises=_is_below(best.row(-2, named=True), last),
                    falls=_is_below(last, best.sort("median", axis, descending=[False, True]).row(-1, named=True)),
                    fit=fit(medians),
                )
            )
    return series_sweeps


def _parts(rows: pl.DataFrame, axis: Axis) -> Iterator[tuple[Values, int | None, pl.DataFrame]]:
    """Points that differ only in clients or ranks, with their values on the other axes and their number of files."""
    for others, same in axes.parts(rows, axis):
        if same.select(axis, "files").n_unique() > same[axis].n_unique():
            for (files,), part in same.partition_by("files", as_dict=True, maintain_order=True).items():
                yield others, files, part
        else:
            yield others, None, same


def _is_below(point: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True if the median of a point is significantly below that of another."""
    overlap = point["low"] is not None and other["low"] is not None and other["low"] <= point["high"]
    return bool(point["median"] < PLATEAU * other["median"]) and not overlap


def fit(medians: tuple[tuple[int, float], ...]) -> Fit | None:
    """The law through (clients or ranks, rate), each number once.

    `None` with fewer than `FEWEST` points, if a rate is not above 0, or if the fit has no finite rate of one client.
    The same points always give the same intervals.
    """
    import numpy as np  # noqa: PLC0415

    if len(medians) < FEWEST or min(rate for _, rate in medians) <= 0:
        return None
    counts = np.array([count for count, _ in medians], dtype=np.float64)
    terms = np.stack([np.ones_like(counts), counts - 1, counts * (counts - 1)], axis=1)
    costs = counts / np.array([rate for _, rate in medians])
    solved = _solve(terms, costs)
    law = _law(solved)
    if law is None:
        return None
    fitted = terms @ solved
    freedom = len(medians) - terms.shape[1]
    squares = float(np.sum((fitted / costs - 1) ** 2))
    drawn = _drawn(terms, fitted, squares, freedom) or [law]
    return Fit(
        law=law,
        contention=_interval(law.contention, [other.contention for other in drawn]),
        coherency=_interval(law.coherency, [other.coherency for other in drawn]),
        peak_at=_interval(law.peak_at, [other.peak_at for other in drawn]),
        error=math.sqrt(squares / freedom),
    )


def _drawn(terms: _Array, fitted: _Array, squares: float, freedom: int) -> list[Law]:
    import numpy as np  # noqa: PLC0415

    dice = np.random.default_rng(_SEED)
    spread = np.sqrt(squares / dice.chisquare(freedom, _DRAWS))
    errors = spread[:, None] * dice.standard_normal((_DRAWS, len(fitted)))
    costs = fitted * np.maximum(1 + errors, _SMALLEST)
    laws = (_law(_solve(terms, row)) for row in costs)
    return [law for law in laws if law is not None]


def _solve(terms: _Array, costs: _Array) -> _Array:
    """The coefficients, none below 0, with the least squares of the relative residuals of `costs`."""
    import numpy as np  # noqa: PLC0415
    from scipy.optimize import nnls  # noqa: PLC0415  (0.4 s, and many runs have no sweep of enough points)

    relative = terms / costs[:, None]
    scale = relative.max(axis=0)
    solved, _ = nnls(relative / scale, np.ones_like(costs))
    return np.asarray(solved / scale, dtype=np.float64)


def _law(solved: _Array) -> Law | None:
    constant, linear, square = map(float, solved)
    if constant <= 0:
        return None
    contention, coherency = (term / constant for term in (linear, square))
    return Law(
        1 / constant,
        contention if contention > _NEGLIGIBLE else 0.0,
        coherency if coherency > _NEGLIGIBLE else 0.0,
    )


def _interval(estimate: float, drawn: Sequence[float]) -> Interval:
    ascending = sorted(drawn)
    tail = (1 - CONFIDENCE) / 2
    low, high = (ascending[round(share * (len(ascending) - 1))] for share in (tail, 1 - tail))
    return Interval(estimate, min(low, estimate), max(high, estimate), CONFIDENCE)

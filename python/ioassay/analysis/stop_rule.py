"""Decides whether the points of a sweep have enough repetitions: the stop rule `until 5 %, at most 10`.

A point is narrow if for each of its measurements the half-width of the 95 % confidence interval is at most the rule's
share of the median, with at least the rule's number of valid repetitions. Checking after each repetition and stopping
at the first narrow interval favours intervals that are narrow by chance: with intervals of 95 % each, up to 12 % of all
points stop with one that misses. So each check uses `CHECK_CONFIDENCE`, a constant stricter confidence as in
group-sequential tests (Pocock, *Group sequential methods in the design and analysis of clinical trials*, 1977), such
that the share of points that stop with an interval that misses is at most 5 %, whatever the scatter and for up to 100
repetitions (`bench/statistics/stop_rule.py`).

Not here: what happens to the remaining cases (`ioassay.execution`), intervals in tables and figures.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ioassay.analysis.series import Series, without_preparation
from ioassay.store.document import CaseEntry, RunDocument, StopRule
from ioassay.store.point import SweepPoint, ascending

CONFIDENCE = 0.95
"""Confidence of the interval at which a point stops, over all checks."""

CHECK_CONFIDENCE = 0.98
"""Confidence of the interval after each repetition, which gives `CONFIDENCE` over all checks."""

SeriesRates = dict[Series, list[float]]
"""The valid rates of a point by series, one for each repetition."""

Rates = dict[SweepPoint, SeriesRates]


@dataclass(frozen=True)
class Width:
    """The interval width of a series at a point of the sweep."""

    series: Series
    repetitions: int
    """Valid repetitions."""
    share: float
    """Half-width of its interval as a share of the median; infinite without an interval."""


@dataclass(frozen=True)
class WidePoint:
    """A point that reached the most repetitions of its rule and is still not narrow."""

    point: SweepPoint
    rule: StopRule
    wide: tuple[Width, ...]
    """The series that are not narrow."""


def half_width(rates: Sequence[float]) -> float:
    """Half-width of the confidence interval of the median after any of many checks, in the unit of `rates`; infinite
    for fewer than two.

    Student's interval of the mean, which is the median if repetitions scatter symmetrically. For so few values (3 to
    10), no interval without such an assumption has 95 %: the range of three values covers the median in 75 % of all
    runs, and resampling them cannot widen it. All decisions about narrowness use this function.
    """
    if len(rates) < 2:
        return math.inf
    from scipy.special import stdtrit  # noqa: PLC0415  (0.3 s, and few studies have a stop rule)

    quantile = float(stdtrit(len(rates) - 1, (1 + CHECK_CONFIDENCE) / 2))
    mean = statistics.fmean(rates)
    # statistics.stdev computes with fractions and takes six times as long: too long after each of 10,000 cases.
    variance = math.fsum((rate - mean) ** 2 for rate in rates) / (len(rates) - 1)
    return quantile * math.sqrt(variance / len(rates))


def point_rates(cases: Iterable[CaseEntry], measurements: pl.DataFrame) -> Rates:
    """The valid rates of the points of `cases`, in the order of `measurements`."""
    points = {case.id: case.sweep_point for case in cases}
    rates: Rates = {point: {} for point in points.values()}
    columns = ("case", "phase", "job", "operation", "valid", "rate_operations_per_s")
    for row in measurements.filter(pl.col("case").is_in(list(points))).select(columns).iter_rows(named=True):
        note(rates[points[row["case"]]], row)
    return rates


def note(rates: SeriesRates, measurement: Mapping[str, Any]) -> None:
    """Adds a measurement, a row of the table, to the rates of its point.

    The rate is that of operations: all operations of a measurement have the same size, so shares of bytes are equal.
    """
    rate = measurement["rate_operations_per_s"]
    if measurement["valid"] and rate is not None:
        series = Series(measurement["phase"], measurement["job"], measurement["operation"])
        rates.setdefault(series, []).append(rate)


def widths(case: CaseEntry, rates: SeriesRates) -> list[Width]:
    """The width of each series of a point, of which `case` is a repetition."""
    return [_width(point_series, rates.get(point_series, [])) for point_series in _series(case)]


def is_narrow(rule: StopRule, point_widths: Sequence[Width]) -> bool:
    """True if the rule is met, so that the point needs no further repetition."""
    return all(_meets(rule, width) for width in point_widths)


def still_wide(document: RunDocument, measurements: pl.DataFrame) -> list[WidePoint]:
    """The points that reached the most repetitions of their rule without getting narrow, in sweep order."""
    if not document.stops_early:
        return []
    points = []
    rates = point_rates(document.cases, measurements)
    for point, cases in by_point(document.cases).items():
        rule = document.study.until(point.workload)
        if rule is None or any(case.state != "complete" for case in cases):
            continue
        wide = tuple(width for width in widths(cases[0], rates[point]) if not _meets(rule, width))
        if wide:
            points.append(WidePoint(point, rule, wide))
    order = {workload: index for index, workload in enumerate(document.workloads)}
    return sorted(points, key=lambda width: (order[width.point.workload], ascending(dict(width.point.values))))


def by_point(cases: Sequence[CaseEntry]) -> dict[SweepPoint, list[CaseEntry]]:
    """The repetitions of each point, in the order in which they run."""
    points: dict[SweepPoint, list[CaseEntry]] = {}
    for case in cases:
        points.setdefault(case.sweep_point, []).append(case)
    return points


def _series(case: CaseEntry) -> list[Series]:
    every = [
        Series(phase.name, job.name, operation)
        for phase in case.phases
        for job in phase.jobs
        for operation in job.operations
    ]
    return without_preparation(every)


def _width(series: Series, rates: Sequence[float]) -> Width:
    median = statistics.median(rates) if rates else 0.0
    return Width(series, len(rates), half_width(rates) / median if median > 0 else math.inf)


def _meets(rule: StopRule, width: Width) -> bool:
    return width.repetitions >= rule.at_least and width.share <= rule.share

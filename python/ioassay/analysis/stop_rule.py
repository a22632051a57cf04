"""Whether the points of a sweep have been repeated often enough: the stop rule `until 5 %, at most 10`.

A point is narrow when of each of its measurements the half-width of the 95 % confidence interval is at most the
rule's share of the median, with at least the rule's number of valid repetitions. Looking after each repetition and
stopping at the first narrow interval favours intervals that are narrow by chance: of intervals of 95 % each, up to
12 % of all points stop with one that misses. So each look is taken at `LOOK`, a constant stricter confidence as in
group-sequential tests (Pocock, *Group sequential methods in the design and analysis of clinical trials*, 1977), such
that the share of points that stop with an interval that misses is at most 5 %, whatever the scatter and for up to 100
repetitions (`bench/statistics/stop_rule.py`).

Not here: what happens to the cases that are left (`ioassay.execution`), intervals in tables and figures.
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
"""Of the interval at which a point stops, over all looks."""

LOOK = 0.98
"""Of the interval after each repetition, which gives `CONFIDENCE` over all looks."""

SeriesRates = dict[Series, list[float]]
"""The valid rates of a point by series, one for each repetition."""

Rates = dict[SweepPoint, SeriesRates]


@dataclass(frozen=True)
class Width:
    """How well the median of a series is known at a point of the sweep."""

    series: Series
    repetitions: int
    """The valid ones."""
    share: float
    """Half-width of its interval as a share of the median; infinite where there is none yet."""


@dataclass(frozen=True)
class WidePoint:
    """A point that was repeated as often as its rule lets it, and still is not narrow."""

    point: SweepPoint
    rule: StopRule
    wide: tuple[Width, ...]
    """The series that are not narrow."""


def half_width(rates: Sequence[float]) -> float:
    """Half-width of the confidence interval of the median after any of many looks, in the unit of `rates`; infinite for
    fewer than two.

    Student's interval: the mean's, which is the median's where repetitions scatter evenly around it. For so few values
    (3 to 10) nothing that does without such an assumption has 95 %: of three values the interval from the lowest to the
    highest covers the median in 75 % of all runs, and resampling them cannot widen it.
    Every judgement of narrowness comes from this function: another interval takes its place here.
    """
    if len(rates) < 2:
        return math.inf
    from scipy.special import stdtrit  # noqa: PLC0415  (0.3 s, and few studies have a stop rule)

    quantile = float(stdtrit(len(rates) - 1, (1 + LOOK) / 2))
    mean = statistics.fmean(rates)
    # statistics.stdev computes with fractions, which takes six times as long: too long after each of 10,000 cases.
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

    The rate is that of operations: of one measurement all have the same size, so the share is that of the bytes too.
    """
    rate = measurement["rate_operations_per_s"]
    if measurement["valid"] and rate is not None:
        series = Series(measurement["phase"], measurement["job"], measurement["operation"])
        rates.setdefault(series, []).append(rate)


def widths(case: CaseEntry, rates: SeriesRates) -> list[Width]:
    """How well each median of a point is known, of which `case` is a repetition."""
    return [_width(one, rates.get(one, [])) for one in _series(case)]


def is_narrow(rule: StopRule, found: Sequence[Width]) -> bool:
    """True if the rule is met, so that the point needs no further repetition."""
    return all(_meets(rule, width) for width in found)


def still_wide(document: RunDocument, measurements: pl.DataFrame) -> list[WidePoint]:
    """The points that reached the most repetitions of their rule without getting narrow, in the order of the sweep."""
    if not document.stops_early:
        return []
    found = []
    rates = point_rates(document.cases, measurements)
    for point, cases in by_point(document.cases).items():
        rule = document.study.until(point.workload)
        if rule is None or any(case.state != "complete" for case in cases):
            continue
        wide = tuple(width for width in widths(cases[0], rates[point]) if not _meets(rule, width))
        if wide:
            found.append(WidePoint(point, rule, wide))
    order = {workload: index for index, workload in enumerate(document.workloads)}
    return sorted(found, key=lambda width: (order[width.point.workload], ascending(dict(width.point.values))))


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

"""Whether a run meets criteria of a file: rates and slow samples of the series that each is about.

A criterion fails where a series breaks its limit, and also where nothing valid was measured that it could rest on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from ioassay.analysis import rates
from ioassay.analysis.acceptance import Judgement
from ioassay.analysis.check.slow_samples import slow_share
from ioassay.analysis.compare import measured
from ioassay.analysis.compare.subject import Curve, Point
from ioassay.analysis.peak_sustained import peak_and_sustained
from ioassay.analysis.rate_units import RateColumn
from ioassay.criteria.model import Criterion
from ioassay.results.loaded import LoadedRun

Measure = Literal["peak", "sustained", "every_point", "slow_samples"]


@dataclass(frozen=True)
class CriterionCheck:
    """The verdict on one limit of a criterion in one series; `curve` is `None` where no series is meant by it."""

    criterion: Criterion
    measure: Measure
    limit: float
    """A rate of which at least so much, or a share of which at most so much."""
    column: RateColumn | None
    """What a rate counts; `None` of a share."""
    curve: Curve | None
    value: float | None
    """`None` where nothing valid was measured."""

    @property
    def judgement(self) -> Judgement:
        """Failed also where there is no value."""
        if self.value is None:
            return "failed"
        kept = self.value <= self.limit if self.column is None else self.value >= self.limit
        return "passed" if kept else "failed"


def check(run: LoadedRun, criteria: Sequence[Criterion]) -> Iterator[CriterionCheck]:
    """A verdict for each limit of each criterion and each series that it is about, in their order."""
    curves = measured.subject(run, run.document.run).curves
    for criterion in criteria:
        meant: list[Curve | None] = [curve for curve in curves if _is_meant(curve, criterion)]
        for curve in meant or [None]:
            yield from _of_rates(criterion, curve)
            if criterion.slow_samples is not None:
                share = None if curve is None else _slow_share(run, criterion, curve)
                yield CriterionCheck(criterion, "slow_samples", criterion.slow_samples, None, curve, share)


def _is_meant(curve: Curve, criterion: Criterion) -> bool:
    has = curve.conditions
    wanted = (
        (criterion.workload, curve.name[0]),
        (criterion.layout, has.layout),
        (criterion.order, has.order),
    )
    return curve.operation == criterion.operation and all(one in (None, own) for one, own in wanted)


def _of_rates(criterion: Criterion, curve: Curve | None) -> Iterator[CriterionCheck]:
    for measure, find in _MEASURES.items():
        limit = getattr(criterion, measure)
        if limit is not None:
            known = curve.rates.get(limit.column) if curve else None
            points = [point for point in known.points if _is_large(point, criterion)] if known else []
            value = find(points) if points else None
            yield CriterionCheck(criterion, measure, limit.per_s, limit.column, curve, value)


def _is_large(point: Point, criterion: Criterion) -> bool:
    """A point whose clients are not told counts only where any number will do."""
    return (point.clients or 1) >= criterion.from_clients


def _sustained(points: Sequence[Point]) -> float | None:
    both = peak_and_sustained([(point.clients or 0, point.median) for point in points])
    return both.sustained.rate if both else None


_MEASURES: Mapping[Measure, Callable[[Sequence[Point]], float | None]] = {
    "peak": lambda points: max(point.median for point in points),
    "sustained": _sustained,
    "every_point": lambda points: min(point.median for point in points),
}


def _slow_share(run: LoadedRun, criterion: Criterion, curve: Curve) -> float | None:
    workload, phase, job = curve.name
    own = rates.of(run.measurements.filter("valid"), workload, curve.operation, phase, job)
    large = own.filter(pl.col("clients").fill_null(1) >= criterion.from_clients)
    return slow_share(run.samples, rates.places(large), curve.column)

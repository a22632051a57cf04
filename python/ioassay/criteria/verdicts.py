"""Whether a run meets criteria of a file: rates, slow samples and latencies of the series that each is about.

A criterion fails where a series breaks its limit, and also where something that it is about has no valid measurement:
what is missing might have broken it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import polars as pl

from ioassay.analysis import latency, rates, series
from ioassay.analysis.acceptance import Judgement
from ioassay.analysis.compare import measured_run
from ioassay.analysis.compare.subject import Curve, Point
from ioassay.analysis.doubts import kinds
from ioassay.analysis.feeding import feeding, lowest_utilisation
from ioassay.analysis.peak_sustained import peak_and_sustained
from ioassay.analysis.series import Series
from ioassay.analysis.training import Training, trainings
from ioassay.store.document import JobEntry, RunDocument
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY, Measurement
from ioassay.text.rate_units import RateColumn

if TYPE_CHECKING:
    from ioassay.criteria.model import Criterion, RateLimit

RateMeasure = Literal["peak", "sustained", "every_point"]
"""Rates, which have a lower limit."""

Measure = Literal[RateMeasure, "slow_samples", "p99_latency", "slowest_operation", "utilisation", "accelerators"]

SLOW = 0.5
"""The share of the median below which a sample is slow."""

UNIT_OF: Mapping[RateColumn, str] = {"rate_bytes_per_s": "bytes/s", "rate_operations_per_s": "operations/s"}


@dataclass(frozen=True)
class CriterionCheck:
    """The verdict on one limit of a criterion in one series; `title` is `None` where no series is meant by it.

    `at_least`, `at_most` (one of them) and `value` are in `unit`: `bytes/s`, `operations/s`, `s`, or `1` of a share.
    """

    criterion: Criterion
    measure: Measure
    unit: str
    title: str | None
    value: float | None
    """`None` where nothing valid was measured."""
    missing: int
    """Phases that it is about and that left no valid measurement."""
    doubts: tuple[str, ...]
    """The kinds of doubts about what it is about."""
    at_least: float | None = None
    at_most: float | None = None

    @property
    def judgement(self) -> Judgement:
        """Failed also where something was not measured."""
        if self.value is None or self.missing:
            return "failed"
        too_low = self.at_least is not None and self.value < self.at_least
        too_high = self.at_most is not None and self.value > self.at_most
        return "failed" if too_low or too_high else "passed"


@dataclass(frozen=True)
class _Series:
    """A series that a criterion is about, from so many clients on."""

    run: LoadedRun
    workload: str
    series: Series
    curve: Curve | None
    """`None` where no measurement is valid."""
    from_clients: int

    @property
    def title(self) -> str:
        """The workload and the series in words."""
        study = self.run.document.study
        title = next(entry.title for entry in study.workloads if entry.name == self.workload)
        return f"{title}, {series.label(self.series)}"

    @property
    def measured(self) -> pl.DataFrame:
        """The measurements, valid or not. An unknown number of clients counts as 1."""
        rows = rates.of(self.run.measurements, self.workload, self.series.operation, self.series.phase, self.series.job)
        return rows.filter(pl.col("clients").fill_null(1) >= self.from_clients)

    @property
    def missing(self) -> int:
        """The number of phases without a valid measurement."""
        valid_places = set(rates.places(self.measured.filter("valid")))
        return sum(
            place not in valid_places
            for case in self.run.document.cases
            if case.workload == self.workload and (case.clients or 1) >= self.from_clients
            for place in case.measured
            if place[1:] == self.series
        )

    @property
    def doubts(self) -> tuple[str, ...]:
        """The kinds of doubts about its measurements."""
        return kinds(self.run.doubts, rates.places(self.measured))

    @property
    def training(self) -> list[Training]:
        """Its epochs, where it trains."""
        epochs = self.run.training.join(self.measured, on=list(KEY), how="semi", maintain_order="left")
        return trainings(self.run.document.cases, self.run.measurements, epochs)

    def points(self, column: RateColumn) -> list[Point]:
        """The points with rates in that unit."""
        known = self.curve and self.curve.rates.get(column)
        return [point for point in known.points if (point.clients or 1) >= self.from_clients] if known else []


def check(run: LoadedRun, criteria: Sequence[Criterion]) -> Iterator[CriterionCheck]:
    """A verdict for each limit of each criterion and each series that it is about, in their order."""
    curves = {(*curve.name, curve.operation): curve for curve in measured_run.subject(run, run.document.run).curves}
    planned = _planned_series(run.document)
    for criterion in criteria:
        meant: list[_Series | None] = [
            _Series(run, workload, series_key, curves.get((workload, *series_key)), criterion.from_clients)
            for (workload, series_key), job in planned.items()
            if _matches(workload, series_key, job, criterion)
        ]
        for matched in meant or [None]:
            yield from _of_series(criterion, matched)


def _planned_series(document: RunDocument) -> Mapping[tuple[str, Series], JobEntry]:
    """Every series that the run was to measure, and its job in its first case."""
    jobs: dict[tuple[str, Series], JobEntry] = {}
    for case in document.cases:
        for phase in case.phases:
            for job in phase.jobs:
                for operation in job.operations:
                    jobs.setdefault((case.workload, Series(phase.name, job.name, operation)), job)
    return jobs


def _matches(workload: str, series: Series, job: JobEntry, criterion: Criterion) -> bool:
    wanted = (
        (criterion.workload, workload),
        (criterion.phase, series.phase),
        (criterion.layout, job.layout),
        (criterion.order, job.order),
    )
    return series.operation == criterion.operation and all(wish in (None, value) for wish, value in wanted)


def _of_series(criterion: Criterion, series: _Series | None) -> Iterator[CriterionCheck]:
    about = partial(
        CriterionCheck,
        criterion,
        title=series.title if series else None,
        missing=series.missing if series else 0,
        doubts=series.doubts if series else (),
    )
    for rate, find in _RATES.items():
        least: RateLimit | None = getattr(criterion, rate)
        if least is not None:
            points = series.points(least.column) if series else []
            value = find(points) if points else None
            yield about(rate, UNIT_OF[least.column], value=value, at_least=least.per_s)
    for name, find_value in _OF_TRAINING.items():
        fewest: float | None = getattr(criterion, name)
        if fewest is not None:
            yield about(name, "1", value=find_value(series) if series else None, at_least=fewest)
    for other, (unit, look) in _OTHERS.items():
        most: float | None = getattr(criterion, other)
        if most is not None:
            yield about(other, unit, value=look(series) if series else None, at_most=most)


def _sustained(points: Sequence[Point]) -> float | None:
    """The sustained rate; over ranks where points do not differ in clients."""
    clients = [point.clients for point in points]
    places = clients if len(set(clients)) == len(clients) else [point.conditions.ranks for point in points]
    both = peak_and_sustained([(place or 0, point.median) for place, point in zip(places, points, strict=True)])
    return both.sustained.rate if both else None


_RATES: Mapping[RateMeasure, Callable[[Sequence[Point]], float | None]] = {
    "peak": lambda points: max(point.median for point in points),
    "sustained": _sustained,
    "every_point": lambda points: min(point.median for point in points),
}


def _slow_samples(series: _Series) -> float | None:
    valid = series.measured.filter("valid")
    return slow_share(series.run.samples, rates.places(valid), series.curve.column) if series.curve else None


def _p99_latency(series: _Series) -> float | None:
    largest = latency.by_sweep_point(series.measured, series.run.latencies, series.run.ranks)["p99_ns"].max()
    return largest / 1e9 if isinstance(largest, int) else None


def _slowest_operation(series: _Series) -> float | None:
    # A stall is a fact also in a phase that failed later.
    ranks, latencies = (
        table.join(series.measured, on=list(KEY), how="semi") for table in (series.run.ranks, series.run.latencies)
    )
    slowest = latency.slowest(latencies, ranks)["slowest_ns"].max()
    return slowest / 1e9 if isinstance(slowest, int) else None


_OTHERS: Mapping[Measure, tuple[str, Callable[[_Series], float | None]]] = {
    "slow_samples": ("1", _slow_samples),
    "p99_latency": ("s", _p99_latency),
    "slowest_operation": ("s", _slowest_operation),
}


def _utilisation(series: _Series) -> float | None:
    lowest = lowest_utilisation(series.run.document.cases, series.training)
    return lowest[0] if lowest else None


def _accelerators(series: _Series) -> float | None:
    sweeps = feeding(series.run.document.cases, series.training)
    return min((sweep.fed.accelerators if sweep.fed else 0 for sweep in sweeps), default=None)


_OF_TRAINING: Mapping[Measure, Callable[[_Series], float | None]] = {
    "utilisation": _utilisation,
    "accelerators": _accelerators,
}
"""Measures of epochs, which have a lower limit."""


def slow_share(samples: pl.LazyFrame, places: Collection[Measurement], column: RateColumn) -> float | None:
    """The share of slow samples among all of the measurements `places`; `None` where they have too few.

    A sample is what all ranks together moved in its interval. The last of each phase is left out: the phase ends in it.
    """
    amount = "bytes" if column == "rate_bytes_per_s" else "operations"
    wanted = pl.LazyFrame(list(places), schema=dict.fromkeys(KEY, pl.String), orient="row")
    summed = (
        samples.join(wanted, on=list(KEY), how="semi")
        .group_by(*KEY, "sample")
        .agg(pl.col(amount).sum())
        .filter(pl.col("sample") < pl.col("sample").max().over(*KEY))
        .with_columns((pl.col(amount) < SLOW * pl.col(amount).median().over(*KEY)).alias("slow"))
        .collect()
    )
    share = summed["slow"].mean()
    return share if isinstance(share, float) else None

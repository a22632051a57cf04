"""Phases with a rate or pauses in their plan: the planned and achieved rates, and latencies.

Their rate is limited by the plan, not by the storage. So it is no throughput: it has no peak, follows no law of
scaling, and higher is not better; it shows whether the planned rate was achieved, and the latency of operations.

Not: the doubt about a rate that was not achieved (the engine's), words (`ioassay.reports.run.given_rates`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from ioassay.analysis import axes, latency, rates
from ioassay.analysis.peak_sustained import Row
from ioassay.store.document import JobEntry
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY, POINT, Measurement
from ioassay.text.rate_units import RateColumn

PACED = "paced"
"""The doubt that the engine raises about every measurement of a job with a rate or pauses, in all versions."""


@dataclass(frozen=True)
class GivenRate:
    """A point of a sweep of a phase at a given rate or with pauses, over its valid repetitions."""

    point: Mapping[str, Any]
    """The columns of `schema.POINT`."""
    column: RateColumn
    """The quantity that its rates count."""
    given_per_s: float | None
    """In the unit of `column`; `None`: the plan sets pauses only, or gives a mix of reads and writes one rate."""
    think_ns: int | None
    """The pause, if the plan sets one."""
    kept_per_s: float
    """The median of the achieved rates."""
    p50_ns: int | None
    p99_ns: int | None
    """`None`: too few operations to resolve it."""
    places: tuple[Measurement, ...]


def is_given(run: LoadedRun) -> pl.DataFrame:
    """The keys of all measurements at a given rate or with pauses. Columns: `measurement.KEY`."""
    return run.doubts.filter(pl.col("kind") == PACED).select(*KEY).unique(maintain_order=True)


def with_own_pauses(run: LoadedRun) -> pl.DataFrame:
    """Those of `is_given` for which the plan sets no rate. Columns: `measurement.KEY`."""
    cases = {case.id: case for case in run.document.cases}

    def has_rate(case: str, phase: str, job: str, _operation: str) -> bool:
        entry = cases[case].job(phase, job)
        return entry.rate_bytes_per_s is not None or entry.rate_operations_per_s is not None

    given = is_given(run)
    return given.filter(pl.Series([not has_rate(*row) for row in given.iter_rows()], dtype=pl.Boolean))


def throughput(run: LoadedRun) -> pl.DataFrame:
    """`rates.points` without measurements at given rates."""
    return rates.points(run.measurements).join(is_given(run), on=list(KEY), how="anti", maintain_order="left")


def at_given_rates(run: LoadedRun) -> pl.DataFrame:
    """`rates.points` of measurements at given rates only."""
    return rates.points(run.measurements).join(is_given(run), on=list(KEY), how="semi", maintain_order="left")


def without_given(rows: Iterable[Row], run: LoadedRun) -> list[Row]:
    """Rows of peaks without series at given rates, and without rows that have no other series."""
    cases = {case.id: case.workload for case in run.document.cases}
    given = {(cases[case], *series) for case, *series in is_given(run).iter_rows()}
    kept = (
        replace(
            row,
            series={
                row_series: both for row_series, both in row.series.items() if (row.workload, *row_series) not in given
            },
        )
        for row in rows
    )
    return [row for row in kept if row.series]


def given_rates(run: LoadedRun) -> list[GivenRate]:
    """Every point with a valid measurement at a given rate, in the order of the study."""
    points = at_given_rates(run)
    if points.is_empty():
        return []
    percentiles = {
        tuple(row[name] for name in POINT): row
        for row in latency.by_sweep_point(run.measurements, run.latencies, run.ranks).iter_rows(named=True)
    }
    order = {workload: index for index, workload in enumerate(run.document.workloads)}
    rates_of_points = [
        _at_point(run, rows, percentiles.get(tuple(rows.row(0, named=True)[name] for name in POINT)))
        for rows in axes.in_order(points.filter("valid"), *POINT, "repetition").partition_by(
            *POINT, maintain_order=True
        )
    ]
    return sorted(rates_of_points, key=lambda given_rate: order[given_rate.point["workload"]])


def _at_point(run: LoadedRun, rows: pl.DataFrame, percentiles: Mapping[str, Any] | None) -> GivenRate:
    row = rows.row(0, named=True)
    case = next(case for case in run.document.cases if case.id == row["case"])
    job = case.job(row["phase"], row["job"])
    column, given = _given(job, rates.column(run.document, rows, row["workload"]))
    kept = rows[column].median()
    assert isinstance(kept, float)  # each of them has a rate in the quantity of its plan
    p50, p99 = (
        percentiles[name] if percentiles and latency.is_resolved(percentiles["operations"], name) else None
        for name in ("p50_ns", "p99_ns")
    )
    return GivenRate(
        point={name: row[name] for name in POINT},
        column=column,
        given_per_s=given if len(job.operations) == 1 else None,  # operations of a mix share the rate
        think_ns=job.think_ns,
        kept_per_s=kept,
        p50_ns=p50,
        p99_ns=p99,
        places=tuple(rates.places(rows)),
    )


def _given(job: JobEntry, usual: RateColumn) -> tuple[RateColumn, float | None]:
    """The quantity of a job's given rate, and the rate; `usual` and `None` if it has none."""
    if job.rate_bytes_per_s is not None:
        return "rate_bytes_per_s", job.rate_bytes_per_s
    if job.rate_operations_per_s is not None:
        return "rate_operations_per_s", job.rate_operations_per_s
    return usual, None

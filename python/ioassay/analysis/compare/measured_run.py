"""A run as a subject: a curve for each series of each workload, with the valid repetitions of every sweep point.

How caches were emptied before a read comes from the study's text, which a run keeps. Whether they were empty is
measured by the engine. Not: reading the run, doubting rates above their ceiling (`ceilings.doubted`, before this).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import polars as pl
from msgspec import Struct

from ioassay.analysis import axes, ceilings, given_rates, rates, series
from ioassay.analysis.axes import Axis, Value
from ioassay.analysis.ceilings import Limit
from ioassay.analysis.compare import training
from ioassay.analysis.compare.subject import AxisValue, Conditions, Curve, Point, Rates, Subject
from ioassay.analysis.given_rates import GivenRate
from ioassay.analysis.peak_sustained import peak_and_sustained
from ioassay.store.document import JobEntry, Operation, StudyEntry
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY, POINT, Measurement
from ioassay.store.point import AxisUnit
from ioassay.text.rate_units import RateColumn
from ioassay.yaml_models.source import SourceError, parse_source, plain

OWN = "ioassay"
"""The tool of a run that was not imported."""

NO_COLD_CACHE = "nothing"
"""The cold-cache method of a study without a cold-cache step."""

WRITES: tuple[Operation, ...] = ("write", "create", "create-tree")
"""Operations that cached data of earlier phases does not make faster."""


class _RunTables(Struct, frozen=True):
    """A run, and the lookups that its curves need."""

    run: LoadedRun
    points: pl.DataFrame
    limits: Mapping[Measurement, Limit]
    jobs: Mapping[tuple[str, str, str], JobEntry]
    """By case, phase and name."""
    caches: Mapping[str, str | None]
    """The cold-cache methods of each workload."""
    doubts: Mapping[Measurement, Sequence[str]]
    """The kinds of doubts about each measurement that has any."""
    units: Mapping[tuple[str, Axis], AxisUnit]
    """Units by workload and axis of its `sweep`."""
    given: Mapping[tuple[Any, ...], GivenRate]
    """By the columns of `POINT`, where `points` are those at given rates."""


def subject(run: LoadedRun, name: str) -> Subject:
    """The run as a subject called `name`. A series without a valid rate has no curve."""
    given = {tuple(given_rate.point[name] for name in POINT): given_rate for given_rate in given_rates.given_rates(run)}
    measured = _measured(run, given_rates.throughput(run), {})
    at_given = _measured(run, given_rates.at_given_rates(run), given) if given else None
    return Subject(name, "run", _curves(measured), _curves(at_given) if at_given else (), training.trained(run))


def _measured(run: LoadedRun, points: pl.DataFrame, given: Mapping[tuple[Any, ...], GivenRate]) -> _RunTables:
    points = points.join(
        run.measurements.select(*KEY, "layout", "order", "transfer_bytes", "file_set_bytes"),
        on=list(KEY),
        maintain_order="left",
    )
    study = run.document.study
    caches = {entry.name: cold_cache(study, entry.name) for entry in study.workloads}
    jobs = {
        (case.id, phase.name, job.name): job
        for case in run.document.cases
        for phase in case.phases
        for job in phase.jobs
    }
    units = {(entry.name, axis.name): axis.unit for entry in study.workloads for axis in entry.axes}
    return _RunTables(run, points, ceilings.limits(run), jobs, caches, _doubts(run), units, given)


def _curves(measured: _RunTables) -> tuple[Curve, ...]:
    document = measured.run.document
    curves = (
        _curve(measured, workload, of_series)
        for workload in document.workloads
        for of_series in series.of_workload(document, workload)
    )
    return tuple(curve for curve in curves if curve)


def _curve(measured: _RunTables, workload: str, of_series: series.Series) -> Curve | None:
    document = measured.run.document
    series_points = rates.of(measured.points, workload, of_series.operation, of_series.phase, of_series.job)
    axis, column = axes.axis(series_points), rates.column(document, series_points, workload)
    valid = axes.with_column(series_points, axis).filter("valid")
    known = {
        column: _rates(points, _sustained_rates(valid, column, axis), axis)
        for column in get_args(RateColumn)
        if (points := tuple(_points(measured, valid, column)))
    }
    if column not in known:
        return None
    title = next(entry.title for entry in document.study.workloads if entry.name == workload)
    return Curve(
        name=(workload, of_series.phase, of_series.job),
        title=f"{title}, {series.label(of_series)}",
        operation=of_series.operation,
        column=column,
        rates=known,
    )


def _points(measured: _RunTables, valid: pl.DataFrame, column: RateColumn) -> Iterator[Point]:
    imported = measured.run.document.imported
    limits = measured.limits if column == "rate_bytes_per_s" else {}
    swept = axes.swept(valid)
    for same in valid.filter(pl.col(column) > 0).partition_by(*POINT, maintain_order=True):
        row = same.row(0, named=True)
        places = rates.places(same)
        ceiling = ceilings.common(limits, places)
        job = measured.jobs[row["case"], row["phase"], row["job"]]
        yield Point(
            clients=row["clients"],
            conditions=Conditions(
                tool=imported.tool if imported else OWN,
                layout=row["layout"] or None,
                order=row["order"] or None,
                transfer_bytes=row["transfer_bytes"],
                file_set_bytes=row["file_set_bytes"],
                ranks=row["ranks"],
                files=row["files"],
                api=job.api,
                direct=job.direct,
                uncached=bool(job.uncached),
                depth=job.depth,
                fsync=job.fsync,
                payload=job.payload,
                cold_cache=None if row["operation"] in WRITES else measured.caches[row["workload"]],
            ),
            rates=tuple(same[column]),
            others=tuple(
                AxisValue(axis, value, measured.units[row["workload"], axis])
                for axis, value in axes.values(row["point"], swept)
            ),
            ceiling_bytes_per_s=None if ceiling is None else ceiling.rate_bytes_per_s,
            doubts=tuple(sorted({kind for place in places for kind in measured.doubts.get(place, ())})),
            given=measured.given.get(tuple(row[name] for name in POINT)),
        )


def _doubts(run: LoadedRun) -> dict[Measurement, list[str]]:
    kinds: dict[Measurement, list[str]] = {}
    for place, kind in zip(rates.places(run.doubts), run.doubts["kind"], strict=True):
        kinds.setdefault(place, []).append(kind)
    return kinds


def _sustained_rates(valid: pl.DataFrame, column: RateColumn, axis: Axis) -> tuple[float, ...]:
    """The sustained rate of each repetition that measured every point of the sweep.

    The saturated points are determined for each repetition: if a point lies near that limit, which points count is as
    uncertain as their rates.
    """
    measured = valid.filter(pl.col(column) > 0)
    sweeps = measured.partition_by("repetition", maintain_order=True)
    whole = (sweep for sweep in sweeps if sweep.height == measured.select(POINT).n_unique())
    peaks = (
        peak_and_sustained(list(sweep.select(axes.column(axis), column).fill_null(0).iter_rows()), axis)
        for sweep in whole
    )
    return tuple(both.sustained.rate for both in peaks if both)


def _rates(points: tuple[Point, ...], sustained_rates: tuple[float, ...], axis: Axis) -> Rates:
    def place(point: Point) -> Value:
        return {"clients": point.clients, "ranks": point.conditions.ranks}.get(axis, point.value(axis)) or 0

    both = peak_and_sustained([(place(point), point.median) for point in points], axis)
    if both is None:
        return Rates(points, None, None)
    peak = next(point for point in points if (place(point), point.median) == (both.peak.points[0], both.peak.rate))
    rate = both.sustained.rate
    sustained = Point(None, Conditions(tool=peak.conditions.tool), sustained_rates or (rate,), sustained=rate)
    return Rates(points, peak, sustained)


def cold_cache(study: StudyEntry, workload: str) -> str | None:
    """The methods of the workload's first cold-cache step in their order: `drop-caches, fadvise`, or `NO_COLD_CACHE`.

    `None` if the run has no study's text (front ends, imported runs) or that text is no study.
    """
    try:
        tree = plain(parse_source(study.text, "study.yaml", "study").tree)
    except SourceError:
        return None
    steps = _entry(_entry(_entry(tree, "workloads"), workload), "steps") or _entry(tree, "steps")
    if not isinstance(steps, list):
        return None
    methods_of_steps = (step["cold-cache"] for step in steps if isinstance(step, dict) and "cold-cache" in step)
    return next((_words(_resolved(methods, study.settings)) for methods in methods_of_steps), NO_COLD_CACHE)


def _entry(tree: object, key: str) -> Any:
    return tree.get(key) if isinstance(tree, dict) else None


def _resolved(value: Any, settings: dict[str, Any]) -> Any:
    """`${name}` with the value that the setting had."""
    if isinstance(value, str) and value.startswith("${") and value.endswith("}"):
        return settings.get(value[2:-1], value)
    return value


def _words(methods: Any) -> str:
    if isinstance(methods, str):
        return methods
    if isinstance(methods, list) and all(isinstance(method, str) for method in methods):
        return ", ".join(methods)
    return json.dumps(methods, sort_keys=True)

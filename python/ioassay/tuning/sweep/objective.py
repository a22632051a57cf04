"""The objective of a run: one value, and those at each point of the study's own sweep that it is made of.

A rate counts bytes where the workload moves any, else operations, as reports do (`analysis.rates.column`). Over several
points it is the geometric mean, so that each point weighs the same whatever its rate is; latencies likewise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from ioassay.analysis import io500, latency, rates
from ioassay.analysis.io500 import geometric_mean
from ioassay.store.doubt_kinds import voids_comparison
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY, POINT
from ioassay.store.sweep_document import ConstraintEntry, ObjectiveEntry, PointUnit, PointValue

_LATENCIES = {"p50": "p50_ns", "p90": "p90_ns", "p99": "p99_ns", "max": "max_ns"}


@dataclass(frozen=True)
class Observed:
    """The value of an objective in a run."""

    value: float | None
    """Bytes or operations per second, nanoseconds, or a score; `None`: nothing that may be used."""
    points: tuple[PointValue, ...] = ()
    why_invalid: str = ""
    doubts: Mapping[str, str] = field(default_factory=dict)
    """The kinds of doubts about it, each with its remedy."""


def is_latency(objective: ObjectiveEntry | ConstraintEntry) -> bool:
    """Whether less of it is better."""
    return objective.measure in _LATENCIES


def observe(run: LoadedRun, objective: ObjectiveEntry | ConstraintEntry) -> Observed:
    """The objective in a run."""
    if run.document.state != "complete":
        return Observed(None, why_invalid=why_not_complete(run))
    if objective.measure == "score":
        return _score(run)
    wanted = _measurements_of_phase(run, objective)
    if wanted.is_empty():
        return Observed(None, why_invalid=f"nothing measured is called {objective.phase}; {_measured_phases_text(run)}")
    if not wanted["valid"].all():
        return Observed(None, why_invalid=_doubted(run, wanted))
    points = _latencies(run, wanted, objective) if is_latency(objective) else _rates(run, wanted)
    if not points:
        return Observed(
            None, why_invalid="the run has no latencies of it" if is_latency(objective) else "it has no rate"
        )
    doubted = run.doubts.join(wanted.select(*KEY), on=list(KEY))
    return Observed(geometric_mean(point.value for point in points), tuple(points), doubts=remedies(doubted))


def _measurements_of_phase(run: LoadedRun, objective: ObjectiveEntry | ConstraintEntry) -> pl.DataFrame:
    """The measurements of a phase of that name, or else of an operation."""
    measurements = run.measurements
    if objective.workload is not None:
        measurements = measurements.filter(workload=objective.workload)
    phase = measurements.filter(phase=objective.phase)
    return phase if not phase.is_empty() else measurements.filter(operation=objective.phase)


def _measured_phases_text(run: LoadedRun) -> str:
    names = sorted({*run.measurements["phase"].unique(), *run.measurements["operation"].unique()})
    return f"there are {', '.join(names)}" if names else "nothing was measured"


def remedies(doubts: pl.DataFrame) -> dict[str, str]:
    """The kinds of doubts, each with its remedy; of one that voids a comparison also what the first one said.

    Without that a remedy such as "empty each" does not say which caches.
    """
    first = doubts.unique("kind", keep="first", maintain_order=True).select("kind", "remedy", "message")
    return {
        kind: f"{remedy}; {message}" if voids_comparison(kind) else remedy
        for kind, remedy, message in first.iter_rows()
    }


def why_not_complete(run: LoadedRun) -> str:
    """Why a run that is not complete says nothing of an objective, as a clause."""
    error_message = next((case.error.rstrip(".") for case in run.document.cases if case.error), None)
    return error_message or f"the run is {run.document.state}"


def _doubted(run: LoadedRun, wanted: pl.DataFrame) -> str:
    invalidating = run.doubts.filter("invalidates").join(wanted.filter(~pl.col("valid")).select(*KEY), on=list(KEY))
    return invalidating["message"][0] if not invalidating.is_empty() else "not every rank completed its work"


def _score(run: LoadedRun) -> Observed:
    scores = [score for score in io500.scores(run) if score.list == "standard"]
    if not scores:
        return Observed(None, why_invalid="the study has no score; use the study io500")
    if not scores[0].total:
        missing = [phase.rule.phase for phase in scores[0].phases if not phase.score]
        return Observed(None, why_invalid=f"the score is 0, because of {', '.join(missing)}")
    return Observed(scores[0].total, doubts=remedies(run.doubts))


def _rates(run: LoadedRun, wanted: pl.DataFrame) -> list[PointValue]:
    points = rates.points(wanted)
    remarks = []
    for workload in points["workload"].unique(maintain_order=True):
        of_workload = points.filter(workload=workload)
        column = rates.column(run.document, of_workload, workload)
        unit: PointUnit = "B/s" if column == "rate_bytes_per_s" else "1/s"
        medians = rates.medians(of_workload, column)
        remarks += [_point(row, row["median"], unit) for row in medians.iter_rows(named=True)]
    return remarks


def _latencies(run: LoadedRun, wanted: pl.DataFrame, objective: ObjectiveEntry | ConstraintEntry) -> list[PointValue]:
    column = _LATENCIES[objective.measure]
    table = latency.by_sweep_point(wanted, run.latencies, run.ranks)
    return [_point(row, row[column], "ns") for row in table.iter_rows(named=True) if row[column]]


def _point(row: dict[str, object], value: float, unit: PointUnit) -> PointValue:
    kept = {name: row[name] for name in POINT if name in PointValue.model_fields}
    return PointValue.model_validate({**kept, "value": value, "unit": unit})

"""The units of a run's rates: one for each kind of rate, in which most of the run's medians read well.

A study states the quantity, in decimal or binary units; the prefix is chosen after the measurement. A report uses one
unit for each kind in all of its tables, figures and sentences. Not: the units themselves
(`text.rate_units`), a single number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import get_args

import polars as pl

from ioassay.analysis import rates
from ioassay.store.document import RunDocument
from ioassay.store.loaded import LoadedRun
from ioassay.text.rate_units import ON_DATA, UNITS, RateColumn, Unit, fitting, is_same_kind, suited


@dataclass(frozen=True)
class RunUnits:
    """The unit of each kind of rate of a run."""

    units: Mapping[tuple[RateColumn, bool], Unit]
    """By quantity, and whether the operations are on data. Computed once: a report looks up every measurement."""

    def of(self, column: RateColumn, operation: str) -> Unit:
        """The unit of an operation's rates: that of the study, if it asks for one of this kind."""
        return self.units[column, operation in ON_DATA]


def fitted(run: LoadedRun, points: pl.DataFrame) -> LoadedRun:
    """The run with units in its study's tables, figures and surveys that fit its rates; `points` of `rates.points`."""
    study = run.document.study
    asked = _asked(run.document)

    def fit(unit: Unit) -> Unit:
        same = [requested for requested in asked if is_same_kind(requested[0], unit)]
        return fitting(unit, _medians(points, unit.column, {name for _, names in same for name in names}))

    units = {unit.name: fit(unit).name for unit in dict.fromkeys(unit for unit, _ in asked)}
    updates = {
        "summary": [row.model_copy(update={"unit": units[row.unit]}) for row in study.summary],
        "figures": [figure.model_copy(update={"unit": units[figure.unit]}) for figure in study.figures],
        "surveys": [survey.model_copy(update={"unit": units[survey.unit]}) for survey in study.surveys],
    }
    document = run.document.model_copy(update={"study": study.model_copy(update=updates)})
    return replace(run, document=document)


def of_run(document: RunDocument, points: pl.DataFrame) -> RunUnits:
    """The units of a run that `fitted` returned."""
    asked = [unit for unit, _ in _asked(document)]
    is_on_data = pl.col("operation").is_in(ON_DATA)
    unit_of: dict[tuple[RateColumn, bool], Unit] = {}
    for operation, operation_points in (("write", points.filter(is_on_data)), ("create", points.filter(~is_on_data))):
        for column in get_args(RateColumn):
            usual = suited(column, operation, rates.medians(operation_points, column)["median"])
            is_bytes = column == "rate_bytes_per_s"  # for which a study may ask for binary units
            same = (unit for unit in asked if (unit.column == column if is_bytes else is_same_kind(unit, usual)))
            unit_of[column, operation in ON_DATA] = next(same, usual)
    return RunUnits(unit_of)


def _asked(document: RunDocument) -> list[tuple[Unit, list[str]]]:
    """The units that a study asks for, each with its workloads."""
    study = document.study
    return [
        *((UNITS[row.unit], [row.workload]) for row in study.summary),
        *((UNITS[figure.unit], figure.workloads) for figure in study.figures),
        *((UNITS[survey.unit], [survey.workload]) for survey in study.surveys),
    ]


def _medians(points: pl.DataFrame, column: RateColumn, workloads: Iterable[str]) -> list[float]:
    rows = points.filter(pl.col("workload").is_in(list(workloads)))
    return rates.medians(rows, column)["median"].to_list()

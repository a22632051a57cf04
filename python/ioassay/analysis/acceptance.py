"""Judges a run by the acceptance criteria of its study.

Adding a measure is one function and one line in `MEASURES`. A verdict names the measurements that it rests
on. A criterion fails on any data that breaks its limit, and passes only if every phase that it covers was measured and
is valid: missing data might have broken it, so it fails, too, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import polars as pl
from msgspec import Struct

from ioassay.analysis import latency, rates
from ioassay.analysis.accelerator_sweeps import accelerator_sweeps
from ioassay.analysis.feeding import Feeding, feeding, lowest_utilisation
from ioassay.analysis.training import Training, trainings
from ioassay.store.document import CaseEntry, Criterion, RunDocument
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY, Measurement
from ioassay.text.rate_units import RateColumn
from ioassay.text.units import format_count

Accepted = Literal["passed", "failed"]
"""The verdict on a criterion."""

Judgement = Literal[Accepted, "not judged"]
"""The verdict of a check that chance may decide."""


class Verdict(Struct, frozen=True):
    """A criterion with its verdict. `value` is in the criterion's unit, `None` if nothing could be measured."""

    criterion: Criterion
    judgement: Accepted
    value: float | None
    rests_on: tuple[Measurement, ...]
    missing: str = ""
    """Why it could not be judged, and so failed; otherwise empty."""


class _Selection(Struct, frozen=True):
    """The scope of a criterion: the planned phases, and their measurements."""

    planned: tuple[Measurement, ...]
    measurements: pl.DataFrame
    ranks: pl.DataFrame
    latencies: pl.DataFrame
    cases: Sequence[CaseEntry]
    training: Sequence[Training]
    lost: tuple[Measurement, ...]
    """Phases in which a case failed without leaving a measurement, for example because the engine was killed."""

    @property
    def valid(self) -> pl.DataFrame:
        return self.measurements.filter("valid")


class _Finding(Struct, frozen=True):
    """A measured value, and the measurements that decide it."""

    value: float
    rests_on: tuple[Measurement, ...]


class Measure(Struct, frozen=True):
    """A quantity that criteria limit: its unit, its meaning, and the function that measures it (`None`: no data)."""

    unit: str
    meaning: str
    find: Callable[[_Selection], _Finding | None]


def judge(run: LoadedRun) -> list[Verdict]:
    """A verdict per criterion of the study, in its order."""
    return [_judge(criterion, _select(run, criterion)) for criterion in run.document.study.acceptance]


def accepted(verdicts: Sequence[Verdict]) -> Accepted | None:
    """The verdict on the whole run: failed if one failed, passed if all passed. `None` without criteria."""
    judgements = {verdict.judgement for verdict in verdicts}
    if not judgements:
        return None
    return "failed" if "failed" in judgements else "passed"


def _judge(criterion: Criterion, selection: _Selection) -> Verdict:
    measure = MEASURES.get(criterion.measure)
    if measure is None:
        return Verdict(criterion, "failed", None, (), f"this version does not support the measure {criterion.measure}")
    if criterion.unit != measure.unit:
        return Verdict(criterion, "failed", None, (), f"{criterion.measure} is in {measure.unit}")
    finding = measure.find(selection)
    if finding is None:
        return Verdict(criterion, "failed", None, (), "there is no valid measurement to judge")
    if _breaks(criterion, finding.value):
        return Verdict(criterion, "failed", finding.value, finding.rests_on)
    missing = _missing(selection)
    if missing:
        has = "has" if missing == 1 else "have"
        reason = f"{missing} of {format_count(len(selection.planned), 'phase')} {has} no valid measurement"
        return Verdict(criterion, "failed", finding.value, finding.rests_on, reason)
    return Verdict(criterion, "passed", finding.value, finding.rests_on)


def _breaks(criterion: Criterion, value: float) -> bool:
    too_high = criterion.at_most is not None and value > criterion.at_most
    too_low = criterion.at_least is not None and value < criterion.at_least
    return too_high or too_low


def _missing(selection: _Selection) -> int:
    measured = set(_places(selection.valid))
    return sum(place not in measured for place in selection.planned)


def _select(run: LoadedRun, criterion: Criterion) -> _Selection:
    planned = _planned(run.document, criterion)
    wanted = pl.DataFrame(planned, schema=dict.fromkeys(KEY, pl.String), orient="row")

    def of(table: pl.DataFrame) -> pl.DataFrame:
        return table.join(wanted, on=list(KEY), how="semi", maintain_order="left")

    # Operations that waited for a suspended run do not measure the storage.
    suspended = run.doubts.filter(kind="suspended")

    def undisturbed(table: pl.DataFrame) -> pl.DataFrame:
        return of(table).join(suspended, on=list(KEY), how="anti", maintain_order="left")

    lost = tuple(place for place in _lost(run) if place in planned)
    epochs = of(run.training)
    return _Selection(
        planned=planned,
        measurements=of(run.measurements),
        ranks=undisturbed(run.ranks),
        latencies=undisturbed(run.latencies),
        cases=run.document.cases,
        training=[] if epochs.is_empty() else trainings(run.document.cases, run.measurements, epochs),
        lost=lost,
    )


def _lost(run: LoadedRun) -> list[Measurement]:
    """The first unmeasured phase of each failed case whose measured phases are all complete."""
    complete = dict(zip(_places(run.measurements), run.measurements["complete"], strict=True))
    lost = []
    for case in run.document.cases:
        unmeasured = [place for place in case.measured if place not in complete]
        if case.state == "failed" and unmeasured and all(complete.get(place, True) for place in case.measured):
            lost.append(unmeasured[0])
    return lost


def _planned(document: RunDocument, criterion: Criterion) -> tuple[Measurement, ...]:
    return tuple(
        place
        for case in document.cases
        if criterion.of in ("all", case.workload)
        for place in case.measured
        if criterion.phase in (None, place[1]) and criterion.operation in ("all", place[3])
    )


def _places(table: pl.DataFrame) -> list[Measurement]:
    return rates.places(table)


def _measurements_at(selection: _Selection, point: dict[str, object]) -> tuple[Measurement, ...]:
    """The valid measurements of one sweep point."""
    return tuple(_places(selection.valid.filter(rates.is_at(point))))


def _failed_phases(selection: _Selection) -> _Finding | None:
    if selection.measurements.is_empty() and not selection.lost:
        return None
    failed = (*_places(selection.measurements.filter(~pl.col("complete"))), *selection.lost)
    return _Finding(len(failed), failed or tuple(_places(selection.measurements)))


def _slowest_operation(selection: _Selection) -> _Finding | None:
    # A stall happened even if the phase failed later, so invalid measurements count here.
    every = latency.slowest(selection.latencies, selection.ranks)
    if every.is_empty():
        return None
    slowest = every.sort("slowest_ns", descending=True, maintain_order=True).head(1)
    return _Finding(slowest["slowest_ns"].item() / 1e9, tuple(_places(slowest)))


def _p99_latency(selection: _Selection) -> _Finding | None:
    points = latency.by_sweep_point(selection.measurements, selection.latencies, selection.ranks)
    if points.is_empty():
        return None
    worst = points.sort("p99_ns", descending=True, maintain_order=True).row(0, named=True)
    return _Finding(worst["p99_ns"] / 1e9, _measurements_at(selection, worst))


def _lowest_median(column: RateColumn) -> Callable[[_Selection], _Finding | None]:
    def find(selection: _Selection) -> _Finding | None:
        points = rates.medians(rates.points(selection.measurements), column)
        if points.is_empty():
            return None
        lowest = points.sort("median", maintain_order=True).row(0, named=True)
        return _Finding(lowest["median"], _measurements_at(selection, lowest))

    return find


def _spread_between_repetitions(selection: _Selection) -> _Finding | None:
    spread = (pl.col("highest") - pl.col("lowest")) / pl.col("median")
    points = (
        rates.medians(rates.points(selection.measurements), "rate_bytes_per_s")
        .filter((pl.col("repetitions") > 1) & (pl.col("median") > 0))
        .with_columns(spread.alias("spread"))
    )
    if points.is_empty():
        return None
    widest = points.sort("spread", descending=True, maintain_order=True).row(0, named=True)
    return _Finding(widest["spread"], _measurements_at(selection, widest))


def _utilisation(selection: _Selection) -> _Finding | None:
    lowest = lowest_utilisation(selection.cases, selection.training)
    if lowest is None:
        return None
    utilisation, trainings = lowest
    return _Finding(utilisation, tuple(_worst_epoch(training) for training in trainings))


def _accelerators(selection: _Selection) -> _Finding | None:
    sweeps = feeding(selection.cases, selection.training)
    if not sweeps:
        return None
    fewest = min(sweeps, key=_fed)
    limits = {count.accelerators for count in (fewest.fed, fewest.first_unfed) if count}
    swept = accelerator_sweeps(selection.cases)
    places = (
        _worst_epoch(training)
        for training in selection.training
        if swept[training.case] == fewest.swept and training.accelerators in limits
    )
    return _Finding(_fed(fewest), tuple(places))


def _fed(sweep: Feeding) -> int:
    return sweep.fed.accelerators if sweep.fed else 0


def _worst_epoch(training: Training) -> Measurement:
    return Measurement(training.case, training.worst_epoch.phase, training.worst_epoch.job, "step")


MEASURES = {
    "failed_phases": Measure("1", "phases that did not do all they had to do", _failed_phases),
    "slowest_operation": Measure("s", "the slowest single operation", _slowest_operation),
    "p99_latency": Measure("s", "99th percentile of latency, the largest over the sweep points", _p99_latency),
    "rate": Measure(
        "bytes/s",
        "median rate over the repetitions, the lowest over the sweep points",
        _lowest_median("rate_bytes_per_s"),
    ),
    "operations_rate": Measure(
        "operations/s",
        "median rate over the repetitions, the lowest over the sweep points",
        _lowest_median("rate_operations_per_s"),
    ),
    "spread_between_repetitions": Measure(
        "1",
        "(highest - lowest) / median of the repetitions' rates, the largest over the sweep points",
        _spread_between_repetitions,
    ),
    "utilisation": Measure(
        "1",
        "utilisation of accelerators in the worst epoch, median over the repetitions, the lowest over the sweep points",
        _utilisation,
    ),
    "accelerators": Measure(
        "1",
        "the largest number of accelerators that storage feeds, from a sweep of `ranks_per_client` or a `search`",
        _accelerators,
    ),
}
"""Every measure by the name that a study's criterion uses."""

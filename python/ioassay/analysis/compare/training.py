"""Compares training: the same measures by the same definition, for the same number of accelerators.

An epoch is a repetition on both sides. A measure is compared where both sides have it by one definition: a run of ours
by all of them, results of DLIO by the one that its version prints, and by ours where the ranks' own files have the
times of all steps. Bytes are left out: DLIO does not count them, and prints samples times a configured size.

Not: what the definitions are (`ioassay.analysis.training`), words (`ioassay.reports.compare.training`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from ioassay.analysis import intervals
from ioassay.analysis.compare.subject import Subject, Trained
from ioassay.analysis.intervals import Interval
from ioassay.analysis.training import Epoch, Training, training
from ioassay.store.loaded import LoadedRun

Unit = Literal["share", "samples/s", "ns"]


@dataclass(frozen=True)
class Measure:
    """A measure of an epoch by one definition."""

    what: str
    definition: str
    unit: Unit
    more_is_better: bool
    find: Callable[[Epoch], float | None]


MEASURES: Mapping[str, Measure] = {
    "utilisation": Measure("Utilisation", "ioassay", "share", True, lambda epoch: epoch.utilisation),
    "utilisation_dlio_repository": Measure(
        "Utilisation", "DLIO repository", "share", True, lambda epoch: epoch.dlio_repository
    ),
    "utilisation_dlio_release": Measure("Utilisation", "DLIO release", "share", True, lambda epoch: epoch.dlio_release),
    "samples": Measure("Samples", "all steps", "samples/s", True, lambda epoch: epoch.samples_per_s or None),
    "first_batch": Measure("First batch", "all accelerators", "ns", False, lambda epoch: float(epoch.first_batch_ns)),
    "wait": Measure("Wait", "mean of steps", "ns", False, lambda epoch: epoch.wait_ns),
}
"""By name, in the order of reports."""


@dataclass(frozen=True)
class TrainingRatio:
    """A measure of two subjects with the same number of accelerators."""

    measure: Measure
    reference: Trained
    other: Trained
    reference_values: tuple[float, ...]
    other_values: tuple[float, ...]

    @property
    def medians(self) -> tuple[float, float]:
        """Of the reference and of the other, in the unit of the measure."""
        return median(self.reference_values), median(self.other_values)

    @property
    def value(self) -> float | None:
        """The other over the reference; `None` where that is 0."""
        reference, other = self.medians
        return other / reference if reference else None

    @property
    def interval(self) -> Interval | None:
        """`None` with fewer than 3 epochs on a side."""
        return intervals.of_ratio(self.other_values, self.reference_values)

    @property
    def differs(self) -> bool:
        """True if the interval is known and excludes 1."""
        return self.interval is not None and intervals.differs(self.interval)


def trained(run: LoadedRun) -> tuple[Trained, ...]:
    """What a run trained, by workload and number of accelerators."""
    if run.training.is_empty():
        return ()
    titles = {entry.name: entry.title for entry in run.document.study.workloads}
    workloads = {case.id: case.workload for case in run.document.cases}
    grouped: dict[tuple[str, int], list[Training]] = {}
    for case in training(run):
        if case.is_valid:
            grouped.setdefault((workloads[case.case], case.accelerators), []).append(case)
    return tuple(
        _trained(
            workload, titles.get(workload, workload), accelerators, [epoch for case in cases for epoch in case.trained]
        )
        for (workload, accelerators), cases in sorted(grouped.items(), key=lambda item: item[0])
    )


def _trained(workload: str, title: str, accelerators: int, epochs: Sequence[Epoch]) -> Trained:
    values_of = {name: [measure.find(epoch) for epoch in epochs] for name, measure in MEASURES.items()}
    return Trained(
        workload=workload,
        title=title,
        accelerators=accelerators,
        batch=_only([epoch.batch for epoch in epochs]),
        compute_ns=_only([epoch.asked_compute_ns for epoch in epochs]),
        measures={
            name: tuple(value for value in values if value is not None)
            for name, values in values_of.items()
            if None not in values
        },
    )


def _only(values: Sequence[int | None]) -> int | None:
    """The value of all; `None` where they differ."""
    return values[0] if len({*values}) == 1 else None


def ratios(reference: Subject, other: Subject) -> Iterator[TrainingRatio]:
    """Every measure that both have, for each number of accelerators of one workload that both trained."""
    for mine in reference.trained:
        theirs = _same(mine, reference, other)
        if theirs is None:
            continue
        for name, measure in MEASURES.items():
            if name in mine.measures and name in theirs.measures:
                yield TrainingRatio(measure, mine, theirs, mine.measures[name], theirs.measures[name])


def _same(mine: Trained, reference: Subject, other: Subject) -> Trained | None:
    """The other's with as many accelerators, of the workload of that name, or the only one on both sides."""
    several = any(len({entry.workload for entry in side.trained}) > 1 for side in (reference, other))
    same = [entry for entry in other.trained if entry.accelerators == mine.accelerators]
    if several:
        same = [entry for entry in same if mine.workload == entry.workload or mine.title == entry.title]
    return same[0] if len(same) == 1 else None

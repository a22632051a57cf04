"""How many accelerators storage feeds, over cases that differ in nothing but their number, and which number to measure
next to find out.

A case feeds its accelerators if its worst epoch reaches the goal of its step; a number of accelerators is fed if the
median of its repetitions does. More accelerators are taken to need more of the storage, so the answer is the largest
number below the first that is not fed. It is bracketed by the numbers whose repetitions leave no doubt: `LEAST` or
more, with the 95 % confidence interval of their mean on one side of the goal (`stop_rule.half_width`, which is
corrected for a look after each repetition).

A search measures a number at a time: by bisection until the largest number that is fed and the smallest that is not are
neighbours, then these two again until each is certain or has as many repetitions as it may have. A repetition that
turns a median moves the limit, and the search goes on from there.

Not here: utilisation of an epoch (`training`), running cases (`ioassay.execution.accelerator_search`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Protocol, TypeVar

from ioassay.analysis.accelerator_sweeps import LEAST, accelerator_sweeps
from ioassay.analysis.stop_rule import half_width
from ioassay.analysis.training import Epoch, Limit, Training
from ioassay.store.document import CaseEntry
from ioassay.store.point import SweepPoint


class Count(Protocol):
    """A number of something that reaches a goal or does not."""

    @property
    def reaches_goal(self) -> bool:
        """True if it does."""


C = TypeVar("C", bound=Count)

_ROUNDING = 1e-9
"""Differences of utilisations that may be those of floating-point numbers."""


@dataclass(frozen=True)
class AcceleratorCount:
    """Repetitions of a case with this number of accelerators: a valid one at least, unless a search has yet to measure
    it.
    """

    accelerators: int
    epochs: Sequence[Epoch]
    """The worst of each repetition. Utilisations are from 0 to 1."""

    @property
    def repetitions(self) -> int:
        """Valid repetitions."""
        return len(self.epochs)

    @property
    def utilisation(self) -> float:
        """Median of the repetitions."""
        return median(epoch.utilisation for epoch in self.epochs)

    @property
    def goal(self) -> float:
        """Utilisation at which they are fed."""
        return self.epochs[0].goal

    @property
    def reaches_goal(self) -> bool:
        """True if the median of the repetitions reaches the goal."""
        return bool(self.epochs) and self.utilisation >= self.goal

    @property
    def is_certain(self) -> bool:
        """True if the repetitions leave no doubt whether they are fed."""
        utilisations = [epoch.utilisation for epoch in self.epochs]
        return (
            len(utilisations) >= LEAST and abs(fmean(utilisations) - self.goal) > half_width(utilisations) + _ROUNDING
        )

    @property
    def limit(self) -> Limit | None:
        """What limits the worst epoch of all; `None` where loader threads were idle at times."""
        return min(self.epochs, key=lambda epoch: epoch.utilisation).limit


@dataclass(frozen=True)
class Feeding:
    """How many accelerators are kept busy, over cases that differ in nothing but their number on each client."""

    swept: SweepPoint
    """The workload, with the values of its other axes where it has several such sweeps."""
    counts: Sequence[AcceleratorCount]
    """By the number of accelerators, ascending: two at least. All were measured."""

    @property
    def goal(self) -> float:
        """Utilisation at which accelerators are fed."""
        return self.counts[0].goal

    @property
    def fed(self) -> AcceleratorCount | None:
        """The largest number up to which all reach the goal; `None` where the smallest does not."""
        return limits(self.counts)[0]

    @property
    def first_unfed(self) -> AcceleratorCount | None:
        """The smallest number that misses the goal; `None` where all reach it."""
        return limits(self.counts)[1]

    @property
    def certainly_fed(self) -> AcceleratorCount | None:
        """The largest number that certainly is fed, below all that certainly are not."""
        return limits([count for count in self.counts if count.is_certain])[0]

    @property
    def certainly_unfed(self) -> AcceleratorCount | None:
        """The smallest number that certainly is not fed."""
        return limits([count for count in self.counts if count.is_certain])[1]


def limits(counts: Iterable[C]) -> tuple[C | None, C | None]:
    """The largest of ascending `counts` up to which all reach their goal, and the smallest that does not."""
    largest = None
    for count in counts:
        if not count.reaches_goal:
            return largest, count
        largest = count
    return largest, None


def feeding(cases: Sequence[CaseEntry], trainings: Iterable[Training]) -> list[Feeding]:
    """The answer for each sweep of accelerators, from cases whose epochs are all valid."""
    sweeps = accelerator_counts(cases, trainings)
    return [Feeding(sweep, counts) for sweep, counts in sweeps.items() if len(counts) > 1]


def accelerator_counts(
    cases: Sequence[CaseEntry], trainings: Iterable[Training]
) -> dict[SweepPoint, list[AcceleratorCount]]:
    """The numbers of accelerators of each sweep, ascending, from cases whose epochs are all valid."""
    swept = accelerator_sweeps(cases)
    sweeps: dict[SweepPoint, dict[int, list[Epoch]]] = {}
    for training in trainings:
        if training.is_valid:
            by_count = sweeps.setdefault(swept[training.case], {})
            by_count.setdefault(training.accelerators, []).append(training.worst_epoch)
    return {
        sweep: [AcceleratorCount(count, epochs) for count, epochs in sorted(by_count.items())]
        for sweep, by_count in sweeps.items()
    }


def lowest_utilisation(
    cases: Iterable[CaseEntry], trainings: Iterable[Training]
) -> tuple[float, list[Training]] | None:
    """The lowest median of repetitions over the points of sweeps, each repetition by its worst epoch, from cases whose
    epochs are all valid; and the cases of that point. `None` where there are none.
    """
    entries = {case.id: case for case in cases}
    points: dict[SweepPoint, list[Training]] = {}
    for training in trainings:
        if training.is_valid:
            points.setdefault(entries[training.case].sweep_point, []).append(training)
    medians = [
        (median(training.worst_epoch.utilisation for training in at_point), at_point) for at_point in points.values()
    ]
    return min(medians, key=lambda of_point: of_point[0], default=None)


def next_count(counts: Sequence[AcceleratorCount], exhausted: Collection[int]) -> int | None:
    """The number of accelerators that a search measures next; `None` once it has its answer.

    `counts`: all numbers to search among, ascending. `exhausted`: those that cannot be measured once more. One that is
    without any valid repetition counts as not fed.
    """
    measured = [count for count in counts if count.epochs or count.accelerators in exhausted]
    fed, unfed = limits(measured)
    lowest = fed.accelerators if fed else 0
    between = [
        count.accelerators
        for count in counts
        if lowest < count.accelerators and (unfed is None or count.accelerators < unfed.accelerators)
    ]
    if between:
        return between[len(between) // 2]
    open_counts = [
        count
        for count in (fed, unfed)
        if count is not None and count.accelerators not in exhausted and not count.is_certain
    ]
    return min(open_counts, key=lambda count: count.repetitions).accelerators if open_counts else None

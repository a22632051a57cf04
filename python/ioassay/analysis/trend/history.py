"""Histories: comparable points of runs of one study in the order of time, on one target unless targets are ignored.

The latest run decides: each of its points has the points of earlier runs that match it (`compare.matching`) and were
measured under the same conditions (`compare.subject`). Other points are left out, with the conditions that differ. Not:
how the rate changed (`change_detection`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from ioassay.analysis.compare import matching
from ioassay.analysis.compare.subject import ConditionDifference, Curve, Point, Subject, condition_differences

SIZED_BY_SPEED = ("quick",)
"""Studies that size their data by the speed of the target, so that each phase takes about as long in every run. A
slower target gets less data: if that left a run out, a drop would hide itself.
"""

_SIZES = ("file_set_bytes", "files")


@dataclass(frozen=True)
class Run:
    """A stored run and when it began."""

    subject: Subject
    study: str
    target: str
    started: datetime

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return self.subject.name


@dataclass(frozen=True)
class MeasuredPoint:
    """A run and its point."""

    run: Run
    point: Point


@dataclass(frozen=True)
class LeftOut:
    """A run that measured the point under other conditions; `unlike` is not empty."""

    run: Run
    unlike: tuple[ConditionDifference, ...]


@dataclass(frozen=True)
class History:
    """A point of a series over the runs. Rates are those of `curve.column`."""

    curve: Curve
    """Curve of the latest run."""
    measured: tuple[MeasuredPoint, ...]
    """Ascending in time, ending with the latest run."""
    left_out: tuple[LeftOut, ...]

    @property
    def point(self) -> Point:
        return self.measured[-1].point


@dataclass(frozen=True)
class Missing:
    """A point, or a whole series if that is `None`, of the previous run that the latest run lacks."""

    curve: Curve
    point: Point | None


@dataclass(frozen=True)
class Group:
    """The runs of one study, ascending in time, and all points of the latest one."""

    runs: tuple[Run, ...]
    histories: tuple[History, ...]
    missing: tuple[Missing, ...]

    @property
    def latest(self) -> Run:
        return self.runs[-1]


def groups(runs: Sequence[Run], *, any_target: bool = False) -> list[Group]:
    """The runs grouped by study, and by target unless `any_target`, in the order of their first runs.

    Runs that began in the same second are sorted by name.
    """
    alike: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        alike.setdefault((run.study, "" if any_target else run.target), []).append(run)
    return [_group(sorted(study_runs, key=lambda run: (run.started, run.name))) for study_runs in alike.values()]


def _group(runs: Sequence[Run]) -> Group:
    *earlier, latest = runs
    measured: dict[int, list[MeasuredPoint]] = {}
    left_out: dict[int, list[LeftOut]] = {}
    for run in earlier:
        for mine, point in _matching(latest.subject, run.subject):
            differences = _differences(latest.study, mine, point)
            if differences:
                left_out.setdefault(id(mine), []).append(LeftOut(run, differences))
            else:
                measured.setdefault(id(mine), []).append(MeasuredPoint(run, point))
    histories = (
        History(
            curve,
            (*measured.get(id(point), ()), MeasuredPoint(latest, point)),
            tuple(left_out.get(id(point), ())),
        )
        for curve in latest.subject.curves
        for point in curve.rates[curve.column].points
    )
    missing = tuple(_missing(latest.subject, earlier[-1].subject)) if earlier else ()
    return Group(tuple(runs), tuple(histories), missing)


def _differences(study: str, mine: Point, point: Point) -> tuple[ConditionDifference, ...]:
    """The conditions that make two points of a study incomparable."""
    stated = (
        difference for difference in condition_differences(mine.conditions, point.conditions) if difference.is_stated
    )
    return tuple(difference for difference in stated if not (study in SIZED_BY_SPEED and difference.what in _SIZES))


def _matching(latest: Subject, earlier: Subject) -> Iterator[tuple[Point, Point]]:
    """Matching points, in the quantity of the latest run's curve."""
    for pair in matching.pairs(latest, earlier):
        column = pair.reference.column
        if column in pair.other.rates:
            yield from matching.points(pair.reference.rates[column].points, pair.other.rates[column].points)[0]


def _missing(latest: Subject, before: Subject) -> Iterator[Missing]:
    theirs = {id(pair.other): pair.reference for pair in matching.pairs(latest, before)}
    given = {(*curve.name, curve.operation) for curve in latest.given}
    for curve in before.curves:
        if (*curve.name, curve.operation) in given:
            continue  # it was measured, at a rate that its study sets now
        mine = theirs.get(id(curve))
        if mine is None:
            yield Missing(curve, None)
            continue
        points = curve.rates[curve.column].points
        known = mine.rates[curve.column].points if curve.column in mine.rates else ()
        alone = matching.points(known, points)[1]
        yield from (Missing(curve, point) for point in points if any(point is unmatched for unmatched in alone))

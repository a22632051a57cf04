"""What runs of one study measured alike, in the order of time; on one target, unless all may be taken for one.

The latest run says what belongs there: each of its points has the points of earlier runs that match it
(`compare.matching`) and were measured alike (`compare.subject`). Others are left out, with what is unlike. Not: how
the rate changed (`change_detection`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from ioassay.analysis.compare import matching
from ioassay.analysis.compare.subject import ConditionDifference, Curve, Point, Subject, unlike

SIZED_BY_SPEED = ("quick",)
"""Studies whose data are sized by the speed of the target, so that each phase lasts about as long in every run. A
slower target gets less of it: where that left a run out, a fall would hide itself.
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
        """As it was given."""
        return self.subject.name


@dataclass(frozen=True)
class Measured:
    """What a run measured at a point."""

    run: Run
    point: Point


@dataclass(frozen=True)
class LeftOut:
    """A run that has the point but did not measure it alike: what differs, of which there is something."""

    run: Run
    unlike: tuple[ConditionDifference, ...]


@dataclass(frozen=True)
class History:
    """A point of a series over the runs. Rates are those of `curve.column`."""

    curve: Curve
    """Of the latest run."""
    measured: tuple[Measured, ...]
    """Ascending in time; the last is the latest run's."""
    left_out: tuple[LeftOut, ...]

    @property
    def point(self) -> Point:
        """That of the latest run."""
        return self.measured[-1].point


@dataclass(frozen=True)
class Missing:
    """What the run before the latest has and the latest has not: a point, or where that is `None` a whole series."""

    curve: Curve
    point: Point | None


@dataclass(frozen=True)
class Group:
    """The runs of one study, ascending in time, and all points of the latest of them."""

    runs: tuple[Run, ...]
    histories: tuple[History, ...]
    missing: tuple[Missing, ...]

    @property
    def latest(self) -> Run:
        """The run that is judged."""
        return self.runs[-1]


def groups(runs: Sequence[Run], *, any_target: bool = False) -> list[Group]:
    """The runs by study, and by target unless `any_target` takes all for one, in the order in which these come first.

    Runs that began in the same second are in the order of their names.
    """
    alike: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        alike.setdefault((run.study, "" if any_target else run.target), []).append(run)
    return [_group(sorted(own, key=lambda run: (run.started, run.name))) for own in alike.values()]


def _group(runs: Sequence[Run]) -> Group:
    *earlier, latest = runs
    measured: dict[int, list[Measured]] = {}
    left_out: dict[int, list[LeftOut]] = {}
    for run in earlier:
        for mine, point in _matching(latest.subject, run.subject):
            told = _differences(latest.study, mine, point)
            if told:
                left_out.setdefault(id(mine), []).append(LeftOut(run, told))
            else:
                measured.setdefault(id(mine), []).append(Measured(run, point))
    histories = (
        History(
            curve,
            (*measured.get(id(point), ()), Measured(latest, point)),
            tuple(left_out.get(id(point), ())),
        )
        for curve in latest.subject.curves
        for point in curve.rates[curve.column].points
    )
    missing = tuple(_missing(latest.subject, earlier[-1].subject)) if earlier else ()
    return Group(tuple(runs), tuple(histories), missing)


def _differences(study: str, mine: Point, point: Point) -> tuple[ConditionDifference, ...]:
    """What keeps two points of runs of a study from being compared."""
    found = (one for one in unlike(mine.conditions, point.conditions) if one.is_told)
    return tuple(one for one in found if not (study in SIZED_BY_SPEED and one.what in _SIZES))


def _matching(latest: Subject, earlier: Subject) -> Iterator[tuple[Point, Point]]:
    """The points that belong together, in what the latest run's curve counts."""
    for pair in matching.pairs(latest, earlier):
        column = pair.reference.column
        if column in pair.other.rates:
            yield from matching.points(pair.reference.rates[column].points, pair.other.rates[column].points)[0]


def _missing(latest: Subject, before: Subject) -> Iterator[Missing]:
    theirs = {id(pair.other): pair.reference for pair in matching.pairs(latest, before)}
    given = {(*curve.name, curve.operation) for curve in latest.given}
    for curve in before.curves:
        if (*curve.name, curve.operation) in given:
            continue  # it was measured, at a rate that its study gives now
        mine = theirs.get(id(curve))
        if mine is None:
            yield Missing(curve, None)
            continue
        points = curve.rates[curve.column].points
        known = mine.rates[curve.column].points if curve.column in mine.rates else ()
        alone = matching.points(known, points)[1]
        yield from (Missing(curve, point) for point in points if any(point is one for one in alone))

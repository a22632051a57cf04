"""The content of a trend: for each study and target the series of its latest run over all runs, and the changes.

Not: how it looks (`document`), sentences (`wording`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ioassay.analysis.trend.change_detection import Course, courses
from ioassay.analysis.trend.history import Group, Run, groups
from ioassay.reports.check.lines import Line
from ioassay.reports.compare.configuration import Difference, differences
from ioassay.reports.trend import wording
from ioassay.text.rate_units import Unit, suited


@dataclass(frozen=True)
class Stored:
    """A run and the facts of its configuration (`compare.configuration`)."""

    run: Run
    facts: Mapping[str, str]


@dataclass(frozen=True)
class SeriesPart:
    """A series of the latest run. `unit` is that of all its rates; `courses` and `rows` have its points in their order;
    `notes` say which runs are left out, and what is doubted of the latest.
    """

    title: str
    unit: Unit
    courses: tuple[Course, ...]
    rows: tuple[wording.Row, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Moment:
    """The changes between two runs: a sentence for each point, and the facts of configuration that differ."""

    between: str
    sentences: tuple[str, ...]
    configuration: tuple[Difference, ...]
    """`values` are those of the run before and the run after."""


@dataclass(frozen=True)
class GroupPart:
    """The runs of a study."""

    group: Group
    title: str
    span: str
    given: tuple[str, ...]
    """Series that are not judged because the study sets their rate."""
    series: tuple[SeriesPart, ...]
    moments: tuple[Moment, ...]
    """In the order of time."""
    trends: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Content:
    """All runs that were given. `groups` are those of several runs, `lines` the verdicts on all their points;
    `left_out` says which runs are in none.
    """

    groups: tuple[GroupPart, ...]
    lines: tuple[Line, ...]
    left_out: tuple[str, ...]
    tolerance: float

    @property
    def title(self) -> str:
        """`quick on /mnt/scratch`, of several studies or targets their number."""
        return self.groups[0].title if len(self.groups) == 1 else f"{len(self.groups)} studies or targets"


def assemble(
    stored: Sequence[Stored], undated: Sequence[str], tolerance: float, *, any_target: bool = False
) -> Content:
    """The trend of `stored`. `undated` names runs without a date."""
    every = groups([stored.run for stored in stored], any_target=any_target)
    with_history = [group for group in every if len(group.runs) > 1]
    only_runs = [group.latest for group in every if len(group.runs) == 1]
    # Tested together, so that many series do not raise many false alarms.
    all_courses = iter(courses([history for group in with_history for history in group.histories], tolerance))
    facts = {id(stored.run): stored.facts for stored in stored}
    parts = tuple(_group(group, [next(all_courses) for _ in group.histories], facts) for group in with_history)
    lines = (line for part in parts for line in _lines(part, f"{part.title}: " if len(parts) > 1 else ""))
    left_out = (*map(wording.only_run, only_runs), *map(wording.undated, undated))
    return Content(parts, tuple(lines), left_out, tolerance)


def _group(group: Group, group_courses: Sequence[Course], facts: Mapping[int, Mapping[str, str]]) -> GroupPart:
    series = tuple(
        _series(group, list(same)) for _, same in groupby(group_courses, key=lambda course: id(course.history.curve))
    )
    return GroupPart(
        group=group,
        title=wording.title(group),
        span=wording.span(group),
        given=tuple(wording.given(group)),
        series=series,
        moments=tuple(_moments(group, series, facts)),
        trends=tuple(wording.trend(course, course.trend) for course in group_courses if course.trend),
        missing=tuple(wording.missing(group, gap) for gap in group.missing),
    )


def _series(group: Group, same: Sequence[Course]) -> SeriesPart:
    histories, curve = [course.history for course in same], same[0].history.curve
    rates = (measured.point.median for history in histories for measured in history.measured)
    unit = suited(curve.column, curve.operation, rates)
    return SeriesPart(
        title=curve.title,
        unit=unit,
        courses=tuple(same),
        rows=tuple(wording.row(course, unit) for course in same),
        notes=(
            *wording.left_out(group, histories),
            *wording.sizes(group, histories),
            *wording.runs_needed(histories),
            *wording.doubts(group, histories),
        ),
    )


def _moments(group: Group, series: Sequence[SeriesPart], facts: Mapping[int, Mapping[str, str]]) -> Iterator[Moment]:
    order = {id(run): index for index, run in enumerate(group.runs)}
    sentences_by_runs: dict[tuple[int, int], list[str]] = {}
    for course, unit in ((course, part.unit) for part in series for course in part.courses):
        measured = course.history.measured
        for change in course.changes:
            sides = (measured[change.index - 1].run, measured[change.index].run)
            places = order[id(sides[0])], order[id(sides[1])]
            sentences_by_runs.setdefault(places, []).append(wording.change(course, unit, change))
    for (first, second), sentences in sorted(sentences_by_runs.items()):
        before, after = group.runs[first], group.runs[second]
        also = differences([facts[id(before)], facts[id(after)]], [True, True])
        yield Moment(wording.between(before, after), tuple(sentences), tuple(also))


def _lines(part: GroupPart, prefix: str) -> Iterator[Line]:
    """The verdict on every point of the latest run, then on missing points. `prefix` distinguishes groups."""
    for series in part.series:
        for course in series.courses:
            yield wording.verdict(course, series.unit, prefix)
    for gap in part.group.missing:
        yield wording.missing_verdict(part.group, gap, prefix)

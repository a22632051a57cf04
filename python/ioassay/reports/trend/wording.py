"""The words of a trend: rows of its tables, sentences, and verdicts. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ioassay.analysis.compare.subject import Curve, Point
from ioassay.analysis.intervals import Interval
from ioassay.analysis.trend.change_detection import FEWEST, Change, Course
from ioassay.analysis.trend.history import Group, History, Missing, Run
from ioassay.reports.check.lines import Line, smallest_drop
from ioassay.reports.compare.configuration import Difference
from ioassay.reports.compare.wording import differs, doubted, point_name_among, rate_of, sentences
from ioassay.text import format
from ioassay.text.prose import listed
from ioassay.text.rate_units import Unit
from ioassay.text.units import format_count

HEADS = ("Runs", "Before", "Now", "Change", "Smallest detectable drop", "")
"""The heads of the columns of `Row` but its first."""

COLUMNS_NOTE = (
    "Before: the median of the earlier runs; after a level shift, the highest earlier level; for a trend, its value "
    "at the first run. Smallest detectable drop: a loss of this size in the latest run alone is "
    "detected in 8 of 10 cases; over several runs, smaller losses are detected."
)


_MOST_NAMES = 6
"""Runs that are named one by one."""


class Row(NamedTuple):
    """A point of a series over the runs."""

    point: str
    runs: str
    before: str
    now: str
    change: str
    smallest_detectable_drop: str
    verdict: str


def title(group: Group) -> str:
    """`quick on /mnt/scratch`, `quick on 3 targets`."""
    targets = {run.target for run in group.runs}
    return f"{group.latest.study} on {group.latest.target if len(targets) == 1 else f'{len(targets)} targets'}"


def span(group: Group) -> str:
    """The number of runs, and the time from the first to the last."""
    first, latest = group.runs[0], group.latest
    return f"{len(group.runs)} runs, {when(first)} to {when(latest)} (UTC); the latest is {latest.name}"


def when(run: Run) -> str:
    """The start of a run: `2026-02-02 02:40:00`."""
    return format.moment(run.started.isoformat())


def row(course: Course, unit: Unit) -> Row:
    return Row(
        point=_point(course.history),
        runs=str(len(course.history.measured)),
        before=format.ABSENT if course.before is None else _rate(course, unit, course.before),
        now=_rate(course, unit, course.now),
        change=format.ABSENT if course.change is None else percent(course.change),
        smallest_detectable_drop=format.share(course.smallest_detectable_drop),
        verdict=_verdict(course),
    )


def percent(change: float) -> str:
    """`+3.1 %`, `−29 %`."""
    return f"{'−' if change < 0 else '+'}{_size(change)}"


def _size(change: float) -> str:
    """Without its sign. Never rounds a drop up to 100 %."""
    return f"{min(99.9, -100 * change):.1f} %" if -1 < change < -0.99 else format.share(abs(change))


def change(course: Course, unit: Unit, shift: Change) -> str:
    """`Sequential, write at 8 clients fell by 29 %, from 1.13 GB/s to 800 MB/s.`"""
    moved = shift.after / shift.before - 1
    rates = f"from {_rate(course, unit, shift.before)} to {_rate(course, unit, shift.after)}"
    return f"{_where(course)} {'fell' if moved < 0 else 'rose'} by {_size(moved)}, {rates}."


def trend(course: Course, change: Interval) -> str:
    """`Sequential, write at 8 clients declined gradually by 12 % from a to b (95 % interval −15 % to −8.1 %).`"""
    first, latest = course.history.measured[0].run, course.history.measured[-1].run
    return (
        f"{_where(course)} {'declined' if change.estimate < 0 else 'rose'} gradually by "
        f"{_size(change.estimate)} from {first.name} to {latest.name} "
        f"({format.share(change.confidence)} interval {percent(change.low)} to {percent(change.high)})."
    )


def between(before: Run, after: Run) -> str:
    """The two runs of a moment: `Between a (2026-02-02 02:40:00) and b (2026-02-03 02:40:00)`."""
    return f"Between {before.name} ({when(before)}) and {after.name} ({when(after)})"


def configuration_changes(differences: Sequence[Difference]) -> str:
    """Configuration changes in one sentence."""
    if not differences:
        return "The stored configuration did not change."
    changes = "; ".join(
        f"{difference.what}: {difference.values[0]} → {difference.values[1]}" for difference in differences
    )
    return f"Configuration changes: {changes}."


def left_out(group: Group, histories: Sequence[History]) -> Iterator[str]:
    """The runs that measured a series differently from the latest, a sentence for each way."""
    runs_by_reason: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for history in histories:
        for excluded in history.left_out:
            how = tuple(differs(unlike, group.latest.name) for unlike in excluded.unlike)
            runs_by_reason.setdefault(how, {}).setdefault(_point(history), []).append(excluded.run.name)
    for how, places in runs_by_reason.items():
        names = list(dict.fromkeys(name for place in places.values() for name in place))
        where = "" if len(places) == len(histories) else f" at {listed(list(places))}"
        runs = listed(names) if len(names) <= _MOST_NAMES else f"{len(names)} runs from {names[0]} to {names[-1]}"
        yield (
            f"Left out{where} (different conditions): {runs} ({'; '.join(how)}). To compare them, repeat the study "
            "with the settings of one run."
        )


def sizes(group: Group, histories: Sequence[History]) -> Iterator[str]:
    """The remark that runs with data of different sizes are compared: a sentence or none."""
    for history in histories:
        file_sizes = [
            size for measured in history.measured if (size := measured.point.conditions.file_set_bytes) is not None
        ]
        if file_sizes and min(file_sizes) < max(file_sizes):
            yield (
                f"Rates of {format.size(min(file_sizes))} to {format.size(max(file_sizes))} are compared: "
                f"{group.latest.study} sizes its data by the speed of the target, and each phase lasts about as long."
            )
            return


def runs_needed(histories: Sequence[History]) -> Iterator[str]:
    """The number of runs that a verdict still needs: a sentence or none."""
    most = max((len(history.measured) for history in histories), default=0)
    if 0 < most < FEWEST:
        more = format_count(FEWEST - most, "more run")
        yield f"A verdict needs {FEWEST} runs that were measured alike: at least {more} of the study."


def doubts(group: Group, histories: Sequence[History]) -> list[str]:
    """Doubts about the latest run, in one sentence or none."""
    return sentences(doubted(group.latest.name, [(_point(history), history.point) for history in histories]))


def missing(group: Group, gap: Missing) -> str:
    """A series or point that the previous run has and the latest lacks."""
    where = f"{gap.curve.title} at {_point_of(gap.curve, gap.point)}" if gap.point else gap.curve.title
    return f"{group.runs[-2].name} has {where}, and {group.latest.name} has no valid measurement of it."


def given(group: Group) -> Iterator[str]:
    """Series without a trend because the study sets their rate: a sentence or none."""
    titles = [curve.title for curve in group.latest.subject.given]
    if titles:
        yield (
            f"Not judged, because the study sets their rate or pauses: {'; '.join(titles)}. The report of each run has "
            "the rates that were kept and the latencies; `ioassay compare` shows them side by side."
        )


def undated(run: str) -> str:
    """Why a run without a date is left out."""
    return f"{run} is left out: it has no timestamp."


def only_run(run: Run) -> str:
    """Why the only run of a study is left out."""
    return f"{run.name} is left out: it is the only run of {run.study} on {run.target}."


def verdict(course: Course, unit: Unit, prefix: str) -> Line:
    """The verdict on a point of the latest run. `prefix` distinguishes groups."""
    return Line(
        f"{prefix}{course.history.curve.title}", _point(course.history), course.judgement, _verdict_text(course, unit)
    )


def missing_verdict(group: Group, gap: Missing, prefix: str) -> Line:
    """The verdict on what the latest run lacks."""
    name = _point_of(gap.curve, gap.point) if gap.point else "the series"
    return Line(f"{prefix}{gap.curve.title}", name, "failed", missing(group, gap))


def _verdict_text(course: Course, unit: Unit) -> str:
    now, earlier = _rate(course, unit, course.now), format_count(len(course.history.measured) - 1, "earlier run")
    if course.before is None or course.change is None:
        return f"{now}; a verdict needs {FEWEST} runs"
    against = f"against {_rate(course, unit, course.before)}"
    moved = f"{_size(course.change)} {'less' if course.change < 0 else 'more'}"
    if course.trend:
        return trend(course, course.trend)
    if course.changes:
        since = course.history.measured[course.changes[-1].index].run.name
        return f"{now} since {since} {against} before: {moved}{_of_latest_only(course)}"
    comparison = f"{now} {against} of {earlier}: {moved}"
    if course.smallest_detectable_drop is None:
        return f"{comparison}; a verdict needs {FEWEST} runs"
    chance = ", which may be chance" if course.reason == "scatter" else ""
    is_too_large = course.reason == "insensitive"
    return (
        f"{comparison}{chance}; {smallest_drop(course.smallest_detectable_drop, is_too_large=is_too_large, of='runs')}"
    )


def _of_latest_only(course: Course) -> str:
    """The remark on a level that only the latest run has."""
    return "; only the latest run shows it: repeat it" if course.rests_on_the_latest_run else ""


def _verdict(course: Course) -> str:
    if course.reason == "insensitive":
        return "runs scatter too much to judge"
    if course.reason == "held" and (course.trend or course.changes) and course.change and course.change > 0:
        return "rose"
    return "may be chance" if course.reason == "scatter" else course.reason


def _where(course: Course) -> str:
    return f"{course.history.curve.title} at {_point(course.history)}"


def _point(history: History) -> str:
    return _point_of(history.curve, history.point)


def _point_of(curve: Curve, point: Point) -> str:
    return point_name_among(point, curve.rates[curve.column].points)


def _rate(course: Course, unit: Unit, per_s: float) -> str:
    return rate_of(course.history.curve.operation, unit, per_s)

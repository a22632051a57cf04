"""Detects when and by how much a rate changed over the runs, and whether the latest run has declined.

A value is the logarithm of the median of a run: repetitions within a run do not show how runs scatter. Each point has
two tests:

- **Change**: the largest Student's t of a part of the runs (from one run to another, or to the latest) against all
  others; its probability is multiplied by the number of such parts (the likelihood ratio test of Worsley, 1979, with
  Bonferroni's bound, in the circular segmentation of Olshen et al., 2004). If the part is the latest run alone, this is
  its prediction interval from the earlier runs (Hahn, 1969). Repeated within the parts.
- **Trend**: Kendall's tau against time, with the slope of Theil and Sen.

The correlation of neighbouring runs weakens both, and only the better fit of a line and steps is reported
(`trend_tests`). Benjamini and Hochberg's procedure (1995) covers all tests of all points together: without changes, at
most `FALSE_ALARMS` of all cases have a report, and no larger share of the reports is wrong. That holds for independent
runs with log-normal scatter; docs/concepts/statistics.md has the rates that `test_change_detection.py` measures, also
for other runs. The rank statistic of `drift` needs 22 values for a single change, too many here.

Changes within the tolerance are not reported. Not: which runs are comparable (`history`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import nctdtrinc, ndtr, ndtri, stdtr, stdtrit
from scipy.stats import false_discovery_control, kendalltau

from ioassay.analysis.acceptance import Judgement
from ioassay.analysis.detectable_drop import POWER, is_insensitive
from ioassay.analysis.intervals import Interval
from ioassay.analysis.trend.history import History
from ioassay.analysis.trend_tests import Slopes, is_line, widening

if TYPE_CHECKING:
    from ioassay.analysis.trend_tests import Array

FEWEST = 5
"""The fewest runs that are judged."""

FALSE_ALARMS = 0.01
"""Largest share of cases with a report although nothing changed, over all points of all runs."""

_SHORTEST = 3
"""The fewest runs before a change, and after a change before the latest run."""

_CALMEST = 1e-3
"""Lower bound of the scatter. Imported rates are rounded, so most runs may be equal."""

_DAY_S = 86_400

Reason = Literal["held", "declined", "scatter", "insensitive", "too few runs"]
"""`scatter`: the latest run is lower by more than the tolerance, but runs scatter so much that it may be chance.
`insensitive`: it is not lower, but runs scatter so much that a large loss could be missed (`is_insensitive`).
"""

_JUDGEMENTS: dict[Reason, Judgement] = {
    "held": "passed",
    "declined": "failed",
    "scatter": "not judged",
    "insensitive": "not judged",
    "too few runs": "not judged",
}


@dataclass(frozen=True)
class Change:
    """A level shift before the run at `index` of the history, from one median of runs to another."""

    index: int
    before: float
    after: float


@dataclass(frozen=True)
class Course:
    """The verdict on the rate at a point. Rates are in the unit of the history's column."""

    history: History
    reason: Reason
    before: float | None
    """The reference of the latest run: the median of the earlier runs; with steps, the highest earlier level that
    differs significantly; with a trend, its line at the first run. `None` without an earlier run.
    """
    now: float
    """The latest run's median; with steps, the last level; with a trend, its line at the latest run."""
    trend: Interval | None = None
    """The gradual change from the first to the latest run, as a share of the rate at the first."""
    changes: tuple[Change, ...] = ()
    """In the order of time; empty if there is a trend."""
    smallest_detectable_drop: float | None = None
    """The drop of the latest run alone that is detected with probability `POWER`, as a share of the earlier runs.
    `None` with too few runs, or if something was detected.
    """

    @property
    def judgement(self) -> Judgement:
        """The judgement that follows from the reason."""
        return _JUDGEMENTS[self.reason]

    @property
    def rests_on_the_latest_run(self) -> bool:
        """True if the level changed with the latest run, which may be a single slow run."""
        return bool(self.changes) and self.changes[-1].index == len(self.history.measured) - 1

    @property
    def change(self) -> float | None:
        """The relative difference from `before`: -0.2 is 20 % less."""
        return None if self.before is None else self.now / self.before - 1


def courses(histories: Sequence[History], tolerance: float) -> list[Course]:
    """The verdict on each history, tested together. `tolerance` is the share of the rate that may be lost, 0 to 1."""
    tested = [_Tests(history) if len(history.measured) >= FEWEST else None for history in histories]
    chances = [chance for test in tested if test for chance in (test.change_chance, test.trend_chance)]
    limit = _limit(chances)
    return [
        _untested(history) if test is None else _course(history, test, limit, len(chances), tolerance)
        for history, test in zip(histories, tested, strict=True)
    ]


class _Tests:
    """The values of a history, with the probabilities of so much change and so much trend by chance."""

    def __init__(self, history: History) -> None:
        seconds = np.array([measured.run.started.timestamp() for measured in history.measured])
        for index in range(1, len(seconds)):  # a start is known to the second
            seconds[index] = max(seconds[index], seconds[index - 1] + 1)
        self.days: Array = (seconds - seconds[0]) / _DAY_S
        self.values: Array = np.log([measured.point.median for measured in history.measured])
        as_independent = list(_splits(self.values, 0, 1.0, FALSE_ALARMS, is_latest=True))
        # Along a line, many short steps fit better than the line, which is no correlation of neighbours.
        if is_line(self.values, self.days, as_independent):
            as_independent = []
        self.widening = widening(self.values, self.days, as_independent)
        self.slopes = Slopes(self.values, self.days)
        self.change_chance = _best_part(self.values, self.widening, is_latest=True)[1]
        # With few runs, only the exact distribution gives the probability that each run is lower than the previous one.
        chance = np.nan_to_num(kendalltau(self.days, self.values).pvalue, nan=1.0)  # equal values have none
        self.trend_chance = 2 * float(ndtr(ndtri(chance / 2) / self.widening))


def _limit(chances: Sequence[float]) -> float:
    """The highest probability that is reported, 0 if none is."""
    if not chances:
        return 0.0
    adjusted = false_discovery_control(np.array(chances, dtype=np.float64), method="bh")
    return max(
        (chance for chance, adjusted_chance in zip(chances, adjusted, strict=True) if adjusted_chance <= FALSE_ALARMS),
        default=0.0,
    )


def _untested(history: History) -> Course:
    *earlier, latest = (measured.point.median for measured in history.measured)
    return Course(history, "too few runs", float(np.median(earlier)) if earlier else None, latest)


def _course(history: History, tested: _Tests, limit: float, tests: int, tolerance: float) -> Course:
    values, days = tested.values, tested.days
    splits = _above_tolerance(values, list(_splits(values, 0, tested.widening, limit, is_latest=True)), tolerance)
    trend = _trend(tested, tolerance) if tested.trend_chance <= limit else None
    if trend is not None and splits and not is_line(values, days, splits):
        trend = None
    if trend is not None:
        before = math.exp(float(np.median(values - tested.slopes.median * days)))
        return _detected(history, before, before * (1 + trend.estimate), tolerance, trend=trend)
    if splits:
        parts = np.split(values, splits)
        differing = [part for part in parts[:-2] if _chance(part, parts[-1], tested.widening) <= limit]
        before = max(map(_level, [*differing, parts[-2]]))
        levels = pairwise(map(_level, parts))
        changes = (
            Change(index, before_change, after_change)
            for index, (before_change, after_change) in zip(splits, levels, strict=True)
        )
        return _detected(history, before, _level(parts[-1]), tolerance, changes=tuple(changes))
    now, before = history.point.median, _level(values[:-1])
    detectable = _detectable(values[:-1], tests)
    reason: Reason = "insensitive" if is_insensitive(detectable, tolerance) else "held"
    if now < (1 - tolerance) * before:
        reason = "scatter"
    return Course(history, reason, before, now, smallest_detectable_drop=detectable)


def _detected(
    history: History,
    before: float,
    now: float,
    tolerance: float,
    *,
    trend: Interval | None = None,
    changes: tuple[Change, ...] = (),
) -> Course:
    """The verdict of a history with a detected change or trend."""
    return Course(history, "held" if now >= (1 - tolerance) * before else "declined", before, now, trend, changes)


def _trend(tested: _Tests, tolerance: float) -> Interval | None:
    slope = tested.slopes.interval(tested.widening)
    change, low, high = (math.expm1(growth * tested.days[-1]) for growth in (slope.estimate, slope.low, slope.high))
    return Interval(change, low, high, slope.confidence) if abs(change) > tolerance else None


def _splits(values: Array, offset: int, widening: float, limit: float, *, is_latest: bool) -> Iterator[int]:
    """Indices of the runs before which the level changes, ascending."""
    splits, chance = _best_part(values, widening, is_latest=is_latest)
    if chance > limit:
        return
    begins = [0, *splits]
    for begin, part in zip(begins, np.split(values, splits), strict=True):
        if begin:
            yield offset + begin
        yield from _splits(part, offset + begin, widening, limit, is_latest=is_latest and begin == begins[-1])


def _best_part(values: Array, widening: float, *, is_latest: bool) -> tuple[list[int], float]:
    """The splits around the part that differs most from all other runs, and the probability of that by chance; no
    splits and 1 with too few runs.

    The part ends at the second split, or with the last value if there is only one split. Both kinds of parts have an
    equal share of the false alarms. `is_latest`: the last value is that of the latest run, which may be a part alone.
    """
    count = len(values)
    begins, ends = np.triu_indices(count + 1, k=1)
    lasts = ends == count
    shortest = np.where(lasts, 1 if is_latest else _SHORTEST, _SHORTEST)
    fits = (begins >= _SHORTEST) & (ends - begins >= shortest) & (lasts | (count - ends >= _SHORTEST))
    begins, ends, lasts = begins[fits], ends[fits], lasts[fits]
    if not len(begins):
        return [], 1.0
    sizes = ends - begins
    off = values - values.mean()
    sums = np.concatenate([[0.0], np.cumsum(off)])
    between = (sums[ends] - sums[begins]) ** 2 * count / (sizes * (count - sizes))
    scatter = np.maximum((off @ off - between) / (count - 2), _CALMEST**2)
    # A part of a single run has the scatter of single runs, whatever the correlation of neighbours.
    deviations = np.sqrt(between / scatter) / np.where(sizes > 1, widening, 1.0)
    places = np.where(lasts, lasts.sum(), (~lasts).sum()) * len(np.unique(lasts))
    chances = places * 2 * stdtr(count - 2, -deviations)
    best = int(chances.argmin())
    bounds = [int(begins[best])] if lasts[best] else [int(begins[best]), int(ends[best])]
    return bounds, min(1.0, float(chances[best]))


def _chance(before: Array, after: Array, widening: float) -> float:
    """The probability of such a difference by chance: two-sided, of Student's t with a common scatter."""
    freedom = len(before) + len(after) - 2
    squares = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
    error = max(math.sqrt(squares / freedom), _CALMEST) * math.sqrt(1 / len(before) + 1 / len(after))
    wider = widening if len(after) > 1 else 1.0
    return 2 * float(stdtr(freedom, -abs(float(after.mean() - before.mean())) / (error * wider)))


def _above_tolerance(values: Array, splits: list[int], tolerance: float) -> list[int]:
    """The splits at which the median changes by more than the tolerance, after removing the smallest ones in turn."""
    while splits:
        steps = [abs(math.log(_level(before) / _level(after))) for before, after in pairwise(np.split(values, splits))]
        smallest = min(range(len(steps)), key=steps.__getitem__)
        if -math.expm1(-steps[smallest]) > tolerance:
            break
        del splits[smallest]
    return splits


def _level(values: Array) -> float:
    return math.exp(float(np.median(values)))


def _detectable(earlier: Array, tests: int) -> float:
    """The drop that is detected even if nothing else is, which is the hardest case."""
    # One of the runs at which a part may begin that ends with the latest run; there are two kinds of parts.
    alone = FALSE_ALARMS / tests / (len(earlier) + 1 - _SHORTEST) / 2
    freedom = len(earlier) - 1
    deviations = float(nctdtrinc(freedom, 1 - POWER, -stdtrit(freedom, alone / 2)))
    error = max(float(np.std(earlier, ddof=1)), _CALMEST) * math.sqrt(1 + 1 / len(earlier))
    return -math.expm1(-deviations * error)

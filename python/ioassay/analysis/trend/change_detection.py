"""Whether a rate changed over the runs, when and by how much, and whether the latest run has declined.

A value is the logarithm of the median of a run: repetitions within a run tell nothing of how runs scatter. Of each
point two things are tested:

- **Change**: Student's t of the runs from some run on, or from one run to another, against all others, where it is
  largest; its probability is multiplied by the number of such places (the likelihood ratio test of Worsley, 1979, by
  Bonferroni's bound, in the circular segmentation of Olshen et al., 2004). Where the latest run stands alone, this is
  its prediction interval from the earlier runs (Hahn, 1969). Then again within the parts.
- **Trend**: Kendall's tau against time, with the slope of Theil and Sen.

Both are weakened by the correlation of neighbouring runs, and of a line and of steps only the one that fits better is
told (`trend_tests`). All tests of all points together are held by Benjamini and Hochberg's procedure (1995): where
nothing changed, something is reported in at most `FALSE_ALARMS` of all cases, and no larger share of what is reported
is wrong. That holds for runs with log-normal scatter that are independent of each other; docs/concepts/statistics.md
has what `test_change_detection.py` measures, of others too. The rank statistic of `drift` needs 22 values for a single
change, so it does not serve here.

What is smaller than the tolerance is not told. Not: which runs are alike (`history`).
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
"""Largest share of cases, over all points of all runs given, with a report where nothing changed."""

_SHORTEST = 3
"""Runs before a change, and after one that is not the latest, at least."""

_CALMEST = 1e-3
"""The least scatter that is reckoned with. Imported rates are rounded, so that most runs may be equal."""

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
    """The level changed before the run at `at` among those of the history, from one median of runs to another."""

    at: int
    before: float
    after: float


@dataclass(frozen=True)
class Course:
    """How the rate at a point went. Rates are in the unit of the history's column."""

    history: History
    reason: Reason
    before: float | None
    """What the latest run is judged by: the median of the earlier runs; of steps the highest earlier level that surely
    differs; of a trend its line at the first run. `None` where there is no earlier run.
    """
    now: float
    """The latest run's median; of steps the last level; of a trend its line at the latest run."""
    trend: Interval | None = None
    """The gradual change from the first to the latest run, as a share of the rate at the first."""
    changes: tuple[Change, ...] = ()
    """In the order of time; empty where there is a trend."""
    smallest_detectable_drop: float | None = None
    """The fall of the latest run alone, a share of the earlier runs, that is detected with probability `POWER`. `None`
    where runs are too few, or where something was detected.
    """

    @property
    def judgement(self) -> Judgement:
        """What the reason comes down to."""
        return _JUDGEMENTS[self.reason]

    @property
    def rests_on_the_latest_run(self) -> bool:
        """True if the level changed with the latest run, which may be a single slow night."""
        return bool(self.changes) and self.changes[-1].at == len(self.history.measured) - 1

    @property
    def change(self) -> float | None:
        """The difference from before, as a share of it: -0.2 is 20 % less."""
        return None if self.before is None else self.now / self.before - 1


def courses(histories: Sequence[History], tolerance: float) -> list[Course]:
    """How each of them went, told together. `tolerance` is the share of the rate that may be lost, 0 to 1."""
    tested = [_Tested(history) if len(history.measured) >= FEWEST else None for history in histories]
    chances = [chance for one in tested if one for chance in (one.change_chance, one.trend_chance)]
    limit = _limit(chances)
    return [
        _untested(history) if one is None else _course(history, one, limit, len(chances), tolerance)
        for history, one in zip(histories, tested, strict=True)
    ]


class _Tested:
    """The values of a history, with the probabilities of so much change and so much trend by chance."""

    def __init__(self, history: History) -> None:
        seconds = np.array([one.run.started.timestamp() for one in history.measured])
        for index in range(1, len(seconds)):  # a start is known to the second
            seconds[index] = max(seconds[index], seconds[index - 1] + 1)
        self.days: Array = (seconds - seconds[0]) / _DAY_S
        self.values: Array = np.log([one.point.median for one in history.measured])
        as_independent = list(_splits(self.values, 0, 1.0, FALSE_ALARMS, is_latest=True))
        # Along a line, many short steps leave less than the line, which says nothing of neighbours.
        if is_line(self.values, self.days, as_independent):
            as_independent = []
        self.widening = widening(self.values, self.days, as_independent)
        self.slopes = Slopes(self.values, self.days)
        self.change_chance = _best_part(self.values, self.widening, is_latest=True)[1]
        # Of few runs only the exact distribution tells how rare it is that each is lower than the one before.
        chance = np.nan_to_num(kendalltau(self.days, self.values).pvalue, nan=1.0)  # of equal values there is none
        self.trend_chance = 2 * float(ndtr(ndtri(chance / 2) / self.widening))


def _limit(chances: Sequence[float]) -> float:
    """The highest probability that is reported, 0 if none is."""
    if not chances:
        return 0.0
    adjusted = false_discovery_control(np.array(chances, dtype=np.float64), method="bh")
    return max((chance for chance, one in zip(chances, adjusted, strict=True) if one <= FALSE_ALARMS), default=0.0)


def _untested(history: History) -> Course:
    *earlier, latest = (one.point.median for one in history.measured)
    return Course(history, "too few runs", float(np.median(earlier)) if earlier else None, latest)


def _course(history: History, tested: _Tested, limit: float, tests: int, tolerance: float) -> Course:
    values, days = tested.values, tested.days
    at = _large(values, list(_splits(values, 0, tested.widening, limit, is_latest=True)), tolerance)
    trend = _trend(tested, tolerance) if tested.trend_chance <= limit else None
    if trend is not None and at and not is_line(values, days, at):
        trend = None
    if trend is not None:
        before = math.exp(float(np.median(values - tested.slopes.median * days)))
        return _judged(history, before, before * (1 + trend.estimate), tolerance, trend=trend)
    if at:
        parts = np.split(values, at)
        surely = [part for part in parts[:-2] if _chance(part, parts[-1], tested.widening) <= limit]
        before = max(map(_level, [*surely, parts[-2]]))
        levels = pairwise(map(_level, parts))
        changes = (Change(where, one, other) for where, (one, other) in zip(at, levels, strict=True))
        return _judged(history, before, _level(parts[-1]), tolerance, changes=tuple(changes))
    now, before = history.point.median, _level(values[:-1])
    detectable = _detectable(values[:-1], tests)
    reason: Reason = "insensitive" if is_insensitive(detectable, tolerance) else "held"
    if now < (1 - tolerance) * before:
        reason = "scatter"
    return Course(history, reason, before, now, smallest_detectable_drop=detectable)


def _judged(
    history: History,
    before: float,
    now: float,
    tolerance: float,
    *,
    trend: Interval | None = None,
    changes: tuple[Change, ...] = (),
) -> Course:
    """Of what is reported."""
    return Course(history, "held" if now >= (1 - tolerance) * before else "declined", before, now, trend, changes)


def _trend(tested: _Tested, tolerance: float) -> Interval | None:
    slope = tested.slopes.interval(tested.widening)
    change, low, high = (math.expm1(one * tested.days[-1]) for one in (slope.estimate, slope.low, slope.high))
    return Interval(change, low, high, slope.confidence) if abs(change) > tolerance else None


def _splits(values: Array, offset: int, widening: float, limit: float, *, is_latest: bool) -> Iterator[int]:
    """The runs before which the level changes, ascending."""
    at, chance = _best_part(values, widening, is_latest=is_latest)
    if chance > limit:
        return
    begins = [0, *at]
    for begin, part in zip(begins, np.split(values, at), strict=True):
        if begin:
            yield offset + begin
        yield from _splits(part, offset + begin, widening, limit, is_latest=is_latest and begin == begins[-1])


def _best_part(values: Array, widening: float, *, is_latest: bool) -> tuple[list[int], float]:
    """The part that differs most from all others, and with what probability by chance; of too few runs nothing and 1.

    The part begins at the first split and ends at the second, or if there is only one, with the last value. Parts of
    each of these kinds have an equal share of the false alarms. `is_latest`: the last value is that of the latest run,
    which may stand alone.
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
    # The scatter of a run that stands alone is that of single runs, however these resemble their neighbours.
    deviations = np.sqrt(between / scatter) / np.where(sizes > 1, widening, 1.0)
    places = np.where(lasts, lasts.sum(), (~lasts).sum()) * len(np.unique(lasts))
    chances = places * 2 * stdtr(count - 2, -deviations)
    best = int(chances.argmin())
    at = [int(begins[best])] if lasts[best] else [int(begins[best]), int(ends[best])]
    return at, min(1.0, float(chances[best]))


def _chance(before: Array, after: Array, widening: float) -> float:
    """The probability of such a difference where there is none: two-sided, of Student's t with a common scatter."""
    freedom = len(before) + len(after) - 2
    squares = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
    error = max(math.sqrt(squares / freedom), _CALMEST) * math.sqrt(1 / len(before) + 1 / len(after))
    wider = widening if len(after) > 1 else 1.0
    return 2 * float(stdtr(freedom, -abs(float(after.mean() - before.mean())) / (error * wider)))


def _large(values: Array, splits: list[int], tolerance: float) -> list[int]:
    """Those of `splits` at which the median changes by more than the tolerance. The smallest goes first."""
    while splits:
        steps = [abs(math.log(_level(one) / _level(other))) for one, other in pairwise(np.split(values, splits))]
        smallest = min(range(len(steps)), key=steps.__getitem__)
        if -math.expm1(-steps[smallest]) > tolerance:
            break
        del splits[smallest]
    return splits


def _level(values: Array) -> float:
    return math.exp(float(np.median(values)))


def _detectable(earlier: Array, tests: int) -> float:
    """Even if nothing else is detected, which makes it hardest."""
    # One of the places at which a part may begin that ends with the latest run; there are parts of two kinds.
    alone = FALSE_ALARMS / tests / (len(earlier) + 1 - _SHORTEST) / 2
    freedom = len(earlier) - 1
    deviations = float(nctdtrinc(freedom, 1 - POWER, -stdtrit(freedom, alone / 2)))
    error = max(float(np.std(earlier, ddof=1)), _CALMEST) * math.sqrt(1 + 1 / len(earlier))
    return -math.expm1(-deviations * error)

"""How many differences of a comparison of many points are reported as more than chance, and how many are.

python bench/statistics/many_ratios.py [TIMES]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from table import head, percent, row, whole

from ioassay.analysis import intervals
from ioassay.analysis.compare import multiple_testing
from ioassay.analysis.compare.multiple_testing import Chance, RatioTest

SCATTER = 0.05
FACTOR = 1.5
"""Of the points that really differ."""


@dataclass(frozen=True)
class Outcome:
    """Of many comparisons: shares of them, and means of how many points."""

    any_differs: float
    any_certain: float
    too_many: float
    """The share in which more points are reported to differ than do."""
    differing: float
    certain: float
    confidence: float


def compared(dice: np.random.Generator, points: int, truly: int, repetitions: int) -> Chance:
    """One comparison, of which the first `truly` points differ."""
    logs = dice.normal(0, SCATTER, (points, 2, repetitions))
    logs[:truly, 0] += np.log(FACTOR)
    judged = []
    for other, mine in np.exp(logs).tolist():
        interval = intervals.of_ratio(other, mine)
        assert interval is not None
        judged.append(RatioTest(interval, intervals.chance_of_order(other, mine)))
    chance = multiple_testing.judge_together(judged)
    assert chance is not None
    return chance


def outcome(points: int, truly: int, repetitions: int, times: int) -> Outcome:
    """What comparisons of points say of which `truly` differ."""
    dice = np.random.default_rng(repetitions)
    chances = [compared(dice, points, truly, repetitions) for _ in range(times)]
    return Outcome(
        any_differs=float(np.mean([chance.differing > 0 for chance in chances])),
        any_certain=float(np.mean([chance.certain > 0 for chance in chances])),
        too_many=float(np.mean([chance.certain > truly for chance in chances])),
        differing=float(np.mean([chance.differing for chance in chances])),
        certain=float(np.mean([chance.certain for chance in chances])),
        confidence=chances[0].confidence,
    )


def main() -> None:
    """Print the tables of docs/concepts/statistics.md."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    cases = [(points, repetitions) for points in (2, 8, 20) for repetitions in (3, 5, 7, 10)]
    head("points, none differs", "repetitions", "some interval excludes 1", "a difference is reported", "allowed")
    for points, repetitions in cases:
        result = outcome(points, 0, repetitions, times)
        shares = (percent(result.any_differs), percent(result.any_certain), whole(1 - result.confidence))
        row(str(points), f"{repetitions} and {repetitions}", *shares)
    print()
    head(
        "points, half differ by 1.5 times", "repetitions", "intervals exclude 1 at", "at least, on average", "too many"
    )
    for points, repetitions in cases:
        result = outcome(points, points // 2, repetitions, times)
        means = (f"{result.differing:.1f}", f"{result.certain:.1f}")
        row(str(points), f"{repetitions} and {repetitions}", *means, percent(result.too_many))


if __name__ == "__main__":
    main()

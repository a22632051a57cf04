"""How many differences of a comparison are significant when many ratios are tested together.

Each interval excludes 1 by chance as often as its confidence allows, and a comparison has many. Here all hypotheses
"this ratio is 1" are tested together: each set of ratios by Fisher's combination of the probabilities of their orders
(Mann and Whitney's, mid-p). Tested in closed form over all sets (Goeman and Solari, *Multiple testing for exploratory
research*, 2011), that gives a lower bound of the number of true differences, whichever of the ratios a reader picks.

Holm's procedure, which decides for each ratio by itself whether it differs, needs smaller probabilities than few
repetitions can give: 3 against 3 never come below 10 %, which no second ratio may share. Intervals stay as they are.
`test_multiple_testing.py` measures the false alarms. Not: intervals (`ioassay.analysis.intervals`), sentences.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ioassay.analysis import intervals
from ioassay.analysis.intervals import WANTED, Interval


class RatioTest(NamedTuple):
    """The interval of a ratio, and the probability that its repetitions lie so far apart by chance (mid-p)."""

    interval: Interval
    chance: float


@dataclass(frozen=True)
class Chance:
    """The verdict on all intervals of a comparison together."""

    judged: int
    """Ratios that have an interval."""
    differing: int
    """Ratios whose interval excludes 1."""
    by_chance: float
    """How many would exclude 1 on average if nothing differed."""
    certain: int
    """Lower bound of how many of `differing` really differ."""
    confidence: float
    """Confidence of `certain`, 0 to 1: that of the intervals, at most `intervals.WANTED`."""


def judge_together(judged: Sequence[RatioTest]) -> Chance | None:
    """The verdict on all ratios together, `None` without any. Their repetitions are independent."""
    if not judged:
        return None
    differing = [ratio.chance for ratio in judged if intervals.differs(ratio.interval)]
    others = [ratio.chance for ratio in judged if not intervals.differs(ratio.interval)]
    confidence = min(WANTED, *(ratio.interval.confidence for ratio in judged))
    return Chance(
        judged=len(judged),
        differing=len(differing),
        by_chance=sum(1 - ratio.interval.confidence for ratio in judged),
        certain=len(differing) - _may_be_chance(differing, others, 1 - confidence),
        confidence=confidence,
    )


def _may_be_chance(differing: Sequence[float], others: Sequence[float], level: float) -> int:
    """The largest number of `differing` that may be due to chance: together with some of the others they are a set
    whose combined probability is above `level`.

    Among sets of one size, the one with the largest probabilities decides.
    """
    of_differing = _combined(differing)
    of_others = [0.0, *_combined(others)]
    for most in range(len(differing), 0, -1):
        together = (survival(most + count, of_differing[most - 1] + more) for count, more in enumerate(of_others))
        if any(chance > level for chance in together):
            return most
    return 0


def _combined(chances: Sequence[float]) -> list[float]:
    """Fisher's combination of the largest probability, of the two largest, and so on."""
    largest_first = sorted(chances, reverse=True)
    # With very many repetitions a probability underflows to 0.
    return [*itertools.accumulate(-2 * math.log(max(chance, sys.float_info.min)) for chance in largest_first)]


def survival(half_freedom: int, value: float) -> float:
    """The probability that chi-square of `2 * half_freedom` degrees of freedom is at least `value`.

    For even degrees that is the sum of Poisson's first terms, here from the last one on. scipy has it, too, but
    takes 0.2 s to import.
    """
    if value <= 0:
        return 1.0
    mean = value / 2
    term = total = math.exp((half_freedom - 1) * math.log(mean) - mean - math.lgamma(half_freedom))
    for index in range(half_freedom - 1, 0, -1):
        term *= index / mean
        total += term
    return total

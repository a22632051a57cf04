from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from scipy.special import chdtrc

from ioassay.analysis import intervals
from ioassay.analysis.compare import multiple_testing
from ioassay.analysis.compare.multiple_testing import RatioTest
from ioassay.analysis.intervals import Interval


def ratios(*differs: bool, confidence: float = 0.95) -> list[RatioTest]:
    """Ratios with clearly significant or insignificant differences."""
    return [
        RatioTest(Interval(2.0, 1.5 if differs else 0.9, 2.5, confidence), (1 - confidence) / 2 if differs else 1.0)
        for differs in differs
    ]


def test_a_single_interval_keeps_its_confidence() -> None:
    chance = multiple_testing.judge_together(ratios(True, confidence=0.9))
    assert chance is not None
    assert (chance.judged, chance.differing, chance.certain, chance.confidence) == (1, 1, 1, 0.9)


def test_one_differing_point_of_many_is_chance() -> None:
    chance = multiple_testing.judge_together(ratios(True, *[False] * 19))
    assert chance is not None
    assert (chance.differing, chance.certain) == (1, 0)
    assert chance.by_chance == pytest.approx(1.0)


def test_all_differences_are_certain_if_every_point_differs() -> None:
    chance = multiple_testing.judge_together(ratios(*[True] * 20, confidence=0.9))
    assert chance is not None
    assert chance.certain == 20


def test_most_differences_are_certain_if_most_points_differ() -> None:
    # Of the other and one of the 19 together it is 20 %, of the other and two of them 6.1 %.
    chance = multiple_testing.judge_together(ratios(*[True] * 19, False, confidence=0.9))
    assert chance is not None
    assert chance.certain == 18


def test_no_intervals_have_no_verdict() -> None:
    assert multiple_testing.judge_together([]) is None


def repeated(rng: random.Random, median: float, repetitions: int) -> list[float]:
    return [median * math.exp(rng.gauss(0, 0.05)) for _ in range(repetitions)]


def compared(rng: random.Random, medians: Sequence[float], repetitions: int) -> multiple_testing.Chance:
    """Points of which the reference has the median 1."""
    points = []
    for median in medians:
        other, mine = repeated(rng, median, repetitions), repeated(rng, 1.0, repetitions)
        interval = intervals.of_ratio(other, mine)
        assert interval is not None
        points.append(RatioTest(interval, intervals.chance_of_order(other, mine)))
    chance = multiple_testing.judge_together(points)
    assert chance is not None
    return chance


@pytest.mark.parametrize("repetitions", [3, 5, 7])
def test_false_alarms_without_any_difference_are_as_rare_as_allowed(repetitions: int) -> None:
    rng = random.Random(repetitions)
    outcomes = [compared(rng, [1.0] * 20, repetitions) for _ in range(500)]
    allowed = 1 - outcomes[0].confidence
    deviation = math.sqrt(allowed * (1 - allowed) / len(outcomes))
    assert sum(outcome.certain > 0 for outcome in outcomes) / len(outcomes) <= allowed + 3 * deviation
    assert sum(outcome.differing > 0 for outcome in outcomes) / len(outcomes) > 0.4


@pytest.mark.parametrize("repetitions", [3, 5, 7])
def test_no_more_points_are_certain_than_the_half_that_differs(repetitions: int) -> None:
    rng = random.Random(repetitions)
    chances = [compared(rng, [1.5] * 10 + [1.0] * 10, repetitions) for _ in range(500)]
    allowed = 1 - chances[0].confidence
    too_many = sum(outcome.certain > 10 for outcome in chances) / len(chances)
    assert too_many <= allowed + 3 * math.sqrt(allowed * (1 - allowed) / len(chances))
    assert sorted(outcome.certain for outcome in chances)[250] >= 7


@pytest.mark.parametrize("half_freedom", [1, 2, 3, 20, 150, 700])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0, 1.1, 2.0, 6.0])
def test_the_probability_of_chi_square_is_that_of_scipy(half_freedom: int, share: float) -> None:
    value = 2 * half_freedom * share
    assert multiple_testing.survival(half_freedom, value) == pytest.approx(chdtrc(2 * half_freedom, value), rel=1e-9)


def test_a_probability_that_underflows_to_0_is_no_error() -> None:
    sure = RatioTest(Interval(2.0, 1.9, 2.1, 0.95), 0.0)
    chance = multiple_testing.judge_together([sure, sure])
    assert chance is not None
    assert chance.certain == 2

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from scipy.special import chdtrc

from ioassay.analysis import intervals
from ioassay.analysis.compare import multiple_testing
from ioassay.analysis.compare.multiple_testing import Judged
from ioassay.analysis.intervals import Interval


def told(*differs: bool, confidence: float = 0.95) -> list[Judged]:
    """Points that differ just so, and points that do not at all."""
    return [
        Judged(Interval(2.0, 1.5 if one else 0.9, 2.5, confidence), (1 - confidence) / 2 if one else 1.0)
        for one in differs
    ]


def test_a_single_interval_is_believed_as_far_as_it_says() -> None:
    found = multiple_testing.judge_together(told(True, confidence=0.9))
    assert found is not None
    assert (found.judged, found.differing, found.certain, found.confidence) == (1, 1, 1, 0.9)


def test_of_many_points_one_that_differs_is_chance() -> None:
    found = multiple_testing.judge_together(told(True, *[False] * 19))
    assert found is not None
    assert (found.differing, found.certain) == (1, 0)
    assert found.by_chance == pytest.approx(1.0)


def test_where_every_point_differs_all_of_them_do() -> None:
    found = multiple_testing.judge_together(told(*[True] * 20, confidence=0.9))
    assert found is not None
    assert found.certain == 20


def test_where_most_points_differ_most_of_them_are_no_chance() -> None:
    # Of the other and one of the 19 together it is 20 %, of the other and two of them 6.1 %.
    found = multiple_testing.judge_together(told(*[True] * 19, False, confidence=0.9))
    assert found is not None
    assert found.certain == 18


def test_without_intervals_nothing_is_told() -> None:
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
        points.append(Judged(interval, intervals.chance_of_order(other, mine)))
    found = multiple_testing.judge_together(points)
    assert found is not None
    return found


@pytest.mark.parametrize("repetitions", [3, 5, 7])
def test_without_any_difference_the_share_of_comparisons_that_tell_one_is_what_is_allowed(repetitions: int) -> None:
    rng = random.Random(repetitions)
    found = [compared(rng, [1.0] * 20, repetitions) for _ in range(500)]
    allowed = 1 - found[0].confidence
    deviation = math.sqrt(allowed * (1 - allowed) / len(found))
    assert sum(one.certain > 0 for one in found) / len(found) <= allowed + 3 * deviation
    assert sum(one.differing > 0 for one in found) / len(found) > 0.4


@pytest.mark.parametrize("repetitions", [3, 5, 7])
def test_where_half_of_the_points_differ_no_more_are_called_certain_than_do(repetitions: int) -> None:
    rng = random.Random(repetitions)
    found = [compared(rng, [1.5] * 10 + [1.0] * 10, repetitions) for _ in range(500)]
    allowed = 1 - found[0].confidence
    too_many = sum(one.certain > 10 for one in found) / len(found)
    assert too_many <= allowed + 3 * math.sqrt(allowed * (1 - allowed) / len(found))
    assert sorted(one.certain for one in found)[250] >= 7


@pytest.mark.parametrize("half_freedom", [1, 2, 3, 20, 150, 700])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0, 1.1, 2.0, 6.0])
def test_the_probability_of_chi_square_is_that_of_scipy(half_freedom: int, share: float) -> None:
    value = 2 * half_freedom * share
    assert multiple_testing.survival(half_freedom, value) == pytest.approx(chdtrc(2 * half_freedom, value), rel=1e-9)


def test_a_probability_too_small_to_be_told_from_0_is_no_error() -> None:
    sure = Judged(Interval(2.0, 1.9, 2.1, 0.95), 0.0)
    found = multiple_testing.judge_together([sure, sure])
    assert found is not None
    assert found.certain == 2

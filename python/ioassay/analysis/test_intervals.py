from __future__ import annotations

import math
from collections.abc import Callable
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis import intervals

RATES = st.lists(st.floats(1e-3, 1e12), min_size=3, max_size=12)

TRIALS = 4000
THREE_SIGMA = 3 * math.sqrt(0.25 / TRIALS)


def _covered(draw: Callable[[], bool]) -> float:
    return sum(draw() for _ in range(TRIALS)) / TRIALS


@pytest.mark.parametrize(
    ("repetitions", "claimed"), [(3, 0.75), (4, 0.875), (5, 0.9375), (6, 0.969), (7, 0.984), (9, 0.961), (10, 0.979)]
)
@pytest.mark.parametrize("scatter", ["even", "skewed"])
def test_an_interval_of_a_median_covers_what_it_claims_for_any_scatter(
    repetitions: int, claimed: float, scatter: str
) -> None:
    dice = np.random.default_rng(repetitions)
    truth = 1.0 if scatter == "even" else math.exp(-0.1 * math.log(2))

    def covers() -> bool:
        drawn = (
            dice.lognormal(0, 0.1, repetitions) if scatter == "even" else np.exp(-dice.exponential(0.1, repetitions))
        )
        interval = intervals.of_median(drawn.tolist())
        assert interval is not None
        assert interval.confidence == pytest.approx(claimed, abs=0.001)
        return interval.low <= truth <= interval.high

    assert _covered(covers) == pytest.approx(claimed, abs=THREE_SIGMA)


@pytest.mark.parametrize(("first", "second", "claimed"), [(3, 3, 0.9), (3, 5, 0.964), (4, 4, 0.971), (7, 7, 0.962)])
def test_an_interval_of_a_ratio_covers_what_it_claims_if_both_scatter_alike(
    first: int, second: int, claimed: float
) -> None:
    dice = np.random.default_rng(first + second)

    def covers() -> bool:
        interval = intervals.of_ratio(
            (1.2 * dice.lognormal(0, 0.05, first)).tolist(), dice.lognormal(0, 0.05, second).tolist()
        )
        assert interval is not None
        assert interval.confidence == pytest.approx(claimed, abs=0.001)
        return interval.low <= 1.2 <= interval.high

    assert _covered(covers) == pytest.approx(claimed, abs=THREE_SIGMA)


def test_an_interval_of_a_noisy_against_a_calm_series_covers_as_little_as_documented() -> None:
    dice = np.random.default_rng(1)

    def covers() -> bool:
        interval = intervals.of_ratio(dice.lognormal(0, 0.03, 3).tolist(), dice.lognormal(0, 0.15, 3).tolist())
        assert interval is not None
        return interval.low <= 1 <= interval.high

    assert _covered(covers) == pytest.approx(0.83, abs=THREE_SIGMA)


def test_fewer_than_three_repetitions_have_no_interval() -> None:
    assert intervals.of_median([1.0, 2.0]) is None
    assert intervals.of_ratio([1.0, 2.0], [1.0, 2.0, 3.0]) is None


def test_a_rate_of_0_has_no_ratio() -> None:
    assert intervals.of_ratio([1.0, 2.0, 3.0], [0.0, 1.0, 2.0]) is None


@given(RATES)
def test_an_interval_contains_its_median_and_ends_at_values_in_any_order(
    values: list[float],
) -> None:
    interval = intervals.of_median(values)
    assert interval is not None
    assert interval.low <= interval.estimate == median(values) <= interval.high
    assert {interval.low, interval.high} <= set(values)
    assert interval == intervals.of_median(sorted(values))


@given(RATES, RATES)
def test_the_inverse_ratio_has_the_inverse_interval(first: list[float], second: list[float]) -> None:
    there, back = intervals.of_ratio(first, second), intervals.of_ratio(second, first)
    assert there is not None
    assert back is not None
    assert there.confidence == back.confidence
    assert there.low == pytest.approx(1 / back.high)
    assert intervals.differs(there) == intervals.differs(back)


def test_repetitions_far_apart_differ_and_those_that_overlap_do_not() -> None:
    slow, fast = [1.0, 1.1, 1.05], [2.0, 2.1, 1.9]
    apart = intervals.of_ratio(fast, slow)
    same = intervals.of_ratio(slow, [1.08, 1.02, 1.12])
    assert apart is not None
    assert same is not None
    assert intervals.differs(apart)
    assert not intervals.differs(same)


def test_the_chance_of_an_order_is_small_for_separate_repetitions_and_1_for_equal_ones() -> None:
    assert intervals.chance_of_order([1, 2, 3], [4, 5, 6]) == pytest.approx(0.05)
    assert intervals.chance_of_order([4, 5, 6], [1, 2, 3]) == pytest.approx(0.05)
    assert intervals.chance_of_order([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]) == pytest.approx(1 / 252)
    assert intervals.chance_of_order([1, 1, 1], [1, 1, 1]) == 1
    assert intervals.chance_of_order([1, 4, 5], [2, 3, 6]) > 0.5

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis.best_of import Best, best_of

TRIALS = 500


def best(points: Sequence[Sequence[float]]) -> Best:
    found = best_of(points, estimate=max(float(np.median(one)) for one in points))
    assert found is not None
    return found


@pytest.mark.parametrize("repetitions", [3, 5])
def test_the_best_of_7_equal_points_is_too_high_by_its_luck_and_its_interval_covers_the_truth(repetitions: int) -> None:
    dice = np.random.default_rng(repetitions)
    found = [best(dice.lognormal(0, 0.05, (7, repetitions)).tolist()) for _ in range(TRIALS)]
    bias = np.mean([one.interval.estimate for one in found]) - 1
    assert bias == pytest.approx({3: 0.045, 5: 0.036}[repetitions], abs=0.004)
    assert np.mean([one.luck for one in found]) == pytest.approx(bias, abs=0.005)
    assert np.mean([one.interval.low <= 1 <= one.interval.high for one in found]) >= 0.95


@pytest.mark.parametrize("scatter", [0.02, 0.1])
def test_the_interval_covers_the_highest_rate_of_a_sweep_that_rises_and_falls(scatter: float) -> None:
    truth = np.array([1, 1.9, 3.3, 4.6, 5.0, 4.6, 3.7])
    dice = np.random.default_rng(1)
    sweeps = (truth[:, None] * dice.lognormal(0, scatter, (7, 3)) for _ in range(TRIALS))
    found = [best(points.tolist()) for points in sweeps]
    assert np.mean([one.interval.low <= 5 <= one.interval.high for one in found]) >= 0.94


def test_a_peak_that_stands_out_owes_nothing_to_luck() -> None:
    found = best([[1.0, 1.01, 0.99], [2.0, 2.01, 1.99], [1.5, 1.51, 1.49]])
    assert (found.alike, found.luck) == (1, 0.0)


def test_where_repetitions_are_missing_nothing_is_said() -> None:
    assert best_of([[1.0, 2.0, 3.0]], estimate=2.0) is None
    assert best_of([[1.0, 2.0, 3.0], [1.0]], estimate=2.0) is None
    assert best_of([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0]], estimate=2.0) is None


@given(st.lists(st.lists(st.floats(1e3, 1e12), min_size=2, max_size=5), min_size=2, max_size=6))
def test_the_interval_holds_the_estimate_and_faster_storage_has_the_same_in_proportion(
    points: list[list[float]],
) -> None:
    slow, fast = best(points), best([[8 * rate for rate in one] for one in points])
    assert slow.interval.low <= slow.interval.estimate <= slow.interval.high
    assert fast.interval.low == pytest.approx(8 * slow.interval.low)
    assert fast.alike == slow.alike
    assert fast.luck == pytest.approx(slow.luck)

from __future__ import annotations

import numpy as np
import pytest

from ioassay.analysis.trend_tests import Slopes, is_line, residuals_of_line, residuals_of_steps, widening

IRREGULAR = np.array([0.0, 1.0, 1.5, 4.0, 9.0, 9.5, 12.0, 20.0])


def test_the_slope_is_per_unit_of_time_and_an_odd_value_does_not_move_it() -> None:
    values = 3.0 + 0.25 * IRREGULAR
    values[3] += 50
    slopes = Slopes(values, IRREGULAR)
    assert slopes.median == pytest.approx(0.25)
    interval = slopes.interval(1.0)
    assert interval.low <= 0.25 <= interval.high
    assert np.count_nonzero(np.abs(residuals_of_line(values, IRREGULAR)) > 1e-9) == 1


def test_the_interval_of_the_slope_covers_it_as_often_as_it_claims() -> None:
    dice = np.random.default_rng(1)
    times = np.arange(20.0)
    intervals = [Slopes(0.1 * times + dice.normal(0, 1, 20), times).interval(1.0) for _ in range(1000)]
    covered = sum(interval.low <= 0.1 <= interval.high for interval in intervals) / len(intervals)
    assert covered == pytest.approx(0.95, abs=0.025)


def test_a_line_and_steps_are_distinguished() -> None:
    times = np.arange(24.0)
    noise = np.random.default_rng(2).normal(0, 0.1, 24)
    assert is_line(noise + 0.1 * times, times, [12])
    steps = noise + (times >= 12)
    assert not is_line(steps, times, [12])
    assert np.abs(residuals_of_steps(steps, [12])).max() < 0.5


def test_the_widening_grows_with_the_correlation_of_neighbours() -> None:
    dice = np.random.default_rng(3)
    times = np.arange(400.0)
    widths = []
    for correlation in (0.0, 0.4, 0.8):
        values = dice.normal(0, 1, 400)
        for place in range(1, 400):
            values[place] = correlation * values[place - 1] + np.sqrt(1 - correlation**2) * values[place]
        widths.append(widening(values, times, []))
    expected = [np.sqrt((1 + correlation) / (1 - correlation)) for correlation in (0.0, 0.4, 0.8)]
    assert widths == pytest.approx(expected, rel=0.25)

"""Amounts over steps of time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.profiles.spreading import spread

moments = st.floats(0, 1000, allow_nan=False)


@given(st.lists(st.tuples(moments, moments, st.floats(0, 1e12)), max_size=30), st.sampled_from([0.1, 1.0, 3.2]))
def test_spreading_keeps_the_sum_and_is_never_negative(rows: list[tuple[float, float, float]], step_s: float) -> None:
    start = np.array([min(row[:2]) for row in rows], dtype=float)
    end = np.array([max(row[:2]) for row in rows], dtype=float)
    amount = np.array([row[2] for row in rows], dtype=float)
    sums = spread(start, end, amount, step_s, 200)
    assert sums.sum() == pytest.approx(amount.sum())
    assert sums.min() >= -1e-6 * max(1.0, amount.sum())


def test_an_interval_is_spread_evenly_over_the_steps_that_it_reaches_into() -> None:
    sums = spread(np.array([0.5]), np.array([3.0]), np.array([100.0]), 1.0, 5)
    assert sums.tolist() == pytest.approx([20, 40, 40, 0, 0])


def test_steps_of_a_tenth_of_a_second_stay_where_they_are() -> None:
    start = np.arange(300.0) * np.float64(0.1)
    assert spread(start, start + 0.1, np.arange(300.0), 0.1, 301)[:300].tolist() == pytest.approx(np.arange(300.0))

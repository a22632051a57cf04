"""Amounts over time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.results.darshan.timelines import Moves, Timelines, spread, timeline_step
from ioassay.results.profile_model import MOST_HEAT_BINS, MOST_TIMELINE_BINS

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


def test_the_time_line_is_as_fine_as_its_source_and_not_too_long() -> None:
    assert timeline_step(10, [0.1, 0.4], is_traced=False) == 0.1
    assert timeline_step(1000, [0.8], is_traced=False) == 0.8
    assert timeline_step(10, [], is_traced=True) == 0.1
    assert timeline_step(1000, [12.8], is_traced=True) == 1.0
    assert 1e7 / timeline_step(1e7, [0.1], is_traced=False) < MOST_TIMELINE_BINS
    assert timeline_step(10, [0.0, float("nan")], is_traced=False) == 1.0


def test_the_heat_has_few_enough_steps_and_all_bytes() -> None:
    timelines = Timelines(1000, 0.5)
    start = np.arange(0, 1000, 0.5)
    timelines.add(Moves(3, "write", True, start, start + 0.1, np.full(2000, 7.0), True), is_heat=True)
    heat = timelines.heat()
    assert heat.height <= MOST_HEAT_BINS
    assert heat["written_bytes"].sum() == pytest.approx(14_000)
    assert heat["write_ns"].sum() == pytest.approx(2000 * 1e8)
    assert heat["metadata_ns"].null_count() == heat.height


def test_times_are_unknown_where_anything_was_not_traced() -> None:
    timelines = Timelines(10, 1.0)
    second = np.array([1.0])
    timelines.add(Moves(0, "read", False, second, second + 0.5, np.array([5.0]), True), is_heat=True)
    timelines.add(Moves(0, "stream read", False, second, second + 1, np.array([6.0]), False), is_heat=True)
    timelines.add(Moves(1, "read", False, second, second + 0.5, np.array([5.0]), True), is_heat=True)
    assert timelines.timeline().select("operation", "calls", "bytes").rows() == [
        ("read", 2.0, 10.0),
        ("stream read", None, 6.0),
    ]
    assert timelines.heat().select("process", "read_bytes", "read_ns").rows() == [(0, 11.0, None), (1, 5.0, 5e8)]


def test_moves_that_cannot_be_are_left_out() -> None:
    timelines = Timelines(10, 1.0)
    start, end = np.array([float("nan"), 2.0, 1e300, -5.0]), np.array([1.0, float("inf"), 1e301, 1.0])
    timelines.add(Moves(0, "read", False, start, end, np.array([1.0, 2.0, 4.0, 8.0]), True), is_heat=True)
    assert timelines.timeline()["bytes"].sum() == pytest.approx(12)

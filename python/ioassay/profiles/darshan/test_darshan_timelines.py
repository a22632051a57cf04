"""Amounts over time."""

from __future__ import annotations

import numpy as np
import pytest

from ioassay.profiles.darshan.timelines import Moves, Timelines, timeline_step
from ioassay.profiles.model import MOST_HEAT_BINS, MOST_TIMELINE_BINS


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

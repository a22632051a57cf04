"""Times that follow from rates: to fill, to write a checkpoint, until growth has filled it."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from ioassay.analysis.findings.stragglers import STRETCHED
from ioassay.sizing.arithmetic import Value, exactly, product
from ioassay.sizing.configurations import read
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.model import Size
from ioassay.sizing.times import (
    LEAD,
    YEAR_S,
    checkpoint_schedule,
    checkpoint_time,
    data_after,
    fill_by_growth,
    stonewall_space,
    time_to_fill,
)
from ioassay.systems.amounts import BYTES, SECONDS
from ioassay.testing.sized_configuration import sized

DAY_S = 86400


@pytest.fixture(scope="module")
def size() -> Size:
    """Six performance bricks: 1.152 PB, 27 GB/s."""
    return _racks()


@cache
def _racks() -> Size:
    file, catalogue = read("md3460-racks")
    return evaluate(catalogue, "performance-6", file.configurations["performance-6"])


def test_the_time_to_fill_times_the_rate_is_the_capacity(size: Size) -> None:
    fill = time_to_fill(size)
    assert fill is not None
    rate = size.rates["healthy"]["write"].value
    assert product("written", fill, rate).interval.nominal == size.capacity.usable.interval.nominal
    assert product("written", fill, rate).dimension == BYTES


def test_a_checkpoint_takes_its_size_over_the_write_rate(size: Size) -> None:
    time = checkpoint_time(size, exactly("memory of all nodes", 100 * 10**12, BYTES))
    assert time is not None
    assert time.nominal == pytest.approx(100e12 / size.rates["healthy"]["write"].value.nominal)


def test_a_checkpoint_takes_longer_while_a_drive_is_rebuilt_or_a_server_is_down(size: Size) -> None:
    state = exactly("memory of all nodes", 10**14, BYTES)
    times = [checkpoint_time(size, state, condition) for condition in ("healthy", "rebuilding", "failed_over")]
    healthy, *others = (time.nominal for time in times if time is not None)
    assert all(healthy <= other for other in others)


def test_times_are_unknown_without_a_write_rate(tmp_path: Path) -> None:
    _, size = sized(tmp_path)
    unknown = replace(size, rates={condition: {} for condition in size.rates})
    assert time_to_fill(unknown) is None
    assert checkpoint_time(unknown, exactly("state", 1, BYTES)) is None
    assert stonewall_space(unknown, exactly("stonewall", 300, SECONDS)) is None


def test_a_checkpoint_of_ten_minutes_a_day_between_failures_is_written_every_three_hours() -> None:
    schedule = checkpoint_schedule(exactly("write", 600, SECONDS), exactly("between", DAY_S, SECONDS))
    assert schedule.every.nominal == pytest.approx(math.sqrt(2 * 600 * DAY_S), rel=0.05)
    assert schedule.writing.nominal == pytest.approx(600 / (schedule.every.nominal + 600))
    assert 2 * schedule.writing.nominal == pytest.approx(schedule.lost.nominal, rel=0.1)


@given(st.floats(1, 1e4), st.floats(1e4, 1e7))
def test_no_other_interval_loses_noticeably_less(write_s: float, between_s: float) -> None:
    def lost(every_s: float) -> float:
        return 1 - every_s / (between_s * math.expm1((every_s + write_s) / between_s))

    schedule = checkpoint_schedule(_seconds(write_s), _seconds(between_s))
    best = minimize_scalar(lost, bounds=(1, 10 * between_s), method="bounded", options={"xatol": 1e-3})
    assert lost(schedule.every.nominal) == pytest.approx(schedule.lost.nominal, abs=1e-9)
    assert schedule.lost.nominal <= float(best.fun) + 0.005


@given(st.floats(1e-3, 1e7), st.floats(1, 1e9))
def test_shares_of_time_stay_within_0_and_1(write_s: float, between_s: float) -> None:
    schedule = checkpoint_schedule(_seconds(write_s), _seconds(between_s))
    assert schedule.every.nominal > 0
    assert 0 <= schedule.writing.nominal <= 1
    assert -1e-9 <= schedule.lost.nominal <= 1


def test_a_stonewall_of_300_s_writes_what_the_storage_does_in_that_time_and_the_lead_of_a_rank(size: Size) -> None:
    """IO500's ior-easy on 27 GB/s: 8.1 TB, and 1.5 times that by wear-out."""
    space = stonewall_space(size, exactly("stonewall", 300, SECONDS))
    assert space is not None
    rate = size.rates["healthy"]["write"].value.nominal
    assert space.nominal == pytest.approx(1.5 * 300 * rate)
    assert space.dimension == BYTES


def test_a_phase_never_writes_more_than_its_files(size: Size) -> None:
    planned = exactly("files of the phase", 10**12, BYTES)
    space = stonewall_space(size, exactly("stonewall", 300, SECONDS), planned=planned)
    assert space is not None
    assert space.nominal == 1e12


def test_the_assumed_lead_is_where_reports_begin_to_name_stragglers() -> None:
    assert LEAD.nominal == STRETCHED


def test_data_that_double_every_year_fill_four_times_their_size_in_two_years(size: Size) -> None:
    start = exactly("data", size.capacity.usable.interval.nominal / 4, BYTES)
    full = fill_by_growth(size, start, exactly("growth", 1))
    assert full is not None
    assert full.nominal == pytest.approx(2 * YEAR_S)


@given(st.floats(0.01, 3), st.integers(1, 40))
def test_when_it_is_full_the_data_are_as_large_as_it_is(growth: float, parts: int) -> None:
    size = _racks()
    start = exactly("data", size.capacity.usable.interval.nominal / parts, BYTES)
    per_year = exactly("growth", Fraction(growth).limit_denominator(1000))
    full = fill_by_growth(size, start, per_year)
    assert full is not None
    before, after = math.floor(full.nominal / YEAR_S), math.ceil(full.nominal / YEAR_S)
    assert data_after(start, per_year, before).nominal <= size.capacity.usable.nominal * (1 + 1e-9)
    assert data_after(start, per_year, after).nominal >= size.capacity.usable.nominal * (1 - 1e-9)


def test_data_that_do_not_fit_have_filled_it_from_the_beginning(size: Size) -> None:
    too_large = exactly("data", size.capacity.usable.interval.nominal * 2, BYTES)
    full = fill_by_growth(size, too_large, exactly("growth", 1))
    assert full is not None
    assert full.nominal == 0


def test_a_system_without_capacity_is_full_from_the_beginning(size: Size) -> None:
    nothing = replace(size, capacity=replace(size.capacity, usable=exactly("usable capacity", 0, BYTES)))
    full = fill_by_growth(nothing, exactly("data", 1, BYTES), exactly("growth", 1))
    assert full is not None
    assert full.nominal == 0


def test_data_that_do_not_grow_never_fill_it(size: Size) -> None:
    assert fill_by_growth(size, exactly("data", 1, BYTES), exactly("growth", 0)) is None


def test_a_share_that_must_stay_free_is_full_earlier(size: Size) -> None:
    start = exactly("data", 10**14, BYTES)
    whole = fill_by_growth(size, start, exactly("growth", Fraction(3, 10)))
    most = fill_by_growth(size, start, exactly("growth", Fraction(3, 10)), exactly("fill", Fraction(8, 10)))
    assert whole is not None
    assert most is not None
    assert most.nominal < whole.nominal


def _seconds(number: float) -> Value:
    return exactly("time", Fraction(number), SECONDS)

"""The chance that a group is lost: against closed forms, against simulated drives, and at its edges."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from ioassay.sizing.reliability.chain import Group, loss_during_rebuild, loss_within
from ioassay.testing.failing_drives import share_lost

HOUR_S, DAY_S, YEAR_S = 3600.0, 86400.0, 365 * 86400.0
DISK_S = 100 * YEAR_S
"""Mean time between failures of a drive of which 1 % fail in a year."""

groups = st.builds(
    Group,
    drives=st.integers(5, 60),
    parity=st.integers(0, 4),
    failures_per_s=st.floats(1e-4, 1).map(lambda per_year: per_year / YEAR_S),
    rebuilds_per_s=st.floats(0.1, 1000).map(lambda hours: 1 / (hours * HOUR_S)),
    unreadable=st.sampled_from((0.0, 1e-6, 0.3, 1.0)),
)


def test_drives_without_parity_are_lost_with_the_first_failure() -> None:
    group = Group(10, 0, 1 / DISK_S, 1 / DAY_S)
    assert loss_within(group, YEAR_S) == pytest.approx(-math.expm1(-0.1))
    assert loss_during_rebuild(group) == 1


def test_a_raid5_that_is_rebuilt_quickly_has_the_mean_time_to_loss_of_patterson_gibson_and_katz() -> None:
    mean_s = DISK_S**2 / (5 * 4 * DAY_S)
    assert loss_within(Group(5, 1, 1 / DISK_S, 1 / DAY_S), YEAR_S) == pytest.approx(YEAR_S / mean_s, rel=0.01)


@pytest.mark.parametrize(("parity", "at_once"), [(2, 2), (3, 6)])
def test_more_parity_has_the_mean_time_to_loss_of_rebuilds_side_by_side(parity: int, at_once: int) -> None:
    """Chen's formula times `parity`!: with one rebuild after the other data are lost so much oftener (Angus, 1988)."""
    drives = math.prod(range(10 - parity, 11))
    mean_s = at_once * DISK_S ** (parity + 1) / (drives * DAY_S**parity)
    assert loss_within(Group(10, parity, 1 / DISK_S, 1 / DAY_S), YEAR_S) == pytest.approx(YEAR_S / mean_s, rel=0.02)


def test_a_loss_during_a_rebuild_is_a_second_failure_before_its_end() -> None:
    group = Group(5, 1, 1 / DISK_S, 1 / DAY_S)
    second, ends = 4 / DISK_S, 1 / DAY_S
    assert loss_during_rebuild(group) == pytest.approx(second / (second + ends))


def test_every_rebuild_without_redundancy_that_meets_an_unreadable_sector_is_a_loss() -> None:
    assert loss_during_rebuild(Group(5, 1, 1 / DISK_S, 1 / DAY_S, unreadable=1)) == pytest.approx(1)
    share = loss_during_rebuild(Group(5, 1, 1 / DISK_S, 1 / DAY_S, unreadable=0.2))
    assert share == pytest.approx(0.2, rel=0.01)


@pytest.mark.parametrize(
    "group",
    [
        Group(5, 1, 0.2 / YEAR_S, 1 / (5 * DAY_S), 0.2),
        Group(10, 2, 0.5 / YEAR_S, 1 / (10 * DAY_S)),
        Group(10, 2, 0.5 / YEAR_S, 1 / (10 * DAY_S), 0.2),
        Group(11, 3, 1.0 / YEAR_S, 1 / (20 * DAY_S)),
    ],
)
def test_simulated_losses_match_the_computed_ones(group: Group) -> None:
    """Drive by drive, with failures frequent enough to count losses; 99.9 % confidence, fixed seed."""
    drawn = 8000
    lost = round(share_lost(np.random.default_rng(1), group, YEAR_S, drawn) * drawn)
    interval = binomtest(lost, drawn).proportion_ci(0.999)
    assert interval.low < loss_within(group, YEAR_S) < interval.high


def test_the_simulation_would_show_a_chance_that_is_a_fifth_too_high() -> None:
    group = Group(10, 2, 0.5 / YEAR_S, 1 / (10 * DAY_S), 0.2)
    drawn = 8000
    lost = round(share_lost(np.random.default_rng(1), group, YEAR_S, drawn) * drawn)
    interval = binomtest(lost, drawn).proportion_ci(0.999)
    assert not interval.low < 1.2 * loss_within(group, YEAR_S) < interval.high


@given(groups, st.floats(0, 10))
def test_chances_are_chances(group: Group, years: float) -> None:
    assert 0 <= loss_within(group, years * YEAR_S) <= 1
    assert 0 <= loss_during_rebuild(group) <= 1


@given(groups)
def test_one_more_drive_of_parity_never_makes_loss_likelier(group: Group) -> None:
    """Without parity no rebuild reads anything, so nothing is unreadable: a sector counts only from one on."""
    if group.parity == 0:
        group = replace(group, unreadable=0.0)
    safer = replace(group, drives=group.drives + 1, parity=group.parity + 1)
    assert loss_within(safer, YEAR_S) <= loss_within(group, YEAR_S) * (1 + 1e-6)
    assert loss_during_rebuild(safer) <= loss_during_rebuild(group) * (1 + 1e-6)


@given(groups, st.floats(1, 100))
def test_a_longer_rebuild_never_makes_the_loss_of_drives_less_likely(group: Group, times: float) -> None:
    """Of drives alone: a rebuild that does not end within the year meets no unreadable sector either."""
    quick = replace(group, unreadable=0.0)
    slow = replace(quick, rebuilds_per_s=group.rebuilds_per_s / times)
    assert loss_within(quick, YEAR_S) <= loss_within(slow, YEAR_S) * (1 + 1e-6)
    assert loss_during_rebuild(quick) <= loss_during_rebuild(slow) * (1 + 1e-6)


@given(groups, st.floats(1, 10))
def test_drives_that_fail_oftener_never_make_loss_less_likely(group: Group, times: float) -> None:
    worse = replace(group, failures_per_s=group.failures_per_s * times)
    assert loss_within(group, YEAR_S) <= loss_within(worse, YEAR_S) * (1 + 1e-6)

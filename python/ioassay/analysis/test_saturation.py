"""The saturation point, on curves whose answer is known."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis.saturation import Cell, saturation


def cell(files: int, ranks: int, rate: float, spread: float = 0.0) -> Cell:
    rates = (rate * (1 - spread), rate, rate * (1 + spread))
    return Cell(files, ranks, 1, rate, rates[0], rates[2], 3, rates)


def test_a_curve_that_flattens_saturates_where_it_comes_within_the_tolerance() -> None:
    found = saturation([cell(1, ranks, min(1000, 240 * ranks)) for ranks in (1, 2, 4, 8, 16)])
    assert found is not None
    assert (found.point.ranks, found.best.ranks, found.tolerance) == (4, 8, 0.05)
    assert [equal.ranks for equal in found.equal] == [4, 8, 16]
    assert not found.at_the_edge


def test_a_curve_that_still_rises_saturates_at_its_edge_and_says_so() -> None:
    found = saturation([cell(1, ranks, 100 * ranks) for ranks in (1, 2, 4, 8)])
    assert found is not None
    assert found.point.ranks == 8
    assert found.at_the_edge


def test_a_system_that_collapses_under_load_saturates_before_the_collapse() -> None:
    rates = {1: 300, 2: 600, 4: 900, 8: 500, 16: 200}
    found = saturation([cell(1, ranks, rate) for ranks, rate in rates.items()])
    assert found is not None
    assert found.point == found.best == cell(1, 4, 900)


def test_of_equal_points_the_one_with_fewest_ranks_then_fewest_files_counts() -> None:
    found = saturation([cell(4, 4, 1000), cell(2, 4, 960), cell(1, 8, 1000), cell(1, 4, 700)])
    assert found is not None
    assert (found.point.files, found.point.ranks) == (2, 4)


def test_a_wide_spread_moves_nothing_but_other_points_are_possible() -> None:
    found = saturation([cell(1, 1, 860, spread=0.15), cell(1, 2, 1000, spread=0.15)])
    assert found is not None
    assert (found.point.ranks, found.is_certain) == (2, False)
    assert [one.ranks for one in found.possible or ()] == [1, 2]
    calm = saturation([cell(1, 1, 700, spread=0.01), cell(1, 2, 1000, spread=0.01), cell(1, 4, 1005, spread=0.01)])
    assert calm is not None
    assert (calm.point.ranks, calm.is_certain) == (2, True)


def test_a_survey_without_repetitions_is_never_certain() -> None:
    once = [Cell(1, ranks, 1, rate, rate, rate, 1, (rate,)) for ranks, rate in ((1, 500.0), (2, 1000.0), (4, 1001.0))]
    found = saturation(once)
    assert found is not None
    assert (found.point.ranks, found.possible, found.is_certain) == (2, None, False)


@pytest.mark.parametrize("scatter", [0.05, 0.1])
def test_the_possible_points_hold_the_true_one_and_more_repetitions_make_it_more_certain(scatter: float) -> None:
    dice = np.random.default_rng(1)
    true = {ranks: ranks / (1 + 0.05 * (ranks - 1) + 0.01 * ranks * (ranks - 1)) for ranks in (1, 2, 4, 8, 16, 32)}
    limit = 0.95 * max(true.values())
    where = min(ranks for ranks, rate in true.items() if rate >= limit)
    named = []
    for repetitions in (3, 10):
        holds = []
        for _ in range(100):
            drawn = {
                ranks: tuple((rate * dice.lognormal(0, scatter, repetitions)).tolist()) for ranks, rate in true.items()
            }
            found = saturation(
                Cell(1, ranks, 1, median(rates), min(rates), max(rates), repetitions, rates)
                for ranks, rates in drawn.items()
            )
            assert found is not None
            assert found.possible is not None
            holds.append(where in {one.ranks for one in found.possible})
            named.append((repetitions, len(found.possible)))
        assert np.mean(holds) >= 0.94
    few, many = (np.mean([count for of, count in named if of == repetitions]) for repetitions in (3, 10))
    assert many < few


def test_one_point_or_none_saturates_nowhere() -> None:
    assert saturation([]) is None
    assert saturation([cell(1, 1, 100)]) is None
    assert saturation([cell(1, 1, 0), cell(1, 2, 0)]) is None


cells = st.lists(
    st.builds(
        cell,
        st.sampled_from([1, 2, 4]),
        st.sampled_from([1, 2, 4, 8]),
        st.floats(1, 1e12),
        st.floats(0, 0.5),
    ),
    min_size=2,
    unique_by=lambda cell: (cell.files, cell.ranks),
)


@given(cells)
def test_the_point_is_as_good_as_the_best_and_nothing_smaller_is(grid: list[Cell]) -> None:
    found = saturation(grid)
    assert found is not None
    floor = (1 - found.tolerance) * found.best.median
    assert found.point.median >= floor
    assert found.best.median == max(cell.median for cell in grid)
    smaller = [one for one in grid if (one.ranks, one.files) < (found.point.ranks, found.point.files)]
    assert all(one.median < floor for one in smaller)


@given(cells, st.floats(0.001, 1000))
def test_the_unit_of_the_rates_does_not_move_it(grid: list[Cell], factor: float) -> None:
    scaled = [
        replace(
            one,
            median=one.median * factor,
            lowest=one.lowest * factor,
            highest=one.highest * factor,
            rates=tuple(rate * factor for rate in one.rates),
        )
        for one in grid
    ]
    first, second = saturation(grid), saturation(scaled)
    assert first is not None
    assert second is not None
    # Rounding may move a rate that lies exactly on the limit; the best stays the best.
    assert second.best.ranks == first.best.ranks or second.best.median >= first.best.median * factor * (1 - 1e-12)

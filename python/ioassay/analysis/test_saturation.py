"""The saturation point of curves with a known answer."""

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


def test_a_flattening_curve_saturates_at_the_first_point_within_the_tolerance() -> None:
    result = saturation([cell(1, ranks, min(1000, 240 * ranks)) for ranks in (1, 2, 4, 8, 16)])
    assert result is not None
    assert (result.point.ranks, result.best.ranks, result.tolerance) == (4, 8, 0.05)
    assert [equal.ranks for equal in result.equal] == [4, 8, 16]
    assert not result.at_the_edge


def test_a_rising_curve_saturates_at_its_edge_and_reports_it() -> None:
    result = saturation([cell(1, ranks, 100 * ranks) for ranks in (1, 2, 4, 8)])
    assert result is not None
    assert result.point.ranks == 8
    assert result.at_the_edge


def test_a_system_that_collapses_under_load_saturates_before_the_collapse() -> None:
    rates = {1: 300, 2: 600, 4: 900, 8: 500, 16: 200}
    result = saturation([cell(1, ranks, rate) for ranks, rate in rates.items()])
    assert result is not None
    assert result.point == result.best == cell(1, 4, 900)


def test_the_equal_point_with_the_fewest_ranks_and_then_files_counts() -> None:
    result = saturation([cell(4, 4, 1000), cell(2, 4, 960), cell(1, 8, 1000), cell(1, 4, 700)])
    assert result is not None
    assert (result.point.files, result.point.ranks) == (2, 4)


def test_a_wide_spread_makes_other_points_possible_and_does_not_move_the_result() -> None:
    result = saturation([cell(1, 1, 860, spread=0.15), cell(1, 2, 1000, spread=0.15)])
    assert result is not None
    assert (result.point.ranks, result.is_certain) == (2, False)
    assert [possible_cell.ranks for possible_cell in result.possible or ()] == [1, 2]
    calm = saturation([cell(1, 1, 700, spread=0.01), cell(1, 2, 1000, spread=0.01), cell(1, 4, 1005, spread=0.01)])
    assert calm is not None
    assert (calm.point.ranks, calm.is_certain) == (2, True)


def test_a_survey_without_repetitions_is_never_certain() -> None:
    once = [Cell(1, ranks, 1, rate, rate, rate, 1, (rate,)) for ranks, rate in ((1, 500.0), (2, 1000.0), (4, 1001.0))]
    result = saturation(once)
    assert result is not None
    assert (result.point.ranks, result.possible, result.is_certain) == (2, None, False)


@pytest.mark.parametrize("scatter", [0.05, 0.1])
def test_the_possible_points_contain_the_true_one_and_shrink_with_repetitions(scatter: float) -> None:
    dice = np.random.default_rng(1)
    true = {ranks: ranks / (1 + 0.05 * (ranks - 1) + 0.01 * ranks * (ranks - 1)) for ranks in (1, 2, 4, 8, 16, 32)}
    limit = 0.95 * max(true.values())
    true_ranks = min(ranks for ranks, rate in true.items() if rate >= limit)
    counts = []
    for repetitions in (3, 10):
        holds = []
        for _ in range(100):
            drawn = {
                ranks: tuple((rate * dice.lognormal(0, scatter, repetitions)).tolist()) for ranks, rate in true.items()
            }
            survey = saturation(
                Cell(1, ranks, 1, median(rates), min(rates), max(rates), repetitions, rates)
                for ranks, rates in drawn.items()
            )
            assert survey is not None
            assert survey.possible is not None
            holds.append(true_ranks in {possible_cell.ranks for possible_cell in survey.possible})
            counts.append((repetitions, len(survey.possible)))
        assert np.mean(holds) >= 0.94
    few, many = (np.mean([count for times, count in counts if times == repetitions]) for repetitions in (3, 10))
    assert many < few


def test_fewer_than_two_points_have_no_saturation() -> None:
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
def test_the_point_is_the_smallest_within_tolerance_of_the_best(grid: list[Cell]) -> None:
    result = saturation(grid)
    assert result is not None
    floor = (1 - result.tolerance) * result.best.median
    assert result.point.median >= floor
    assert result.best.median == max(cell.median for cell in grid)
    smaller = [
        smaller_cell
        for smaller_cell in grid
        if (smaller_cell.ranks, smaller_cell.files) < (result.point.ranks, result.point.files)
    ]
    assert all(smaller_cell.median < floor for smaller_cell in smaller)


@given(cells, st.floats(0.001, 1000))
def test_the_unit_of_the_rates_does_not_move_it(grid: list[Cell], factor: float) -> None:
    scaled = [
        replace(
            grid_cell,
            median=grid_cell.median * factor,
            lowest=grid_cell.lowest * factor,
            highest=grid_cell.highest * factor,
            rates=tuple(rate * factor for rate in grid_cell.rates),
        )
        for grid_cell in grid
    ]
    first, second = saturation(grid), saturation(scaled)
    assert first is not None
    assert second is not None
    # Rounding may move a rate that lies exactly on the limit; the best stays the best.
    assert second.best.ranks == first.best.ranks or second.best.median >= first.best.median * factor * (1 - 1e-12)

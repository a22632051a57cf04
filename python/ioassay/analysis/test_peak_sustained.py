from __future__ import annotations

import statistics
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ioassay.analysis import rates
from ioassay.analysis.peak_sustained import SATURATED, Best, best_of, peak_and_sustained, table
from ioassay.testing.builder import RunBuilder
from ioassay.text.rate_units import UNITS
from ioassay.text.units import format_rate

curves = st.dictionaries(st.integers(1, 4096), st.floats(1, 1e12), min_size=1, max_size=12).map(
    lambda curve: list(curve.items())
)


def test_sustained_starts_at_the_first_point_that_reaches_nine_tenths_of_the_peak() -> None:
    both = peak_and_sustained([(1, 2.0), (2, 5.0), (4, 9.0), (8, 10.0), (16, 8.0)])
    assert both is not None
    assert (both.peak.rate, both.peak.points) == (10.0, (8,))
    assert (both.sustained.rate, both.sustained.points) == (9.0, (4, 8, 16))


def test_a_collapse_beyond_the_peak_lowers_the_sustained_rate() -> None:
    both = peak_and_sustained([(1, 10.0), (2, 4.0), (4, 3.0)])
    assert both is not None
    assert both.sustained.rate == 4.0


def test_a_sweep_of_one_point_sustains_its_peak() -> None:
    both = peak_and_sustained([(8, 3.0)])
    assert both is not None
    assert both.peak == both.sustained


def test_an_empty_sweep_has_no_peak() -> None:
    assert peak_and_sustained([]) is None


@given(curves)
def test_the_peak_is_never_exceeded_and_sustained_never_above_it(curve: list[tuple[int, float]]) -> None:
    both = peak_and_sustained(curve)
    assert both is not None
    assert both.peak.rate == max(rate for _, rate in curve)
    assert both.sustained.rate <= both.peak.rate


@given(curves)
def test_points_before_the_plateau_do_not_reach_it(curve: list[tuple[int, float]]) -> None:
    both = peak_and_sustained(curve)
    assert both is not None
    first = int(both.sustained.points[0])
    assert all(rate < SATURATED * both.peak.rate for clients, rate in curve if clients < first)
    assert both.sustained.points == tuple(sorted(clients for clients, _ in curve if clients >= first))


@given(curves)
def test_the_order_of_the_points_does_not_matter(curve: list[tuple[int, float]]) -> None:
    assert peak_and_sustained(curve) == peak_and_sustained(curve[::-1])


def test_a_row_of_the_table_uses_operations_if_its_unit_asks_for_them() -> None:
    run = RunBuilder().workload("small", transfer_bytes=4096, unit="kIOPS").clients(1).build()
    (row,) = table(run.document, rates.points(run.measurements))
    measured = run.measurements.filter(operation="write")["rate_operations_per_s"].item()
    write = row.of("write")
    assert write is not None
    assert write.peak.rate == measured


def test_invalid_measurements_do_not_count() -> None:
    builder = RunBuilder().workload("w").clients(1, 2).rates("w", "write", 2, 9e12)
    builder.doubt("w-c2-r1", "write", "failed", invalidates=True)
    run = builder.build()
    (row,) = table(run.document, rates.points(run.measurements))
    write = row.of("write")
    assert write is not None
    assert write.peak.points == (1,)


@pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
def test_every_unit_has_the_size_with_which_it_is_printed(unit) -> None:  # type: ignore[no-untyped-def]
    assert format_rate(unit.divisor, unit.name).startswith("1.00 ")


TRIALS = 500


def best(points: Sequence[Sequence[float]]) -> Best:
    highest = best_of(points, estimate=max(float(np.median(point)) for point in points))
    assert highest is not None
    return highest


@pytest.mark.parametrize("repetitions", [3, 5])
def test_the_best_of_7_equal_points_is_too_high_by_its_luck_and_its_interval_covers_the_truth(repetitions: int) -> None:
    dice = np.random.default_rng(repetitions)
    estimates = [best(dice.lognormal(0, 0.05, (7, repetitions)).tolist()) for _ in range(TRIALS)]
    bias = np.mean([estimate.interval.estimate for estimate in estimates]) - 1
    assert bias == pytest.approx({3: 0.045, 5: 0.036}[repetitions], abs=0.004)
    assert np.mean([estimate.luck for estimate in estimates]) == pytest.approx(bias, abs=0.005)
    assert np.mean([estimate.interval.low <= 1 <= estimate.interval.high for estimate in estimates]) >= 0.95


@pytest.mark.parametrize("scatter", [0.02, 0.1])
def test_the_interval_covers_the_highest_rate_of_a_sweep_that_rises_and_falls(scatter: float) -> None:
    truth = np.array([1, 1.9, 3.3, 4.6, 5.0, 4.6, 3.7])
    dice = np.random.default_rng(1)
    sweeps = (truth[:, None] * dice.lognormal(0, scatter, (7, 3)) for _ in range(TRIALS))
    estimates = [best(points.tolist()) for points in sweeps]
    assert np.mean([estimate.interval.low <= 5 <= estimate.interval.high for estimate in estimates]) >= 0.94


def test_a_clear_peak_has_no_luck() -> None:
    highest = best([[1.0, 1.01, 0.99], [2.0, 2.01, 1.99], [1.5, 1.51, 1.49]])
    assert (highest.alike, highest.luck) == (1, 0.0)


def test_points_without_repetitions_have_no_best() -> None:
    assert best_of([[1.0, 2.0, 3.0]], estimate=2.0) is None
    assert best_of([[1.0, 2.0, 3.0], [1.0]], estimate=2.0) is None
    assert best_of([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0]], estimate=2.0) is None


@given(st.lists(st.lists(st.floats(1e3, 1e12), min_size=2, max_size=5), min_size=2, max_size=6))
def test_the_interval_contains_the_estimate_and_scales_with_the_rates(
    points: list[list[float]],
) -> None:
    # Rounding decides which of two equally fast points is the best.
    *_, second, first = sorted(statistics.median(point) for point in points)
    assume(first > second * (1 + 1e-9))
    slow, fast = best(points), best([[8 * rate for rate in point] for point in points])
    assert slow.interval.low <= slow.interval.estimate <= slow.interval.high
    assert fast.interval.low == pytest.approx(8 * slow.interval.low)
    assert fast.alike == slow.alike
    assert fast.luck == pytest.approx(slow.luck)

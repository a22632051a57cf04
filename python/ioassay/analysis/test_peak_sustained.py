from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis import rates
from ioassay.analysis.peak_sustained import SATURATED, peak_and_sustained, table
from ioassay.analysis.rate_units import UNITS
from ioassay.testing.builder import RunBuilder
from ioassay.units import format_rate

curves = st.dictionaries(st.integers(1, 4096), st.floats(1, 1e12), min_size=1, max_size=12).map(
    lambda curve: list(curve.items())
)


def test_sustained_starts_at_the_first_point_that_reaches_nine_tenths_of_the_peak() -> None:
    both = peak_and_sustained([(1, 2.0), (2, 5.0), (4, 9.0), (8, 10.0), (16, 8.0)])
    assert both is not None
    assert (both.peak.rate, both.peak.at) == (10.0, (8,))
    assert (both.sustained.rate, both.sustained.at) == (9.0, (4, 8, 16))


def test_a_collapse_beyond_the_peak_lowers_what_is_sustained() -> None:
    both = peak_and_sustained([(1, 10.0), (2, 4.0), (4, 3.0)])
    assert both is not None
    assert both.sustained.rate == 4.0


def test_a_sweep_of_one_point_sustains_its_peak() -> None:
    both = peak_and_sustained([(8, 3.0)])
    assert both is not None
    assert both.peak == both.sustained


def test_nothing_measured_gives_nothing() -> None:
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
    first = int(both.sustained.at[0])
    assert all(rate < SATURATED * both.peak.rate for clients, rate in curve if clients < first)
    assert both.sustained.at == tuple(sorted(clients for clients, _ in curve if clients >= first))


@given(curves)
def test_the_order_of_the_points_does_not_matter(curve: list[tuple[int, float]]) -> None:
    assert peak_and_sustained(curve) == peak_and_sustained(curve[::-1])


def test_a_row_of_the_table_uses_operations_where_its_unit_asks_for_them() -> None:
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
    assert write.peak.at == (1,)


@pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
def test_every_unit_has_the_size_with_which_it_is_printed(unit) -> None:  # type: ignore[no-untyped-def]
    assert format_rate(unit.divisor, unit.name).startswith("1.00 ")

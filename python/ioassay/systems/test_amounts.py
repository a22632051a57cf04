"""Printed numbers: their base units, and what their digits leave open."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.systems.amounts import BYTES, BYTES_PER_S, NUMBER, OPERATIONS_PER_S, Dimension, Interval, parse_amount

MOST = 10**9
NUMBERS = st.builds(Fraction, st.integers(0, MOST), st.integers(1, 1000))


@pytest.mark.parametrize(
    ("printed", "unit", "base", "dimension"),
    [
        ("12GB/sec", None, 12e9, BYTES_PER_S),
        ("20.4 GB/秒", None, 20.4e9, BYTES_PER_S),
        ("1 GiB/s", None, 2**30, BYTES_PER_S),
        ("9.9 Gbits/sec", None, 9.9e9 / 8, BYTES_PER_S),
        ("100 Gbps", None, 12.5e9, BYTES_PER_S),
        ("140K", "IOPS", 140e3, OPERATIONS_PER_S),
        ("20K IOPS", None, 20e3, OPERATIONS_PER_S),
        ("35.9847 kiops", None, 35984.7, OPERATIONS_PER_S),
        ("1,100万IOps", None, 11e6, OPERATIONS_PER_S),
        ("8.2M op/s", None, 8.2e6, OPERATIONS_PER_S),
        ("300", "files/s", 300, OPERATIONS_PER_S),
        ("62GiBps", None, 62 * 2**30, BYTES_PER_S),
        ("1PB", "PiB", 2**50, BYTES),
        ("10.7T", "TiB", 10.7 * 2**40, BYTES),
        ("7.16 PiB", None, 7.16 * 2**50, BYTES),
        ("2048g", None, 2**41, BYTES),
        ("33%", None, 0.33, NUMBER),
        ("25", "%", 0.25, NUMBER),
        ("7x", None, 7, NUMBER),
        ("2,097,152", None, 2**21, NUMBER),
        ("six", None, 6, NUMBER),
    ],
)
def test_a_printed_number_is_read_in_base_units(
    printed: str, unit: str | None, base: float, dimension: Dimension
) -> None:
    amount = parse_amount(printed, unit)
    assert amount.base == pytest.approx(base, rel=1e-15)
    assert amount.dimension == dimension


@pytest.mark.parametrize(
    "printed", ["", "fast", "12 GX/s", "-3%", "1e9", "12.4.1 GB/s", "GB/s", "1" * 400, "0.5 GB/s x", "10.7T"]
)
def test_text_that_is_no_number_with_a_unit_is_refused(printed: str) -> None:
    with pytest.raises(ValueError, match=r"is not a number with a unit|has the unknown unit"):
        parse_amount(printed)


@pytest.mark.parametrize(
    ("printed", "low", "high"),
    [("12GB/s", 11.5e9, 12.5e9), ("5.9GB/s", 5.85e9, 5.95e9), ("40.0K", 39950, 40050), ("800 MB/s", 799.5e6, 800.5e6)],
)
def test_a_printed_number_stands_for_all_that_rounds_to_it(printed: str, low: float, high: float) -> None:
    rounded = parse_amount(printed).rounded
    assert (float(rounded.low), float(rounded.high)) == (low, high)


def test_a_number_printed_as_zero_is_not_negative() -> None:
    assert parse_amount("0 GB/s").rounded.low == 0


@given(number=st.integers(0, MOST), decimals=st.integers(0, 4))
def test_a_number_rounded_to_fewer_digits_agrees_with_the_original(number: int, decimals: int) -> None:
    value = Fraction(number, 10**4)
    step = Fraction(1, 10**decimals)
    shorter = parse_amount(f"{float((value / step + Fraction(1, 2)) // 1 * step):.{decimals}f}")  # half goes up
    assert shorter.rounded.meets(parse_amount(f"{float(value):.4f}").rounded)


@given(fraction=NUMBERS, other=NUMBERS, half=st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(5)]))
def test_intervals_contain_what_is_computed_of_their_middles(
    fraction: Fraction, other: Fraction, half: Fraction
) -> None:
    first, second = (Interval(max(number - half, Fraction(0)), number, number + half) for number in (fraction, other))
    for interval in (first.times(second), first.plus(second)):
        assert interval.low <= interval.nominal <= interval.high
    if second.low > 0:
        ratio = first.over(second)
        assert ratio.low <= ratio.nominal == fraction / other <= ratio.high
    assert first.meets(second) == second.meets(first)


def test_neighbours_that_only_touch_have_no_number_in_common() -> None:
    assert not parse_amount("12").rounded.meets(parse_amount("13").rounded)
    assert parse_amount("12").rounded.meets(parse_amount("11.5").exact)

"""Numbers and steps in words."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ioassay.sizing.arithmetic import Origin, Value, exactly, lowest, product, quotient
from ioassay.sizing.formulas import amount, counted, line
from ioassay.sizing.rates.scaling import MULTIPLE
from ioassay.systems.amounts import BYTES, BYTES_PER_S, OPERATIONS_PER_S, SECONDS, Dimension, Interval

BRICK = Value(
    "rate of a brick",
    Interval(Fraction(4450000000), Fraction(4500000000), Fraction(4550000000)),
    BYTES_PER_S,
    Origin("measured"),
)


def test_capacities_stand_in_decimal_and_binary_units() -> None:
    assert amount(exactly("rack", 1536 * 10**12, BYTES)) == "1.536 PB (1.364 PiB)"


def test_small_sizes_stand_in_small_units() -> None:
    assert amount(exactly("sector size", 4096, BYTES)) == "4.096 kB (4 KiB)"


def test_the_interval_of_printed_digits_stands_beside_a_rate() -> None:
    assert amount(BRICK) == "4.5 GB/s (4.45 to 4.55)"


@pytest.mark.parametrize(
    ("ends", "dimension", "shown"),
    [
        ((990 * 10**6, 995 * 10**6, 1001 * 10**6), BYTES_PER_S, "995 MB/s (990 to 1,001)"),
        ((995 * 10**6, 10**9, 1005 * 10**6), BYTES_PER_S, "1 GB/s (0.995 to 1.005)"),
        ((47 * 3600, 47 * 3600, 49 * 3600), SECONDS, "47 h (47 to 49)"),
        ((1100000, 1150000, 1200000), OPERATIONS_PER_S, "1.15 million IOPS (1.1 to 1.2)"),
    ],
)
def test_both_ends_are_in_the_unit_of_the_number(ends: tuple[int, int, int], dimension: Dimension, shown: str) -> None:
    low, nominal, high = map(Fraction, ends)
    assert amount(Value("it", Interval(low, nominal, high), dimension, Origin("given"))) == shown


def test_a_product_is_a_line_that_a_reader_can_check() -> None:
    assert line(product("write rate", exactly("bricks", 8), BRICK)) == (
        "write rate = 8 bricks × 4.5 GB/s = 36 GB/s (35.6 to 36.4)"
    )


def test_a_factor_that_counts_nothing_is_followed_by_what_it_multiplies() -> None:
    assert line(product("write rate", exactly(MULTIPLE, 9), BRICK)) == (
        "write rate = 9 × the rate of one brick (4.5 GB/s) = 40.5 GB/s (40.05 to 40.95)"
    )


def test_one_of_a_kind_is_singular() -> None:
    assert line(product("write rate", exactly("bricks", 1), BRICK)).startswith("write rate = 1 brick × 4.5 GB/s")


@pytest.mark.parametrize(
    ("several", "singular"),
    [
        ("enclosures", "1 enclosure"),
        ("drives of a group", "1 drive of a group"),
        ("drives lost", "1 drive lost"),
        ("drives at work", "1 drive at work"),
        ("drives that are read", "1 drive that is read"),
        ("switches", "1 switch"),
        ("copies of a mirror", "1 copy of a mirror"),
    ],
)
def test_one_thing_is_named_in_the_singular(several: str, singular: str) -> None:
    assert counted(exactly(several, 1)) == singular
    assert counted(exactly(several, 2)) == f"2 {several}"


def test_the_lowest_names_all_limits() -> None:
    network = exactly("network adapters", 54 * 10**9, BYTES_PER_S)
    assert line(lowest("write rate", BRICK.named("RAID controllers"), network)) == (
        "write rate = lowest of RAID controllers 4.5 GB/s, network adapters 54 GB/s = 4.5 GB/s (4.45 to 4.55)"
    )


@pytest.mark.parametrize(
    ("number", "dimension", "shown"),
    [
        (90, SECONDS, "1.5 min"),
        (100 * 3600, SECONDS, "4.167 days"),
        (40000, OPERATIONS_PER_S, "40 kIOPS"),
        (11 * 10**6, OPERATIONS_PER_S, "11 million IOPS"),
        (2097152, Dimension(), "2,097,152"),
    ],
)
def test_units_fit_the_number(number: int, dimension: Dimension, shown: str) -> None:
    assert amount(exactly("it", number, dimension)) == shown


def test_a_quotient_of_bytes_and_a_rate_is_a_time() -> None:
    filled = quotient("time to fill", exactly("capacity", 36 * 10**12, BYTES), BRICK)
    assert line(filled) == "time to fill = 36 TB ÷ 4.5 GB/s = 2.222 h (2.198 to 2.247)"

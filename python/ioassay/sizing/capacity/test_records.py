"""What a record takes on raidz and dRAID."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.errors import UsageError
from ioassay.sizing.capacity import brick_capacity
from ioassay.sizing.capacity.records import draid_allocation, raidz_allocation
from ioassay.testing.sized_brick import CHOICE, catalogue

KIB = 1024

RECORDS = st.integers(9, 24).map(lambda power: 1 << power)
SECTORS = st.sampled_from([512, 4 * KIB, 8 * KIB])


def test_a_record_of_one_sector_on_raidz1_is_a_mirror() -> None:
    assert raidz_allocation(4 * KIB, 4 * KIB, 5, 1) == 8 * KIB


def test_a_record_of_two_sectors_on_raidz1_of_five_is_padded_to_four() -> None:
    """OpenZFS documentation, Basic Concepts, RAIDZ: 8 KiB on sectors of 4 KiB take two data, one parity, one pad."""
    assert raidz_allocation(8 * KIB, 4 * KIB, 5, 1) == 16 * KIB


def test_a_record_of_128_kib_on_raidz2_of_seven_takes_48_sectors() -> None:
    """32 of data, 2 for each of 7 rows, 2 to make a multiple of 3: two thirds, where five sevenths were hoped for."""
    assert raidz_allocation(128 * KIB, 4 * KIB, 7, 2) == 48 * 4 * KIB


def test_a_small_record_on_draid_takes_a_whole_stripe() -> None:
    """OpenZFS documentation, dRAID: with eight data drives and sectors of 4 KiB no allocation is below 32 KiB."""
    assert draid_allocation(4 * KIB, 4 * KIB, 8, 2) == 40 * KIB


@given(RECORDS, SECTORS, st.integers(1, 20), st.integers(1, 3))
def test_padding_is_never_below_the_ideal(record: int, sector: int, data: int, parity: int) -> None:
    ideal = Fraction(data, data + parity)
    assert Fraction(record, raidz_allocation(record, sector, data + parity, parity)) <= ideal
    assert Fraction(record, draid_allocation(record, sector, data, parity)) <= ideal


@given(RECORDS, SECTORS, st.integers(1, 20), st.integers(1, 3))
def test_larger_records_never_take_a_larger_share(record: int, sector: int, data: int, parity: int) -> None:
    width = data + parity
    assert raidz_allocation(2 * record, sector, width, parity) <= 2 * raidz_allocation(record, sector, width, parity)
    assert draid_allocation(2 * record, sector, data, parity) <= 2 * draid_allocation(record, sector, data, parity)


@pytest.mark.parametrize("size", ["record: 96k", "record: 32m", "sector: 5k"])
def test_sizes_that_zfs_does_not_take_are_refused(size: str) -> None:
    with pytest.raises(UsageError, match="is not one that ZFS takes"):
        brick_capacity(catalogue(f"layout: raidz2, data: 8, groups: 1, {size}", 10), CHOICE)

"""What `df` and `zfs list` showed of pools, as published, against what is computed."""

from __future__ import annotations

import pytest

from ioassay.sizing.arithmetic import derivation
from ioassay.sizing.capacity import brick_capacity
from ioassay.testing.sized_brick import CHOICE, catalogue

TIB = 1024**4

DRIVE_OF_1_TB, DRIVE_OF_4_TB, DRIVE_OF_18_TB = "1000000000000B", "4000787030016B", "18000207937536B"


def usable(redundancy: str, drives: int, capacity: str, file_system: str = "zfs") -> float:
    of = catalogue(redundancy, drives, capacity, f"file_system: {file_system}")
    return brick_capacity(of, CHOICE).usable.nominal


def test_draid_of_24_drives_shows_what_a_pool_showed_to_the_byte() -> None:
    """OpenZFS issue 15467: draid2:6d:24c:0s of 1 TB drives, OpenZFS 2.2.0, `zfs list -p`, used and available."""
    assert usable("layout: draid2, data: 6, groups: 1, children: 24", 24, DRIVE_OF_1_TB) == 15835678638080


def test_draid_with_distributed_spares_shows_what_a_pool_showed() -> None:
    """OpenZFS issue 13727: draid1:16d:36c:2s of 18 TB drives, OpenZFS 2.1.5, `zfs get available`."""
    shown = usable("layout: draid1, data: 16, groups: 1, spares: 2, children: 36", 36, DRIVE_OF_18_TB)
    assert shown == pytest.approx(574804246033080, rel=1e-5)


@pytest.mark.parametrize(("parity", "shown"), [(1, 523), (2, 457)])
def test_raidz_of_17_drives_shows_what_two_of_them_showed(parity: int, shown: int) -> None:
    """The same issue: pools of two groups of 17; `df -h` rounds up."""
    redundancy = f"layout: raidz{parity}, data: {17 - parity}, groups: 2"
    assert usable(redundancy, 34, DRIVE_OF_18_TB) / TIB == pytest.approx(shown, rel=0.002)


@pytest.mark.parametrize(
    ("sector", "shown"),
    [
        ("512", 31.5),
        ("1k", 31.2),
        ("2k", 30.6),
        ("4k", 29.5),
        ("8k", 29.5),
        ("16k", 25.8),
        ("32k", 25.8),
        ("64k", 12.9),
    ],
)
def test_larger_sectors_show_less(sector: str, shown: float) -> None:
    """OpenZFS issue 8163: raidz2 of 11 drives of 4 TB, ZFS on Linux 0.7.9, available in TiB by ashift 9 to 16."""
    of = f"layout: raidz2, data: 9, groups: 1, record: 1m, sector: {sector}"
    assert usable(of, 11, DRIVE_OF_4_TB, "zfs-0.8") / TIB == pytest.approx(shown, abs=0.05)


def test_slop_space_is_a_32nd_without_and_128_gib_with_its_limit() -> None:
    redundancy = "layout: raidz2, data: 8, groups: 1"
    old, new = usable(redundancy, 10, "16TB", "zfs-0.8"), usable(redundancy, 10, "16TB")
    assert old / 31 * 32 - new == pytest.approx(128 * 1024**3, rel=1e-6)


def test_records_below_128_kib_hold_less_than_df_shows_and_larger_ones_are_not_shown() -> None:
    small, usual, large = (
        usable(f"layout: raidz2, data: 8, groups: 1, record: {size}", 10, "16TB") for size in ("4k", "128k", "1m")
    )
    assert usual == large
    assert small < usual / 2


def test_every_assumption_is_among_the_inputs() -> None:
    of = catalogue("layout: raidz2, data: 8, groups: 1", 10, more="file_system: lustre-zfs")
    inputs = {value.name for value in derivation(brick_capacity(of, CHOICE).usable).inputs}
    assert {"sector size", "most slop space", "partition table and labels of a drive"} <= inputs
    inputs = {value.name for value in derivation(brick_capacity(of, CHOICE).protected).inputs}
    assert {"sector size", "record size"} <= inputs

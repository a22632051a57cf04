"""What bricks hold: published configurations, and what holds of all."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.sizing.capacity import brick_capacity
from ioassay.sizing.catalogue import load
from ioassay.sizing.model import BrickChoice, Capacity
from ioassay.testing.sized_brick import CHOICE, catalogue

TB, TIB, PIB = 10**12, 1024**4, 1024**5

PARITY = {"none": 0, "mirror": 1, "raid5": 1, "raid6": 2, "raidz1": 1, "raidz2": 2, "raidz3": 3}
PARITY |= {"draid1": 1, "draid2": 2, "draid3": 3}


def capacity(redundancy: str, drives: int, drive: str = "4TB", file_system: str = "") -> Capacity:
    of = catalogue(redundancy, drives, drive, f"file_system: {file_system}" if file_system else "")
    return brick_capacity(of, CHOICE)


def test_eight_data_drives_of_4_tb_are_29_1_tib_and_29_as_lustre_shows_them() -> None:
    """The MD3460 paper, line 89: each target provides 29 TB, counted in 1024s."""
    sized = capacity("layout: raid6, data: 8, groups: 1", 10, file_system="ldiskfs-2.8")
    assert round(sized.protected.nominal / TIB, 1) == 29.1
    assert round(sized.usable.nominal / TIB) == 29


@pytest.mark.parametrize(
    ("brick", "drive", "bricks", "terabytes"),
    [
        ("md3460-performance", "nl-sas-4tb", 1, 192),
        ("md3460-capacity", "nl-sas-4tb", 1, 576),
        ("md3460-performance", "nl-sas-4tb", 6, 1152),
        ("md3460-capacity", "nl-sas-4tb", 2, 1152),
        ("md3460-performance", "nl-sas-4tb", 8, 1536),
        ("md3460-capacity", "nl-sas-4tb", 3, 1728),
        ("md3460-performance", "nl-sas-6tb", 8, 2304),
        ("md3460-capacity", "nl-sas-6tb", 3, 2592),
    ],
)
def test_the_racks_of_the_md3460_paper_hold_what_their_data_drives_hold(
    brick: str, drive: str, bricks: int, terabytes: int
) -> None:
    assert bricks * brick_capacity(load(), BrickChoice(brick, drive)).protected.nominal == terabytes * TB


@pytest.mark.parametrize("arrays", [1, 2, 3, 4])
@pytest.mark.parametrize("shelves", [1, 2])
def test_pixstor_arrays_have_the_raw_and_formatted_capacity_that_is_published(arrays: int, shelves: int) -> None:
    """ME4084 of 84 drives of 12 TB, with and without ME484; published of four with expansion: 8064 and 6144 TB."""
    sized = capacity(f"layout: raid6, data: 8, groups: {8 * shelves}, spares: {4 * shelves}", 84 * shelves, "12TB")
    assert arrays * sized.raw.nominal == 8064 * TB * arrays * shelves / 8
    assert arrays * sized.protected.nominal == 6144 * TB * arrays * shelves / 8


def astra(layout: str, file_system: str) -> float:
    """40 servers, each with three pools of seven drives of 1.6 TB."""
    data = 7 - int(layout[-1])
    return 40 * capacity(f"layout: {layout}, data: {data}, groups: 3", 21, "1.6TB", file_system).usable.nominal


def test_the_990_tb_of_astra_are_tib_of_raidz1_as_clients_saw_them() -> None:
    """Which raidz and which unit is not printed; OpenZFS was older than 2.1 in 2019."""
    assert astra("raidz1", "lustre-zfs-0.8") / TIB == pytest.approx(990, rel=0.003)


@pytest.mark.parametrize("layout", ["raidz1", "raidz2", "raidz3"])
def test_no_raidz_makes_the_990_tb_of_astra_decimal(layout: str) -> None:
    assert astra(layout, "lustre-zfs-0.8") / TB != pytest.approx(990, rel=0.09)


@pytest.mark.parametrize(
    ("redundancy", "drives", "terabytes"),
    [
        ("layout: none, data: 3, groups: 2", 6, 24),
        ("layout: mirror, groups: 6", 12, 24),
        ("layout: mirror, parity: 2, groups: 4", 12, 16),
        ("layout: raid10, data: 6, groups: 1", 12, 24),
        ("layout: erasure, data: 8, parity: 3, groups: 1", 11, 32),
        ("layout: erasure, data: 6, parity: 2, groups: 1, children: 60", 60, 180),
    ],
)
def test_layouts_without_padding_hold_what_their_data_drives_hold(redundancy: str, drives: int, terabytes: int) -> None:
    assert capacity(redundancy, drives).protected.nominal == terabytes * TB


@given(
    st.sampled_from(sorted(PARITY)),
    st.integers(1, 16),
    st.integers(1, 3),
    st.sampled_from(["4k", "128k", "1m"]),
    st.sampled_from(["zfs", "lustre-zfs-0.8", "gpfs"]),
)
def test_usable_is_no_more_than_protected_and_that_no_more_than_raw(
    layout: str, data: int, groups: int, record: str, file_system: str
) -> None:
    data = 1 if layout == "mirror" else data
    redundancy = f"layout: {layout}, data: {data}, groups: {groups}, record: {record}"
    sized = capacity(redundancy, groups * (data + PARITY[layout]), "4TB", file_system)
    assert 0 < sized.usable.nominal <= sized.protected.nominal <= sized.raw.nominal


@given(st.integers(1, 16), st.sampled_from(["raidz", "draid"]), st.sampled_from(["zfs", "lustre-zfs"]))
def test_more_parity_never_gives_more_space(data: int, layout: str, file_system: str) -> None:
    width = data + 3
    usable = [
        capacity(f"layout: {layout}{parity}, data: {width - parity}, groups: 1", width, "4TB", file_system)
        for parity in (1, 2, 3)
    ]
    for more, less in itertools.pairwise(usable):
        assert less.protected.nominal <= more.protected.nominal
        assert less.usable.nominal <= more.usable.nominal


@given(st.integers(1, 12), st.sampled_from(["zfs", "zfs-0.8", "ldiskfs", "xfs", "gpfs"]))
def test_drives_twice_as_large_hold_twice_as_much(data: int, file_system: str) -> None:
    layout = "raidz2" if file_system.startswith("zfs") else "raid6"
    redundancy = f"layout: {layout}, data: {data}, groups: 1"
    small, large = (capacity(redundancy, data + 2, size, file_system) for size in ("20TB", "40TB"))
    assert large.protected.nominal == 2 * small.protected.nominal
    assert large.usable.nominal == pytest.approx(2 * small.usable.nominal, rel=0.01)

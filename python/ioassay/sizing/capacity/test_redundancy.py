"""Geometries of bricks: what adds up, and what is refused with its numbers."""

from __future__ import annotations

import pytest

from ioassay.errors import UsageError
from ioassay.sizing.capacity.redundancy import geometry
from ioassay.testing.sized_brick import catalogue

SHELF = "enclosures:\n  shelf: {title: Shelf, assumed: Test., slots: 84}"


def test_an_array_of_84_drives_has_eight_groups_of_ten_and_four_spares() -> None:
    layout = geometry(catalogue("layout: raid6, data: 8, groups: 8, spares: 4", 84), "brick")
    assert (layout.width, layout.parity, layout.spares, layout.tolerated) == (10, 2, 4, 2)


def test_distributed_spares_are_drives_of_the_group() -> None:
    layout = geometry(catalogue("layout: draid2, data: 8, groups: 2, spares: 2, children: 42", 84), "brick")
    assert (layout.drives, layout.distributed_spares, layout.spares) == (42, 2, 0)


@pytest.mark.parametrize(
    ("redundancy", "drives", "message"),
    [
        ("layout: raid6, data: 8, groups: 6", 62, "6 groups of 10 drives and 0 spares make 60 drives, but the brick"),
        ("layout: raid6, data: 8, groups: 6", 62, "has 62: 2 are neither in a group nor a spare"),
        ("layout: raid6, data: 8, groups: 6, spares: 1", 60, "61 drives, but the brick has 60: 1 is missing"),
        ("layout: raid6, data: 9, groups: 8", 88, "its 88 drives do not fit into the 84 slots"),
        ("layout: raid6, data: 8, parity: 3, groups: 6", 66, "raid6 has 2 parity drives in a group, not 3"),
        ("layout: erasure, data: 8, groups: 6", 60, "needs its number of parity pieces"),
        ("layout: mirror, data: 2, groups: 6", 18, "a mirror has 1 data drive, not 2"),
        ("layout: raid10, data: 4, parity: 3, groups: 1", 7, "cannot have 3 drives of copies"),
        ("layout: raid6, data: 8, groups: 6, children: 10", 60, "raid6 has no children"),
        ("layout: draid2, data: 8, groups: 1, spares: 3, children: 12", 12, "need 13 drives, but a group has 12"),
        ("layout: draid2, data: 8, groups: 1, children: 260", 260, "dRAID takes up to 255 drives, not 260"),
    ],
)
def test_an_impossible_geometry_is_refused_with_its_numbers(redundancy: str, drives: int, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        geometry(catalogue(redundancy, drives, more="enclosures: {shelf: 1}", components=SHELF), "brick")
    assert message in refused.value.message
    assert refused.value.remedy

"""What of a brick may fail."""

from __future__ import annotations

import pytest

from ioassay.sizing.catalogue import load
from ioassay.sizing.failure_domains import Survival, survives
from ioassay.sizing.model import BrickChoice
from ioassay.testing.sized_brick import CHOICE, catalogue

COMPONENTS = """
enclosures:
  shelf: {title: Shelf, assumed: Test., slots: 60}
servers:
  server: {title: Server, assumed: Test.}
controllers:
  pair: {title: Two controllers, assumed: Test., units: 2}
  single: {title: A controller, assumed: Test.}
"""


def survival(redundancy: str, drives: int, more: str = "") -> Survival:
    return survives(catalogue(redundancy, drives, more=more, components=COMPONENTS), CHOICE)


@pytest.mark.parametrize(
    ("redundancy", "drives", "lost"),
    [
        ("layout: none, groups: 10", 10, 0),
        ("layout: raid10, data: 5, groups: 1", 10, 1),
        ("layout: mirror, parity: 2, groups: 3", 9, 2),
        ("layout: raid5, data: 9, groups: 1", 10, 1),
        ("layout: raidz3, data: 7, groups: 1", 10, 3),
        ("layout: draid2, data: 4, groups: 1, children: 10", 10, 2),
        ("layout: erasure, data: 8, parity: 4, groups: 1", 12, 4),
    ],
)
def test_a_group_survives_as_many_failures_as_it_has_parity(redundancy: str, drives: int, lost: int) -> None:
    assert survival(redundancy, drives).drives.count == lost


def test_a_group_spread_over_five_enclosures_survives_one_of_them() -> None:
    more = "enclosures: {shelf: 5}"
    tolerances = survival("layout: raid6, data: 8, groups: 6, spread_over: enclosures", 60, more)
    assert tolerances.enclosures.count == 1
    assert (
        tolerances.enclosures.reason == "Of the 10 drives of a stripe, 2 are in one of 5 enclosures, and 2 may be lost."
    )


def test_a_group_spread_over_three_enclosures_does_not_survive_any() -> None:
    tolerances = survival("layout: raid6, data: 8, groups: 6, spread_over: enclosures", 60, "enclosures: {shelf: 3}")
    assert tolerances.enclosures.count == 0


def test_groups_lie_within_an_enclosure_by_default() -> None:
    tolerances = survival("layout: raid6, data: 8, groups: 6", 60, "enclosures: {shelf: 2}")
    assert (tolerances.enclosures.count, tolerances.enclosures.is_assumed) == (0, True)


def test_both_halves_of_a_mirror_are_in_different_enclosures_if_spread() -> None:
    tolerances = survival("layout: raid10, data: 30, groups: 1, spread_over: enclosures", 60, "enclosures: {shelf: 2}")
    assert tolerances.enclosures.count == 1


def test_draid_does_not_survive_an_enclosure_with_more_of_its_drives_than_parity() -> None:
    redundancy = "layout: draid2, data: 8, groups: 1, children: 60, spread_over: enclosures"
    assert survival(redundancy, 60, "enclosures: {shelf: 6}").enclosures.count == 0


def test_pieces_over_four_nodes_survive_one_node() -> None:
    """OneFS with four nodes at +2d:1n writes 6 + 2 and survives two drives or one node."""
    redundancy = "layout: erasure, data: 6, parity: 2, groups: 1, children: 60, spread_over: servers"
    tolerances = survival(redundancy, 60, "servers: {server: 4}")
    assert (tolerances.drives.count, tolerances.servers.count) == (2, 1)


def test_one_of_two_servers_may_fail_if_both_reach_the_enclosures() -> None:
    tolerances = survival("layout: raid6, data: 8, groups: 6", 60, "enclosures: {shelf: 1}, servers: {server: 2}")
    assert (tolerances.servers.count, tolerances.servers.is_assumed) == (1, True)


def test_no_server_may_fail_that_has_the_drives_inside() -> None:
    assert survival("layout: raid6, data: 8, groups: 6", 60, "servers: {server: 2}").servers.count == 0


@pytest.mark.parametrize(("controllers", "lost"), [("{}", 0), ("{single: 1}", 0), ("{pair: 2}", 1)])
def test_one_controller_of_a_pair_may_fail(controllers: str, lost: int) -> None:
    tolerances = survival("layout: raid6, data: 8, groups: 6", 60, f"controllers: {controllers}")
    assert tolerances.controllers.count == lost


def test_the_bricks_of_the_md3460_paper_survive_a_controller_and_two_drives_but_no_server() -> None:
    tolerances = survives(load(), BrickChoice("md3460-capacity", "nl-sas-4tb"))
    counts = (tolerances.drives, tolerances.servers, tolerances.enclosures, tolerances.controllers)
    assert [count.count for count in counts] == [2, 0, 0, 1]

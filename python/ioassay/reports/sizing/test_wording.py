from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.reports.document import Span, pieces
from ioassay.reports.sizing import wording
from ioassay.sizing.arithmetic import exactly, lowest
from ioassay.sizing.configurations import read
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.model import Ceiling, Rate, Size
from ioassay.systems.amounts import BYTES, BYTES_PER_S, OPERATIONS_PER_S


@pytest.fixture(scope="module")
def eight() -> Size:
    file, catalogue = read("md3460-racks")
    return evaluate(catalogue, "performance-8", file.configurations["performance-8"])


def _rate(**gb_per_s: float) -> Rate:
    ceilings = tuple(
        Ceiling(place.replace("_", " "), exactly(place, Fraction(rate) * 10**9, BYTES_PER_S))
        for place, rate in gb_per_s.items()
    )
    return Rate("write", lowest("write rate", *(ceiling.value for ceiling in ceilings)), ceilings)


def _alone(size: Size, gb_per_s: float) -> Size:
    """With bricks that do so much each."""
    bricks = {
        choice: replace(brick, rates={**brick.rates, "healthy": {"write": _rate(RAID_controllers=gb_per_s)}})
        for choice, brick in size.bricks.items()
    }
    return replace(size, bricks=bricks)


def test_a_conclusion_has_bricks_times_rate_the_limit_and_what_comes_next(eight: Size) -> None:
    conclusion = wording.conclusion(_alone(eight, 4.5), _rate(drives=60, RAID_controllers=36, network_adapters=54))
    assert conclusion == (
        "36 GB/s write: 8 bricks × 4.5 GB/s, limited by the RAID controllers; the network adapters would carry 54 GB/s."
    )


def test_a_conclusion_says_which_share_of_the_sum_bricks_reach_together(eight: Size) -> None:
    conclusion = wording.conclusion(_alone(eight, 4.5), _rate(client_links=18))
    assert conclusion == "18 GB/s write: 50 % of 8 bricks × 4.5 GB/s, limited by the client links."


def test_places_that_are_equally_low_limit_together_and_none_of_them_comes_next(eight: Size) -> None:
    rate = _rate(drives=36, RAID_controllers=36)
    assert wording.limited_by(rate) == "drives and RAID controllers"
    assert "would carry" not in wording.conclusion(_alone(eight, 4.5), rate)


def test_operations_on_metadata_are_not_called_iops() -> None:
    value = exactly("rate", 20_000, OPERATIONS_PER_S)
    assert (wording.amount(value, "create"), wording.amount(value, "random_read")) == ("20 kops/s", "20 kIOPS")


@given(st.integers(min_value=1, max_value=10**19))
def test_every_capacity_in_a_cell_has_decimal_and_binary_units(size: int) -> None:
    decimal, below = pieces(wording.cell(exactly("capacity", size, BYTES)))
    assert isinstance(below, Span)
    assert "iB" in below.text
    assert "iB" not in str(decimal)

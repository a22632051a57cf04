"""Every built-in brick is found by a search that it can meet, with prices that are made up here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ioassay.sizing.catalogue import Catalogue, load
from ioassay.sizing.components import Brick
from ioassay.sizing.evaluate import brick_size
from ioassay.sizing.model import BrickChoice
from ioassay.sizing.quantities import Price
from ioassay.sizing.requirements import Requirements
from ioassay.sizing.search.search import search_with
from ioassay.sizing.search.solver import Solver

NEW = [
    ("beegfs-ef300-disks", 2),
    ("beegfs-ef600", 2),
    ("beegfs-supermicro", 3),
    ("cray-c500", 2),
    ("ddn-ai400x2-turbo", 3),
    ("ddn-ai400x3", 2),
    ("lustre-me5084", 4),
    ("powerscale-f910", 2),
    ("wekapod-nitro", 2),
    ("wekapod-prime-2218", 2),
]
"""Bricks of 2022 to 2026, and how many are asked for."""


@pytest.fixture(scope="module")
def solver() -> Iterator[Solver]:
    """One for all searches: it takes a second to start."""
    with Solver(limit_s=300) as started:
        yield started


def priced(catalogue: Catalogue, name: str) -> Catalogue:
    """The catalogue with a price for one brick."""
    price = Price(value="100000", assumed="Made up for a test.", currency="EUR", date="2026")
    entry = catalogue.entries[name]
    component = entry.component.model_copy(update={"price": price})
    return replace(catalogue, entries={**catalogue.entries, name: replace(entry, component=component)})


def test_a_rate_that_nobody_measured_or_published_is_not_called_measured() -> None:
    catalogue = load()
    rates = {
        name: brick_size(catalogue, BrickChoice(name, drives), conditions=["healthy"]).rates["healthy"]
        for name, drives in (("ddn-ai400x2-turbo", "tlc-15.36tb"), ("ddn-ai400x3", "qlc-61.44tb"))
    }
    assert rates["ddn-ai400x2-turbo"]["write"].limit.place == "brick as measured"
    assert rates["ddn-ai400x3"]["write"].limit.place == "brick as assumed"
    assert rates["ddn-ai400x3"]["read"].limit.place == "brick as assumed"


@pytest.mark.parametrize(("name", "count"), NEW)
def test_a_search_finds_as_many_of_a_brick_as_its_rates_ask_for(solver: Solver, name: str, count: int) -> None:
    catalogue = priced(load(), name)
    brick = catalogue.find(name, Brick)
    sized_brick = brick_size(catalogue, BrickChoice(name, brick.drives[0]), conditions=["healthy"])
    each = float(sized_brick.rates["healthy"]["write"].value.nominal)
    requirements = Requirements.model_validate(
        {
            "name": "test",
            "bricks": [name],
            "write": f"{(count - 0.5) * each / 1e9:.3f}GB/s",
            "survives": {"drives": "2"},
            "limits": {"racks": "2", "budget": "1000000", "currency": "EUR"},
        }
    )
    result = search_with(solver, requirements, catalogue)
    cheapest = result.answers[0]
    assert [(counted.brick, counted.count) for counted in cheapest.configuration.bricks] == [(name, count)]
    assert cheapest.cost.nominal == count * 100_000
    assert sized_brick.rack_units is not None
    in_racks = sum(item.rack_units for rack in cheapest.racks for item in rack.items)
    assert in_racks == count * sized_brick.rack_units.nominal
    assert all(rack.free_units >= 0 for rack in cheapest.racks)


def test_a_limit_on_power_counts_what_the_sheet_prints(solver: Solver) -> None:
    requirements = Requirements.model_validate(
        {"name": "test", "bricks": ["ddn-ai400x2-turbo"], "read": "300GB/s", "limits": {"power": "7kW"}}
    )
    result = search_with(solver, requirements, load())
    assert not result.answers  # three appliances, of 2400 W each
    assert [shortfall.limited_by for shortfall in result.shortfalls] == ["7 kW of power"]

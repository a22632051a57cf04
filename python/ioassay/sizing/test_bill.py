from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from ioassay.sizing.bill import Bill, bill
from ioassay.sizing.catalogue import load
from ioassay.sizing.configuration import BrickCount, Configuration
from ioassay.sizing.configurations import read

PRICED = """
name: priced
title: Parts with prices
drives:
  d:
    title: A drive
    media: hdd
    capacity: {value: 4TB, assumed: For a test.}
    price: {value: "100", currency: EUR, date: 2026-01, assumed: For a test.}
servers:
  s:
    title: A server
    rack_units: 2
    price: {value: "2000", currency: EUR, date: 2026-01, assumed: For a test.}
  imported:
    title: A server that is paid in dollars
    rack_units: 1
    price: {value: "3000", currency: USD, date: 2026-01, assumed: For a test.}
bricks:
  of-parts:
    title: A brick with priced parts
    drives: [d]
    drive_count: 10
    redundancy: {layout: raid6, data: 8, parity: 2, groups: 1}
    servers: {s: 1}
  as-a-whole:
    title: A brick with a price and a height
    drives: [d]
    drive_count: 10
    redundancy: {layout: raid6, data: 8, parity: 2, groups: 1}
    servers: {s: 1}
    rack_units: 5
    price: {value: "2500", currency: EUR, date: 2026-01, assumed: For a test.}
  abroad:
    title: A brick with parts of two currencies
    drives: [d]
    drive_count: 10
    redundancy: {layout: raid6, data: 8, parity: 2, groups: 1}
    servers: {imported: 1}
"""


def _bill(folder: Path, **counts: int) -> Bill:
    (folder / "priced.yaml").write_text(PRICED)
    bricks = [
        BrickCount.model_validate({"brick": name.replace("_", "-"), "count": str(count)})
        for name, count in counts.items()
    ]
    return bill(load([folder / "priced.yaml"]), Configuration(bricks=bricks))


def _total(parts_bill: Bill, what: str, currency: str | None = None) -> float:
    value = parts_bill.total(what, currency)  # type: ignore[arg-type]
    assert value is not None
    return value.nominal


def test_parts_are_counted_in_every_brick_and_added_up(tmp_path: Path) -> None:
    parts_bill = _bill(tmp_path, of_parts=3)
    drives = next(line for line in parts_bill.lines if line.name == "d")
    assert drives.count.nominal == 30
    together = drives.together("price")
    assert together is not None
    assert together.nominal == 3000
    assert _total(parts_bill, "price", "EUR") == 3 * (10 * 100 + 2000)
    assert _total(parts_bill, "rack_units") == 6


def test_the_price_of_a_whole_brick_stands_for_all_its_parts(tmp_path: Path) -> None:
    parts_bill = _bill(tmp_path, as_a_whole=2)
    assert _total(parts_bill, "price", "EUR") == 5000
    assert _total(parts_bill, "rack_units") == 10
    assert all(line.together("price") is None for line in parts_bill.lines if line.within)
    assert not parts_bill.unknown("price")


def test_prices_of_two_currencies_are_never_added_up(tmp_path: Path) -> None:
    parts_bill = _bill(tmp_path, abroad=1)
    assert set(parts_bill.currencies) == {"EUR", "USD"}
    assert (_total(parts_bill, "price", "EUR"), _total(parts_bill, "price", "USD")) == (1000, 3000)


def test_figures_missing_from_the_catalogue_are_named_and_not_zero(tmp_path: Path) -> None:
    parts_bill = _bill(tmp_path, of_parts=1)
    assert parts_bill.total("power") is None
    assert set(parts_bill.unknown("power")) == {"d", "s"}


def test_the_published_rack_takes_as_many_units_as_its_evaluation_says() -> None:
    file, catalogue = read("md3460-racks")
    parts_bill = bill(catalogue, file.configurations["performance-8"], racks=1)
    height = parts_bill.total("rack_units")
    assert height is not None
    assert height.interval.nominal == Fraction(40)
    assert [(line.name, line.count.nominal) for line in parts_bill.lines if line.name == "nl-sas-4tb"] == [
        ("nl-sas-4tb", 480)
    ]
    assert parts_bill.lines[-1].kind == "rack"

"""Relative prices: those of the MD3460 paper, with metadata in some racks, and any that come of real prices."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ioassay.sizing.catalogue import load
from ioassay.sizing.published.conftest import CheckTable, Row
from ioassay.sizing.published.model import Measure, PriceFinding, PriceHypothesis, Published

_MODULE = """
name: own
title: A metadata module
metadata:
  mds:
    title: Two metadata servers and their array
    assumed: Invented for a test.
"""


def prices(published: Published) -> PriceFinding:
    assert published.prices is not None
    return published.prices


def hypothesis(published: Published, measure: Measure, scope: str = "listed") -> PriceHypothesis:
    return next(
        candidate
        for candidate in prices(published).hypotheses
        if (candidate.measure, candidate.scope) == (measure, scope)
    )


def implied(of: PriceHypothesis, what: str) -> tuple[float, float | None, float | None]:
    price = next(price for price in of.implied if price.what == what)
    return round(price.low, 3), price.high and round(price.high, 3), price.exact and round(price.exact, 3)


def test_two_racks_with_one_price_contradict_each_other_as_prices_of_the_whole(
    check_table: CheckTable, racks: Mapping[str, Row]
) -> None:
    whole = hypothesis(check_table(racks), "whole")
    assert [round(ratio.value.nominal, 3) for ratio in whole.ratios] == [1.95, 1.733, 1.733]
    assert whole.common_in == ("performance-6",)
    assert [implied(whole, price.what) for price in whole.implied[-1:]] == [(1.061, 1.42, 1.238)]


def test_per_usable_capacity_a_capacity_brick_costs_1_95_performance_bricks_in_all_tables(
    check_table: CheckTable, racks: Mapping[str, Row]
) -> None:
    usable = prices(check_table(racks)).possible[0]
    assert (usable.measure, usable.common_in, usable.same_as_whole) == ("usable", (), 1)
    assert [round(ratio.value.nominal, 3) for ratio in usable.ratios] == [1.95] * 3
    assert implied(usable, "md3460-capacity with nl-sas-4tb") == (1.935, 1.965, 1.95)
    assert implied(usable, usable.implied[2].what) == (0.935, 0.965, 0.95)


def test_the_same_price_for_larger_drives_leaves_them_at_most_three_percent_dearer(
    check_table: CheckTable, racks: Mapping[str, Row]
) -> None:
    usable = hypothesis(check_table(racks), "usable")
    assert implied(usable, "md3460-performance with nl-sas-6tb") == (1.0, 1.029, 1.0)


def test_per_write_rate_a_brick_would_cost_less_than_what_it_contains(
    check_table: CheckTable, racks: Mapping[str, Row]
) -> None:
    write = hypothesis(check_table(racks), "write")
    assert not write.is_possible
    assert write.contained is not None
    assert write.contained.further == {"md3060e": 2, "nl-sas-4tb": 120}
    assert {round(ratio.value.nominal, 2) for ratio in write.ratios} == {0.65}


def test_a_listed_metadata_module_makes_prices_of_the_whole_possible(
    check_table: CheckTable, racks: Mapping[str, Row], tmp_path: Path
) -> None:
    (tmp_path / "own.yaml").write_text(_MODULE)
    with_metadata = {
        name: (f"{parts} mds" if name in ("performance-6", "capacity-2") else parts, stated)
        for name, (parts, stated) in racks.items()
    }
    published = check_table(with_metadata, load([tmp_path / "own.yaml"]))
    assert implied(hypothesis(published, "whole"), "mds") == (1.061, 1.42, 1.238)
    assert implied(hypothesis(published, "usable"), "mds")[:2] == (0.0, 0.174)
    assert hypothesis(published, "usable", "bricks").is_possible
    assert hypothesis(published, "whole", "bricks").common_in == ("performance-6",)


def test_only_the_prices_that_contradict_each_other_are_named(check_table: CheckTable) -> None:
    published = check_table(
        {
            "reference": ("6 md3460-performance nl-sas-4tb", {}),
            "half": ("3 md3460-performance nl-sas-4tb", {"price": "0.50 of reference"}),
            "two": ("2 md3460-capacity nl-sas-4tb", {"price": "0.65 of reference"}),
            "four": ("4 md3460-capacity nl-sas-4tb", {"price": "1.00 of reference"}),
        }
    )
    whole = hypothesis(published, "whole")
    assert not whole.is_possible
    assert [figure.configuration for figure in whole.conflict] == ["two", "four"]


def test_a_table_without_relative_prices_has_no_price_finding(check_table: CheckTable) -> None:
    assert check_table({"rack": ("1 md3460-performance nl-sas-4tb", {"usable": "192 TB"})}).prices is None


@given(
    measure=st.sampled_from(("whole", "usable", "drive")),
    parts=st.tuples(st.integers(1, 100), st.floats(0.05, 2), st.floats(1, 2), st.floats(0, 50)),
    counts=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9), st.sampled_from((4, 6))), min_size=1, max_size=3),
)
@settings(max_examples=15, deadline=None)
def test_prices_that_exist_are_always_possible(
    check_table: CheckTable,
    measure: Measure,
    parts: tuple[int, float, float, float],
    counts: list[tuple[int, int, int]],
) -> None:
    server, drive, larger, enclosure = parts
    rows: dict[str, Row] = {}
    for index, (performance, capacity, size) in enumerate(counts):
        each = drive if size == 4 else drive * larger
        dear, cheap = capacity * (server + 2 * enclosure + 180 * each), performance * (server + 60 * each)
        relative = dear / cheap * (1.0 if measure == "whole" else performance / (3 * capacity))
        assume(relative > 0.02)
        rows[f"performance-{index}"] = (f"{performance} md3460-performance nl-sas-{size}tb", {})
        price = {"price": f"{relative:.2f} of performance-{index}"}
        rows[f"capacity-{index}"] = (f"{capacity} md3460-capacity nl-sas-{size}tb", price)
    possible = hypothesis(check_table(rows), measure)
    assert possible.is_possible
    assert possible.common_in == ()

"""Published tables as wholes: a real one, invented ones, and any that was rounded from the truth in one reading."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ioassay.errors import UsageError
from ioassay.sizing.capacity import brick_capacity
from ioassay.sizing.catalogue import load
from ioassay.sizing.configurations import read
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.model import BrickChoice
from ioassay.sizing.published.check import check
from ioassay.sizing.published.conftest import CheckTable, Row
from ioassay.sizing.published.model import Base, Figure, Published, Reading, RoundedPart
from ioassay.sizing.published.readings import base_factor
from ioassay.systems.printed import Rounding


def figure(published: Published, configuration: str, value: str) -> Figure:
    return next(
        figure for figure in published.figures if (figure.configuration, figure.stated.value) == (configuration, value)
    )


def numbers(published: Published, configuration: str, value: str) -> dict[Base, tuple[float, bool]]:
    """What the arithmetic gives in each unit, and whether that is printed."""
    return {
        trial.reading.base: (round(float(trial.number.nominal), 2), trial.agrees)
        for trial in figure(published, configuration, value).trials
        if trial.reading.is_unit_alone
    }


def test_the_racks_of_the_md3460_paper_are_sums_in_pib_except_one(
    check_table: CheckTable, racks: Mapping[str, Row]
) -> None:
    (capacities,) = (unit for unit in check_table(racks).units if unit.kind == "capacities")
    assert capacities.best.reading == Reading("binary")
    assert [figure.stated.value for figure in capacities.best.contradicting] == ["2.1 PB"]
    assert {unit.reading.base: len(unit.agreeing) for unit in capacities.units}["decimal"] == 2
    assert capacities.outcome == "one reading"


@pytest.mark.parametrize(
    ("configuration", "value", "decimal", "binary", "thousands"),
    [
        ("capacity-3", "1.5PB", (1.73, False), (1.53, True), (1.57, False)),
        ("performance-8", "1.4PB", (1.54, False), (1.36, True), (1.4, True)),
        ("capacity-3-6tb", "2.3 PB", (2.59, False), (2.3, True), (2.36, False)),
        ("performance-8-6tb", "2.1 PB", (2.3, False), (2.05, False), (2.09, True)),
    ],
)
def test_each_capacity_of_the_paper_tells_its_unit(  # noqa: PLR0917
    check_table: CheckTable,
    racks: Mapping[str, Row],
    configuration: str,
    value: str,
    decimal: tuple[float, bool],
    binary: tuple[float, bool],
    thousands: tuple[float, bool],
) -> None:
    sums = numbers(check_table(racks), configuration, value)
    assert (sums["decimal"], sums["binary"], sums["thousands"]) == (decimal, binary, thousands)


def test_the_odd_capacity_is_the_rounded_one_of_smaller_drives_times_six_quarters(
    check_table: CheckTable, racks: Mapping[str, Row]
) -> None:
    agreeing = figure(check_table(racks), "performance-8-6tb", "2.1 PB").agreeing
    neighbours = [trial.reading.neighbour for trial in agreeing if trial.reading.neighbour]
    assert [(neighbour.printed, neighbour.ratio) for neighbour in neighbours] == [("1.4PB", "3/2")]


def test_a_multiple_of_another_printed_number_is_seen_across_prefixes(check_table: CheckTable) -> None:
    """As of Blue Waters: 180 units of about 120 TB are 21.6 PB, and no unit makes them that of the drives."""
    published = check_table(
        {
            "one": ("1 md3460-performance nl-sas-4tb", {"usable": "180 TB"}),
            "many": ("90 md3460-performance nl-sas-4tb", {"usable": "16.2 PB"}),
        }
    )
    best = figure(published, "many", "16.2 PB").agreeing[0].reading.neighbour
    assert best is not None
    assert (best.printed, best.ratio) == ("180 TB", "90")


def test_a_capacity_in_gib_is_seen_to_be_of_drives_rounded_to_gib(check_table: CheckTable) -> None:
    """IBM's estimator for Storage Scale ECE prints 536400 GiB of 144 drives of 4 TB, of 3725.29 GiB each."""
    published = check_table({"ece": ("3 md3460-performance nl-sas-4tb", {"raw": f"{180 * 3725} GiB"})})
    assert figure(published, "ece", "670500 GiB").agreeing[0].reading.part == RoundedPart(
        "drive", 0, in_printed_unit=True
    )


def test_a_mixture_of_units_is_combined_with_nothing_else(check_table: CheckTable) -> None:
    """Else 100 PB of drives of 16 TB would be explained by millions of GiB of drives of 15 TiB."""
    published = check_table({"rack": ("8 md3460-performance nl-sas-4tb", {"usable": "1.38 PB", "raw": "1.9 PB"})})
    readings = {trial.reading for figure in published.figures for trial in figure.trials}
    assert {reading for reading in readings if reading.base not in ("decimal", "binary")} == {
        Reading("thousands"),
        Reading("of 1024"),
        Reading("millions"),
    }


def test_all_capacities_fit_if_targets_were_rounded_to_whole_tib(
    check_table: CheckTable, racks: Mapping[str, Row]
) -> None:
    (capacities,) = (unit for unit in check_table(racks).units if unit.kind == "capacities")
    assert Reading("binary", part=RoundedPart("group", 0)) in [other.reading for other in capacities.others]


def test_neither_26_nor_29_gb_per_s_is_six_times_what_all_other_racks_say(
    check_table: CheckTable, racks: Mapping[str, Row]
) -> None:
    published = check_table(racks)
    (rates,) = published.rates
    needed = {
        rate.figure.stated.value: [
            round(float(end) / 1e9, 2) for end in (rate.value.interval.low, rate.value.interval.high)
        ]
        for rate in rates.contradicting
    }
    assert needed == {"26 GB/s": [4.25, 4.42], "29 GB/s": [4.75, 4.92]}
    assert rates.common.low == Fraction("4.4375") * 10**9
    assert [[figure.stated.value for figure in repeated.figures] for repeated in published.repeated] == [
        ["26 GB/s", "29 GB/s"]
    ]
    assert [figure.stated.value for figure in published.unfounded] == ["29 GB/s"]


def test_a_consistent_table_in_decimal_units_has_no_finding(check_table: CheckTable) -> None:
    published = check_table(
        {
            "small": ("2 md3460-performance nl-sas-4tb", {"raw": "480 TB", "usable": "384 TB", "write": "9 GB/s"}),
            "large": ("5 md3460-performance nl-sas-6tb", {"usable": "1.44 PB", "read": "22.5 GB/s", "drives": "300"}),
        }
    )
    assert published.is_consistent
    assert {figure.verdict for figure in published.figures} == {"as printed"}


def test_tib_that_are_labelled_tb_are_one_unit_and_no_contradiction(check_table: CheckTable) -> None:
    published = check_table(
        {
            "small": ("2 md3460-performance nl-sas-4tb", {"raw": "437 TB", "usable": "349 TB"}),
            "large": ("5 md3460-performance nl-sas-6tb", {"usable": "1309 TB"}),
        }
    )
    (capacities,) = published.units
    assert capacities.outcome == "one unit"
    assert capacities.best.reading == Reading("binary")
    assert not published.is_consistent
    assert not published.unfounded
    assert not published.repeated


def test_gb_that_must_be_tb_contradict_the_tib_beside_them(check_table: CheckTable) -> None:
    published = check_table(
        {
            "four": (
                "32 md3460-performance nl-sas-4tb",
                {"raw": "7680 TB", "usable": "6140 GB", "usable again": "5585 TiB"},
            )
        }
    )
    assert figure(published, "four", "6140 GB").agreeing[0].reading == Reading("decimal", prefix=1)
    assert figure(published, "four", "5585 TiB").verdict == "as printed"
    assert [figure.stated.value for figure in published.repeated[0].figures] == ["6140 GB", "5585 TiB"]


def built_in(name: str) -> Published:
    file, catalogue = read(name)
    return check(catalogue, file, {name: evaluate(catalogue, name, of) for name, of in file.configurations.items()})


def test_the_built_in_racks_contradict_what_the_paper_says_of_its_unit_in_one_capacity() -> None:
    published = built_in("md3460-racks")
    (capacities,) = (unit for unit in published.units if unit.kind == "capacities")
    assert (capacities.label, capacities.best.reading, capacities.best.weight) == ("binary", Reading("binary"), 0)
    assert [figure.stated.value for figure in capacities.best.contradicting] == ["2.1 PB"]
    assert {repetition.figures[0].stated.what for repetition in published.repeated} == {"write_and_read"}


def test_the_formatted_capacity_of_the_built_in_pixstor_is_in_tb_and_not_in_gb() -> None:
    published = built_in("pixstor")
    printed = {figure.stated.value: figure.agreeing[0].reading for figure in published.figures}
    assert printed["6144 GB"] == Reading("decimal", prefix=1)
    assert printed["5588 TiB"] == Reading("binary")
    assert (printed["8064 TB"], printed["7334 TiB"]) == (Reading("decimal"), Reading("binary"))


def test_capacities_that_are_all_one_percent_too_small_share_a_loss() -> None:
    (capacities,) = (unit for unit in built_in("beegfs").units if unit.kind == "capacities")
    assert capacities.outcome == "one reading"
    (loss,) = (loss for loss in capacities.losses if loss.reading == Reading("binary"))
    assert Fraction("0.98") < loss.left.low < loss.left.high < Fraction("0.995")


def test_a_number_that_no_reading_gives_does_not_follow(check_table: CheckTable) -> None:
    published = check_table({"rack": ("1 md3460-performance nl-sas-4tb", {"usable": "77 TB", "drives": "61"})})
    assert [figure.stated.value for figure in published.unfounded] == ["77 TB", "61"]


def test_a_price_relative_to_nothing_of_the_file_is_an_error(check_table: CheckTable) -> None:
    with pytest.raises(UsageError, match="missing"):
        check_table({"rack": ("1 md3460-performance nl-sas-4tb", {"price": "0.5 of other"})})


_READINGS = [
    *(Reading(base) for base in ("decimal", "binary", "thousands", "of 1024", "millions")),
    *(Reading(base, rounding=way) for base in ("decimal", "binary") for way in ("down", "up")),
    *(Reading(base, basis="raw") for base in ("decimal", "binary")),
    *(Reading(base, prefix=step) for base in ("decimal", "binary") for step in (-1, 1)),
]


@given(
    reading=st.sampled_from(_READINGS),
    decimals=st.integers(0, 3),
    bricks=st.lists(
        st.tuples(st.integers(1, 40), st.sampled_from(("performance", "capacity")), st.sampled_from((4, 6))),
        min_size=1,
        max_size=4,
    ),
)
@settings(max_examples=20, deadline=None)
def test_a_table_rounded_from_the_truth_in_one_reading_agrees_in_that_reading(
    check_table: CheckTable, reading: Reading, decimals: int, bricks: list[tuple[int, str, int]]
) -> None:
    factor = base_factor(reading.base, 4 + reading.prefix)
    assert factor is not None
    catalogue = load()
    rows: dict[str, Row] = {}
    for index, (count, brick, drive) in enumerate(bricks):
        choice = BrickChoice(f"md3460-{brick}", f"nl-sas-{drive}tb")
        capacity = brick_capacity(catalogue, choice)
        truth = count * (capacity.raw if reading.basis == "raw" else capacity.usable).interval.nominal / factor
        rows[f"rack-{index}"] = (
            f"{count} {choice.brick} {choice.drive}",
            {"usable": f"{_rounded(truth, decimals, reading.rounding)} TB"},
        )
    published = check_table(rows)
    assert all(reading in [trial.reading for trial in figure.agreeing] for figure in published.figures)
    assert [unit.outcome for unit in published.units] != ["contradiction"]
    assert not published.unfounded
    assert not published.repeated


def _rounded(number: Fraction, decimals: int, way: Rounding) -> str:
    digits = number * 10**decimals
    whole = {"nearest": math.floor(digits + Fraction(1, 2)), "down": math.floor(digits), "up": math.ceil(digits)}[way]
    return f"{whole // 10**decimals}.{whole % 10**decimals:0{decimals}d}" if decimals else str(whole)

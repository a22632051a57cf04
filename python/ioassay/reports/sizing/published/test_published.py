"""Published numbers in words: of the built-in racks, and of a table in which all is well."""

from __future__ import annotations

import json

import pytest

from ioassay.reports.document import Document
from ioassay.reports.document.markdown import rendered
from ioassay.reports.sizing.published import blocks
from ioassay.reports.sizing.published.data import data
from ioassay.reports.sizing.published.readings import deviation
from ioassay.sizing.arithmetic import exactly
from ioassay.sizing.catalogue import load
from ioassay.sizing.configuration import ConfigurationFile
from ioassay.sizing.configurations import read
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.published.check import check
from ioassay.sizing.published.model import Published, Reading, Trial


def checked(file: ConfigurationFile) -> Published:
    catalogue = load()
    return check(
        catalogue,
        file,
        {name: evaluate(catalogue, name, configuration) for name, configuration in file.configurations.items()},
    )


def text(file: ConfigurationFile) -> str:
    return "".join(rendered(Document("Table", blocks(checked(file)))))


def flat(report: str) -> str:
    return " ".join(report.split())


def first_part(report: str) -> str:
    """What stands above the table of all numbers."""
    return flat(report[: report.index("## Published numbers")])


def test_the_first_sentences_say_which_numbers_of_the_racks_follow_and_in_what_unit() -> None:
    opening = first_part(text(read("md3460-racks")[0]))
    assert (
        "13 of 16 published numbers follow from the arithmetic; 26 GB/s (performance-6), 29 GB/s (performance-6) and "
        "2.1 PB (performance-8-6tb) do not." in opening
    )
    assert "5 of 6 capacities are in PiB (1024 TiB): 1PB, 1.5PB, 1.4PB and 2.3 PB." in opening
    assert "In PB (1000 TB) only 1PB would follow." in opening
    assert "8 bricks × 287.8 TB = 2.303 PB (2.045 PiB), 2.6 % less than 2.1 PiB" in opening
    assert "1.4PB of performance-8 × 3/2: 2.1" in opening


def test_two_numbers_for_one_thing_are_held_against_the_arithmetic_of_both() -> None:
    opening = first_part(text(read("md3460-racks")[0]))
    assert (
        "write and read are stated as 26 GB/s (paper:249) and 29 GB/s (paper:255), which contradict each other; "
        "6 bricks × 4.5 GB/s = 27 GB/s (26.7 to 27.3), which is neither." in opening
    )
    assert "one md3460-performance would have to do 4.25 to 4.417 GB/s for 26 GB/s" in opening


def test_a_buyer_reads_what_the_price_is_relative_to_and_what_the_whole_then_costs() -> None:
    opening = first_part(text(read("md3460-racks")[0]))
    assert "The relative price 0.65 must be per usable capacity, per drive or per rack unit" in opening
    assert "for as much usable capacity, capacity-3 costs 0.65 of performance-8" in opening
    assert "so that the whole costs 0.731 of performance-8" in opening


def test_implications_of_prices_stand_below_with_the_refuted_hypotheses() -> None:
    report = flat(text(read("md3460-racks")[0]))
    assert "It can be per usable capacity or per drive: one md3460-capacity costs 1.95 md3460-performance." in report
    assert "would cost 1.95 (by capacity-2), but 1.73 (by capacity-3 and capacity-3-6tb)" in report
    assert "although it has all parts of that and 2 md3060e and 120 nl-sas-4tb more" in report


def test_gb_that_must_be_tb_are_named() -> None:
    opening = first_part(text(read("pixstor")[0]))
    assert "the arithmetic gives 6.144 PB (5.457 PiB), so that 6144 GB must mean TB." in opening
    assert "7 of 8 published numbers follow" in opening


def test_other_programs_get_what_the_report_says() -> None:
    document = data(checked(read("md3460-racks")[0]))
    capacities = next(unit for unit in document["units"] if unit["kind"] == "capacities")
    assert capacities["units"][0]["meanings"] == ["PiB"]
    (odd,) = capacities["units"][0]["contradicting"]
    assert (document["figures"][odd]["stated"], document["figures"][odd]["follows"]) == ("2.1 PB", False)
    assert document["figures"][odd]["arithmetic"]["nominal"] == pytest.approx(2.303e15, rel=1e-3)
    assert [[document["figures"][index]["stated"] for index in indices] for indices in document["contradicting"]] == [
        ["26 GB/s", "29 GB/s"]
    ]
    usable = next(
        hypothesis for hypothesis in document["prices"]["hypotheses"] if hypothesis["relative_to"] == "usable"
    )
    assert {round(configuration["price"], 3) for configuration in usable["whole_configurations"]} == {0.65, 0.731}
    json.dumps(document, allow_nan=False)


def test_a_table_in_which_all_follows_gets_one_sentence() -> None:
    brick = {"brick": "md3460-performance", "count": "2", "drive": "nl-sas-4tb"}
    stated = {"what": "raw", "value": "480 TB", "at": "paper:1"}
    file = ConfigurationFile.model_validate(
        {
            "name": "table",
            "title": "A table",
            "sources": {"paper": {"title": "A paper"}},
            "configurations": {"rack": {"bricks": [brick], "stated": [stated]}},
        }
    )
    assert "The only published number follows from the arithmetic." in text(file)


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.097, "9.7 % more"),
        (-0.026, "2.6 % less"),
        (0.996, "99.6 % more"),
        (-0.999, "99.9 % less"),
        (-0.99999, "99.9 % less"),
        (999, "1,000 times as much"),
    ],
)
def test_deviations_are_written_without_an_exponent(share: float, words: str) -> None:
    value = exactly("raw capacity", 1)
    trial = Trial(Reading("decimal"), value, value.interval, agrees=False, off=share, weight=0)
    assert deviation(trial) == words

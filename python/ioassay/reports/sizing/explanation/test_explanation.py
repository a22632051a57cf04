"""What the explanation of the published racks says."""

from __future__ import annotations

import csv
import io
import json

import pytest

from ioassay import reports
from ioassay.reports.document import Paragraph, Section
from ioassay.reports.sizing.explanation import ExplanationReport
from ioassay.reports.sizing.explanation.explained import Content, Explained
from ioassay.sizing.arithmetic import exactly
from ioassay.sizing.configurations import read
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.packing import Item, PackedRack
from ioassay.sizing.published.model import Published
from ioassay.systems.amounts import SECONDS
from ioassay.testing.terminal_text import terminal_text

NAMES = ("performance-6", "performance-8")
RACK = PackedRack(42, (Item("md3460-performance", 5, (("md3460", 4), ("r620", 1))),) * 6)


def _report(*names: str, sections: tuple[Section, ...] = ()) -> ExplanationReport:
    file, catalogue = read("md3460-racks")
    times = (exactly("time to fill", 1, SECONDS),)
    explained = [
        Explained(evaluate(catalogue, name, file.configurations[name]), (RACK,), sections, times) for name in names
    ]
    return ExplanationReport(Content(file, catalogue, explained, Published.nothing()))


def _markdown(report: ExplanationReport) -> str:
    return reports.build(report, "md").decode()


def _terminal(report: ExplanationReport) -> str:
    return terminal_text(report.terminal())


def test_the_answer_comes_first_with_decimal_and_binary_capacities() -> None:
    text = _markdown(_report(*NAMES))
    answer = text[text.index("## Answer") : text.index("## performance-6")]
    assert "1.92 PB, 1.705 PiB |" in answer
    assert "36 GB/s |" in answer


def test_unknown_amounts_have_no_column_and_are_named_in_the_bill() -> None:
    text = _markdown(_report(*NAMES))
    answer = text[text.index("## Answer") : text.index("## performance-6")]
    assert "Price" not in answer
    assert "price: unknown" in text


def test_every_step_stands_on_a_numbered_line_and_every_figure_with_its_source() -> None:
    text = _markdown(_report("performance-8"))
    assert "raw capacity = 60 drives × 4 TB = 240 TB (218.3 TiB)" in text
    assert "| 4TB | Commoditisation of the High-End Research Storage Market" in text


def test_an_assumption_is_listed_once_however_many_configurations_rest_on_it() -> None:
    text = _markdown(_report(*NAMES))
    assumed = text[text.index("## Assumptions") :].splitlines()
    assert any("rack-42u" in line for line in assumed)
    assert len(assumed) == len(set(assumed)) + assumed.count("") - 1


def test_sections_of_others_stand_before_the_arithmetic() -> None:
    text = _markdown(_report("performance-8", sections=(Section("Times", [Paragraph("It fills in a day.")]),)))
    assert text.index("limited by the") < text.index("It fills in a day.") < text.index("Arithmetic")


def test_a_terminal_of_80_columns_shows_the_steps_of_a_single_configuration_only() -> None:
    single, several = _terminal(_report("performance-8")), _terminal(_report(*NAMES))
    assert "240 TB" in single
    assert "240 TB" not in several
    assert "--configuration NAME" in several
    assert all(len(line) <= 80 for text in (single, several) for line in text.splitlines())


def test_the_page_has_the_racks_and_the_same_bytes_each_time() -> None:
    pages = [reports.build(_report("performance-8"), "html") for _ in range(2)]
    assert pages[0] == pages[1]
    assert b"Rack 1 from the front" in pages[0]


def test_the_data_are_in_base_units_that_their_names_say() -> None:
    data = json.loads(reports.build(_report("performance-8"), "json"))
    (configuration,) = data["configurations"]
    assert configuration["raw_bytes"]["nominal"] == 1920e12
    assert configuration["rates"]["healthy"]["write"]["rate_bytes_per_s"]["low"] == pytest.approx(35.6e9)
    assert configuration["rates"]["healthy"]["write"]["limited_by"] == "RAID controllers"
    assert [(value["name"], value["nominal"], value["unit"]) for value in configuration["times_and_failures"]] == [
        ("time to fill", 1.0, "s")
    ]
    assert {"drive", "server", "rack"} <= {part["kind"] for part in configuration["bill_of_materials"]["parts"]}
    assert configuration["arithmetic"]["steps"][0]["step"].startswith("raw capacity = ")


def test_the_table_has_a_row_for_each_configuration() -> None:
    rows = list(csv.DictReader(io.StringIO(reports.build(_report(*NAMES), "csv").decode())))
    assert [row["configuration"] for row in rows] == list(NAMES)
    assert float(rows[1]["write_bytes_per_s"]) == 36e9

from __future__ import annotations

import io
import json

import polars as pl
import pytest
from rich.console import Console

from ioassay import reports
from ioassay.reports import format
from ioassay.reports.terminal import summary
from ioassay.results.loaded import LoadedRun
from ioassay.testing.builder import RunBuilder


def test_json_holds_the_run_the_table_the_verdicts_the_measurements_and_the_doubts(run: LoadedRun) -> None:
    document = json.loads(reports.build(run, "json"))
    assert document["run"]["run"] == run.document.run
    assert document["peak_sustained"][0]["series"][0]["peak"]["clients"] == [64]
    assert document["acceptance"]["judgement"] == "failed"
    assert len(document["measurements"]) == run.measurements.height
    assert len(document["doubts"]) == run.doubts.height


def test_csv_is_one_table_with_a_row_per_measurement_in_the_order_of_the_run(run: LoadedRun) -> None:
    table = pl.read_csv(reports.build(run, "csv"))
    cases = [case.id for case in run.document.cases]
    assert table["case"].unique(maintain_order=True).to_list() == cases
    assert table.filter(case="random-small-c8-r1", phase="write")["doubts"].item().split(";")[-1] == "failed"


def test_markdown_has_the_table_of_the_paper_and_marks_its_doubts(run: LoadedRun) -> None:
    text = reports.build(run, "md").decode()
    assert "| Workload | Peak write | Peak read | Sustained write | Sustained read |" in text
    assert "1.20 GB/s [b c], 64 clients" in text
    assert "### a: failed (1 of 56, makes the number invalid)" in text


@pytest.mark.parametrize("form", reports.FORMATS)
def test_every_format_tells_of_a_run_with_nothing_measured(form: reports.Format) -> None:
    assert reports.build(RunBuilder().workload("w").stop_after(0).build(), form)


def test_the_terminal_shows_the_table_the_verdict_and_the_remedies(run: LoadedRun) -> None:
    console = Console(file=io.StringIO(), width=120)
    console.print(summary(run))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "Sustained read" in text
    assert "Acceptance: failed." in text
    assert "check the disk" in text


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (format.rate(1.234e9), "1.23 GB/s"),
        (format.rate(0.9996e9), "1000 MB/s"),
        (format.rate(None), "–"),
        (format.operations_rate(40_000), "40.0 kIOPS"),
        (format.duration(999), "999 ns"),
        (format.duration(1_500_000), "1.50 ms"),
        (format.duration(700e9), "11.7 min"),
        (format.size(1 << 20), "1 MiB"),
        (format.size(128_849_018_880 + 4096), "120 GiB"),
        (format.share(0.0004), "<0.1 %"),
        (format.share(0.5), "50 %"),
        (format.limit(1.0, "s"), "1 s"),
        (format.limit(2e8, "bytes/s"), "200 MB/s"),
        (format.points((4, 8, 16)), "4–16 clients"),
        (format.points((1,)), "1 client"),
    ],
)
def test_numbers_have_three_digits_and_a_unit(shown: str, expected: str) -> None:
    assert shown == expected

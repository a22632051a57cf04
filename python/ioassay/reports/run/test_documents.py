from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import polars as pl
import pytest
from rich.console import Console

from ioassay import reports
from ioassay.analysis.names import sweep_points
from ioassay.reports.document.terminal import rendered
from ioassay.reports.run import RunReport
from ioassay.store.document import StopRule
from ioassay.store.loaded import LoadedRun
from ioassay.studies.library import find_study
from ioassay.testing.builder import RunBuilder
from ioassay.testing.measured_study import measured
from ioassay.text import format


def test_json_holds_the_run_the_table_the_verdicts_the_measurements_and_the_doubts(run: LoadedRun) -> None:
    document = json.loads(reports.build(RunReport(run), "json"))
    assert document["run"]["run"] == run.document.run
    assert document["peak_sustained"][0]["series"][0]["peak"]["clients"] == [64]
    assert document["acceptance"]["judgement"] == "failed"
    assert len(document["measurements"]) == run.measurements.height
    assert len(document["doubts"]) == run.doubts.height


def test_csv_is_one_table_with_a_row_per_measurement_in_the_order_of_the_run(run: LoadedRun) -> None:
    table = pl.read_csv(reports.build(RunReport(run), "csv"))
    cases = [case.id for case in run.document.cases]
    assert table["case"].unique(maintain_order=True).to_list() == cases
    assert table.filter(case="random-small-c8-r1", phase="write")["doubts"].item().split(";")[-1] == "failed"


def test_markdown_has_the_table_of_the_paper_with_what_makes_its_numbers_doubtful(run: LoadedRun) -> None:
    text = reports.build(RunReport(run), "md").decode()
    assert "| Workload | Peak write | Peak read | Sustained write | Sustained read |" in text
    assert "| 1196 MB/s, 64 clients | 2050 MB/s, 64 clients; partly read from the page cache |" in text
    assert "| a | failed, **makes the number invalid** | 1 of 56 | check the disk |" in text


@pytest.mark.parametrize("form", reports.FORMATS)
def test_every_format_has_a_report_of_a_run_without_measurements(form: reports.Format) -> None:
    assert reports.build(RunReport(RunBuilder().workload("w").stop_after(0).build()), form)


def terminal(run: LoadedRun) -> str:
    """What the terminal shows at the end of a run."""
    console = Console(file=io.StringIO(), width=120)
    console.print(rendered(RunReport(run).terminal()))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_terminal_shows_the_table_the_verdict_and_the_remedies(run: LoadedRun) -> None:
    text = terminal(run)
    assert re.search(r"Workload +Phase +Peak +At +Sustained *\n", text)
    assert "Acceptance: failed." in text
    assert "check the disk" in text


def test_a_phase_is_one_line_at_80_columns_and_its_letters_are_explained_below() -> None:
    builder = RunBuilder().workload("seq", "Sequential N-N, 1 MiB").clients(1, 2, 4).repetitions(3)
    for repetition in (1, 2, 3):
        builder.doubt(f"seq-c2-r{repetition}", "write", "short-phase", "it took 12 ms", "move more data")
    builder.rates("seq", "write", 1, 1e9, 1.1e9, 1.2e9).rates("seq", "write", 2, 2e9, 2.1e9, 2.2e9)
    builder.rates("seq", "write", 4, 2e9, 2.05e9, 2.1e9)
    console = Console(file=io.StringIO(), width=80)
    console.print(rendered(RunReport(builder.build()).terminal()))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue().replace("\u00a0", " ")
    (write,) = (line for line in text.splitlines() if " write " in line and "B/s" in line)
    assert re.search(r"write +2100 MB/s a +2 clients .+ 2075 MB/s a?", write), text
    assert text.count("short") == 1, text
    assert re.search(r"\n +a +3 of 18 measurements: phase too short \(move more data\)", text), text


def test_one_sentence_replaces_the_tables_where_nothing_is_valid() -> None:
    run = RunBuilder().workload("w", "Big").clients(1).criterion("rate", unit="bytes/s", at_least=1e9).build()
    broken = replace(run, measurements=run.measurements.with_columns(valid=pl.lit(False)))
    output = terminal(broken)
    assert "Nothing valid was measured." in output
    assert "Acceptance: failed. Criteria: 1 failed." in output
    assert "no valid measurement" not in output
    assert format.ABSENT not in output
    assert "Nothing valid was measured." in reports.build(RunReport(broken), "md").decode()


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
        (sweep_points((4, 8, 16)), "4–16 clients"),
        (sweep_points((1,)), "1 client"),
    ],
)
def test_numbers_have_three_digits_and_a_unit(shown: str, expected: str) -> None:
    assert shown == expected


@pytest.mark.parametrize("form", ["html", "md", "json", None])
def test_every_format_has_the_io500_score_with_its_reasons_if_a_study_requests_it(
    form: reports.Format | None,
) -> None:
    run = measured(find_study("io500").text, lambda case, key: 1e6)
    text = reports.build(RunReport(run), form).decode() if form else terminal(run)
    words = " ".join(text.split())
    assert "mdtest-hard-delete" in words
    if form == "json":
        (score,) = json.loads(text)["io500"]
        assert not score["official"]
        assert score["phases"][0]["reasons"]
    else:
        assert "IO500 score with 4 ranks on 1 client" in words
        assert "INVALID because " in words
        assert "not an official submission" in words
        assert "Metadata" in words


@pytest.mark.parametrize("form", ["html", "md", None])
def test_documents_with_an_invalid_score_do_not_only_say_that_measurements_are_valid(
    form: reports.Format | None,
) -> None:
    run = measured(find_study("io500").text, lambda case, key: 1e6)
    assert run.measurements["valid"].all()
    text = reports.build(RunReport(run), form).decode() if form else terminal(run)
    sentence = "as a measurement, but the IO500 score is INVALID by the rules of the IO500"
    assert sentence in " ".join(text.split())


def test_a_study_that_requests_no_score_has_none(run: LoadedRun) -> None:
    report = RunReport(run)
    output = reports.build(report, "html").decode() + reports.build(report, "md").decode() + terminal(run)
    assert "IO500 score" not in output
    assert json.loads(reports.build(RunReport(run), "json"))["io500"] == []


def test_repetitions_that_were_not_needed_are_not_missing_and_points_that_stay_wide_are_named() -> None:
    builder = RunBuilder().workload("w", "Work").clients(1, 2).repetitions(4).rates("w", "write", 2, 1e9, 2e9, 1e9, 2e9)
    builder.rates("w", "write", 1, *[1e9] * 4).rates("w", "read", 1, *[1e9] * 4).rates("w", "read", 2, *[1e9] * 4)
    run = builder.criterion("failed_phases", unit="1", at_most=0).build()
    run.document.study.workloads[0].until = StopRule(share=0.05, at_least=3, at_most=4)
    spared = run.document.cases[-2]
    assert (spared.clients, spared.repetition) == (1, 4)
    spared.state = "not needed"
    kept = replace(run, measurements=run.measurements.filter(pl.col("case") != spared.id))
    text = reports.build(RunReport(kept), "md").decode()
    assert "The run is complete. 7 of 8 cases complete, 1 not needed" in text
    assert "were not made" not in text
    assert "1 point of the sweep still spread too much after the most repetitions that the study allows" in text
    assert "- Work, 2 clients: write ±87 % (4 valid repetitions)." in text
    assert "Acceptance: passed" in text, "what was not needed does not keep a criterion from being judged"
    assert "Work, 2 clients: write ±87 %" in reports.build(RunReport(kept), "html").decode()
    (wide,) = json.loads(reports.build(RunReport(kept), "json"))["still_wide"]
    assert (wide["workload"], wide["clients"], wide["series"][0]["phase"]) == ("w", 2, "write")


def test_workloads_stand_in_the_order_of_the_study_however_their_cases_ran() -> None:
    run = RunBuilder().workload("a", "First").workload("b", "Second").clients(1, 2).build()
    backward = replace(run, document=run.document.model_copy(update={"cases": run.document.cases[::-1]}))
    text = reports.build(RunReport(backward, is_full=True), "md").decode()
    assert text.index("## First: every measurement") < text.index("## Second: every measurement")
    assert text.index("# First, 1 client, write") < text.index("# First, 2 clients, write")

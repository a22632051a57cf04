from __future__ import annotations

import json
import re
from dataclasses import replace

import polars as pl
import pytest

from ioassay import reports
from ioassay.analysis.compare import measured_run, published_system
from ioassay.analysis.names import Names
from ioassay.reports.compare import configuration
from ioassay.reports.compare.content import Side
from ioassay.reports.run import RunReport, limits, method, summary
from ioassay.reports.run.content import assemble
from ioassay.reports.run.summary import key_results
from ioassay.store.loaded import LoadedRun
from ioassay.store.origin import FrontEndOrigin
from ioassay.systems.library import builtin_systems
from ioassay.testing.builder import RunBuilder
from ioassay.testing.faulty_run import faulty_run

SECTIONS = [
    *("Summary", "Results", "Servers and devices", "Comparison", "Findings"),
    *("Method", "Configuration", "Limits", "Appendix"),
]


@pytest.fixture(scope="module")
def faulty() -> LoadedRun:
    """A run with every kind of finding, without its samples: time lines take long to draw."""
    run = faulty_run()
    return replace(run, samples=run.samples.clear())


def other(factor: float) -> Side:
    builder = RunBuilder().clients(1, 8, 64).repetitions(5)
    run = builder.workload("seq", "Sequential", write=8e9 * factor, read=12e9).build()
    return Side(measured_run.subject(run, "new"), configuration.run_facts(run.document))


@pytest.fixture(scope="module")
def sequential() -> LoadedRun:
    builder = RunBuilder().clients(1, 8, 64).repetitions(5)
    return builder.workload("seq", "Sequential", write=8e9, read=12e9).build()


def headings(text: str, form: str) -> list[str]:
    return re.findall(r"<h2>([^<]*)</h2>" if form == "html" else r"^## (.*)$", text, flags=re.MULTILINE)


@pytest.mark.parametrize("form", ["html", "md"])
def test_a_report_begins_with_results_and_ends_with_how_they_were_measured(
    faulty: LoadedRun, form: reports.Format
) -> None:
    against = [other(1.0)]
    assert headings(reports.build(RunReport(faulty, against), form).decode(), form) == SECTIONS
    assert headings(reports.build(RunReport(faulty), form).decode(), form) == [
        name for name in SECTIONS if name != "Comparison"
    ]


@pytest.mark.parametrize("form", ["html", "md"])
def test_the_summary_says_what_was_measured_what_came_out_and_what_to_beware_of(
    faulty: LoadedRun, form: reports.Format
) -> None:
    text = reports.build(RunReport(faulty), form).decode()
    head = "<h2>" if form == "html" else "## "
    section = text[text.index(f"{head}Summary") : text.index(f"{head}Servers and devices")]
    assert "192 measurements of 4 workloads with 1 to 8 clients, 6 repetitions of each, against" in section
    assert limits.trust(assemble(faulty)) in section
    assert "does not reach its peak" in section


def test_the_abstract_of_an_import_with_unknown_clients_names_none() -> None:
    run = RunBuilder().workload("w").build()
    for case in run.document.cases:
        del case.point["clients"]
    assert summary.about(assemble(run)).startswith("8 measurements against ")


def test_rates_of_unknown_clients_are_in_tables_and_figures_say_that_they_lack_them() -> None:
    run = RunBuilder().workload("seq", "Sequential", write=8e9, read=12e9).clients(1, 2).build()
    first = (pl.col("operation") == "write") & (pl.col("clients") == 1)
    unknown = pl.when(~first).then(pl.col("clients", "ranks"))
    run = replace(run, measurements=run.measurements.with_columns(unknown))
    assert "<figcaption" in (page := reports.build(RunReport(run), "html").decode())
    assert "Not drawn: 1 measurement of an unknown number of clients." in page
    assert "| Sequential | 3.95 GB/s, 2 clients |" in reports.build(RunReport(run), "md").decode()
    every = run.measurements.with_columns(pl.lit(None, pl.Int64).alias(name) for name in ("clients", "ranks"))
    of_none = reports.build(RunReport(replace(run, measurements=every)), "html").decode()
    assert "The number of clients is unknown." in of_none


def test_the_abstract_of_an_interrupted_run_has_what_was_measured_and_how_it_ended() -> None:
    builder = RunBuilder().workload("w").workload("x").clients(1, 2, 4).repetitions(2)
    about = summary.about(assemble(builder.stop_after(2).build()))
    assert about.startswith("4 measurements with 1 to 2 clients, against ")
    assert about.endswith("The run was interrupted. 2 of 12 cases complete, 1 interrupted, 9 never started.")


def test_the_abstract_has_the_first_rates_of_a_workload_without_a_sweep() -> None:
    run = RunBuilder().workload("w", "Writes").clients(1, 2, 4, 8).build()
    run.document.origin, run.document.study.summary = FrontEndOrigin(tool="ior"), []
    (result,) = key_results(assemble(run))
    assert re.fullmatch(r"Writes: (write \S+ .B/s, ){4}(read \S+ .B/s, ){2}and 2 more rates\.", result.text)


@pytest.mark.parametrize("front_end", [None, "ior"])
def test_key_results_carry_the_doubts_that_change_them_in_words(front_end: str | None) -> None:
    builder = RunBuilder().workload("w", "Doubted").workload("x", "Clean").clients(1, 8)
    run = builder.doubt("w-c8-r1", "read", "short-phase", "it took 0.1 s", "move more").build()
    if front_end:
        run.document.origin, run.document.study.summary = FrontEndOrigin(tool=front_end), []
    doubted, clean = key_results(assemble(run))
    assert (doubted.caveats, clean.caveats) == (("phase too short",), ())
    page = reports.build(RunReport(run), "html").decode()
    assert '<small class="caveat">phase too short</small>' in page[: page.index("<h2>Results")]


def test_a_headline_leads_to_its_finding_and_counts_those_alike(faulty: LoadedRun) -> None:
    content = assemble(faulty)
    page = reports.build(RunReport(faulty), "html").decode()
    headlines = summary.headlines(content)
    assert 1 < len(headlines) <= summary.MOST_HEADLINES
    assert headlines[0].severity == "warning"
    for line in headlines:
        place = page.index(f'id="{line.anchor}"')
        assert line.text.split(":")[0] in page[place : page.index("</li>", place)]
    assert sum(line.findings for line in headlines) > len(headlines)


def test_findings_among_the_key_results_are_no_headlines(sequential: LoadedRun) -> None:
    content = assemble(sequential)
    peaks = {line.finding.message.headline for line in content.findings if line.finding.severity == "notice"}
    assert not peaks & {line.text for line in summary.headlines(content)}


def test_a_comparison_is_in_the_summary_and_in_its_own_section(sequential: LoadedRun) -> None:
    page = reports.build(RunReport(sequential, [other(2.0)]), "html").decode()
    sentence = "new is up to 2.00 times as fast as this run in Sequential, write"
    assert page.count(sentence) == 1
    assert page.index("<h2>Comparison") < page.index("new is faster than this run in 1 of 2 phases")
    assert page.index("<h2>Summary") < page.index(sentence) < page.index("<h2>Results")
    document = json.loads(reports.build(RunReport(sequential, [other(2.0)]), "json"))
    assert [subject["name"] for subject in document["comparison"]["subjects"]] == ["this run", "new"]
    assert "comparison" not in json.loads(reports.build(RunReport(sequential), "json"))


def test_a_comparison_with_single_figures_claims_nothing(sequential: LoadedRun) -> None:
    known = builtin_systems()
    f800 = Side(published_system.subject(known["isilon-f800"]), configuration.system_facts(known["isilon-f800"], known))
    text = reports.build(RunReport(sequential, [f800]), "md").decode()
    assert "- No ratio has a confidence interval, so there is no verdict." in text[: text.index("## Results")]
    assert re.search(r"\| Sequential, write, peak[^|]*\| – \| \d", text)


def test_the_matrix_has_the_work_and_the_points_of_each_workload(run: LoadedRun) -> None:
    rows = method.matrix_rows(run.document, assemble(run).names)
    assert [workload for workload, *_ in rows] == [entry.title for entry in run.document.study.workloads]
    cells = ("write, read", "N-N", "sequential", "1 MiB", "1 GiB", "1, 2, 4, 8, 16, 32, 64", "1", "1")
    assert rows[0][1:] == [*cells]
    assert len(method.HEADS) == 1 + len(cells)


def test_a_file_set_that_grows_with_the_clients_has_its_smallest_and_largest_size() -> None:
    document = RunBuilder().workload("w").clients(1, 8).build().document
    for case in document.cases:
        for phase in case.phases:
            phase.jobs[0].file_set_bytes = case.clients << 20
    (row,) = method.matrix_rows(document, Names(document))
    assert row[5] == "1 MiB to 8 MiB"


def test_a_file_set_of_a_stonewalled_phase_has_the_size_of_the_bytes_moved() -> None:
    document = RunBuilder().workload("w").clients(1).build().document
    for phase in document.cases[0].phases:
        phase.jobs[0].file_set_bytes, phase.jobs[0].planned_bytes = 0, 5 << 20
    (row,) = method.matrix_rows(document, Names(document))
    assert row[5] == "5 MiB"


def test_a_sweep_of_many_points_is_described_by_its_ends() -> None:
    run = RunBuilder().workload("w").clients(*range(1, 21)).build()
    (row,) = method.matrix_rows(run.document, assemble(run).names)
    assert "20 from 1 to 20" in row


def test_too_few_repetitions_are_a_limit_and_enough_are_none() -> None:
    few, enough = (RunBuilder().workload("w").clients(1, 2).repetitions(count).build() for count in (2, 3))
    assert any("which needs 3 valid repetitions" in text for text in limits.gaps(assemble(few)))
    assert limits.gaps(assemble(enough)) == []


def test_terms_are_explained_that_the_report_uses_and_no_others(sequential: LoadedRun) -> None:
    terms = dict(method.terms(assemble(sequential)))
    assert {"Rate", "Peak", "Interval"} <= terms.keys()
    assert "Rate at the stonewall" not in terms
    single = RunBuilder().workload("w").build()
    assert "Interval" not in dict(method.terms(assemble(single)))

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape

import pytest

from ioassay import reports
from ioassay.analysis.findings import Evidence
from ioassay.analysis.findings.counted_bytes import CountedBytesEvidence
from ioassay.analysis.findings.counter_clock import CounterClockEvidence
from ioassay.analysis.findings.printed_scores import PrintedScoreEvidence
from ioassay.reports.run import RunReport
from ioassay.reports.run.tables import findings
from ioassay.reports.run.test_documents import terminal
from ioassay.store.loaded import LoadedRun
from ioassay.store.origin import FrontEndOrigin
from ioassay.testing.builder import RunBuilder
from ioassay.testing.faulty_run import faulty_run


@pytest.fixture(scope="module")
def faulty() -> LoadedRun:
    return faulty_run()


@pytest.fixture(scope="module")
def markdown(faulty: LoadedRun) -> str:
    return reports.build(RunReport(faulty, is_full=True), "md").decode()


@pytest.mark.parametrize(
    "sentence",
    [
        "rising, write: the sweep does not reach its peak: the rate still rises with 8 clients, its last point, to "
        "804 MB/s. The Universal Scalability Law finds no limit yet",
        "uneven, write: the sweep does not reach its peak: the last point has the highest rate, 399 MB/s with 8 "
        "clients. The medians do not follow the Universal Scalability Law; they deviate by 90 %.",
        "Node client03 is slow: it was the slowest in 96 of 96 phases whose nodes were not equally fast; among "
        "identical nodes",
        "All 24 phases are affected; this is the worst.",
        "after 3.00 times that time",
        "One rank had done 250 times the work of another when it came (least: rank 0 on client00",
        "Last to finish: rank 3 on client03",
        "15.0 MB/s, 50 % below the median of 6 repetitions. It is included in the median. 3 more outliers in the same",
        "is uncertain: 95 % interval 80.0 to 120 MB/s.",
        "**Remedy:** Repeat more often, or let the study decide (repetitions: until 10 %, at most 20).",
        "write: I/O stalled for 2.",
        "the rate fluctuated: a tenth of the time it was below ",
        "the rate declined by ",
        "falling, write: the servers' disks wrote 2.00 times what the clients wrote.",
        "**Remedy:** Extend the sweep beyond 8 clients, until the rate no longer rises.",
        "rising, 1 client, repetition 1, read: the servers' disks read 10 % of what the clients read; memory",
        "the disks were still writing 8.00 s after the phase: 819 MiB, 80 % of what the clients wrote.",
        "falling, read: the disks of oss1 read at least 9.00 times what those of the other servers did, in all 24 ",
        "read: client01 received 94 % of what its link of 1 Gbit/s carries.",
    ],
)
def test_findings_are_sentences_with_units(markdown: str, sentence: str) -> None:
    assert sentence in markdown


def test_every_format_shows_the_remedy_of_the_first_finding(faulty: LoadedRun, markdown: str) -> None:
    faulty = replace(faulty, samples=faulty.samples.clear())  # time lines take long to draw
    first = json.loads(reports.build(RunReport(faulty), "json"))["findings"][0]
    assert first["remedy"].endswith(".")
    shown = {
        "page": unescape(re.sub("<[^>]+>", "", reports.build(RunReport(faulty), "html").decode())),
        "Markdown": markdown,
        "terminal": terminal(faulty),
        "table": " ".join(findings(faulty)["remedy"]),
    }
    for format, text in shown.items():
        assert first["remedy"] in " ".join(text.split()), format


def test_a_sweep_that_falls_and_rises_again_has_its_highest_rate_not_at_its_last_point() -> None:
    builder = RunBuilder().clients(1, 2, 4).workload("w", "Shared")
    for clients, rate in ((1, 1.4e9), (2, 1.0e9), (4, 1.2e9)):
        builder.rates("w", "write", clients, rate)
    text = reports.build(RunReport(builder.build()), "md").decode()
    assert (
        "Shared, write: the sweep may not reach its peak: the rate rises again to the last point, 1200 MB/s with 4 "
        "clients; the highest is 1400 MB/s with 1 client." in text
    )


def test_a_rate_that_falls_from_the_first_point_on_has_not_levelled_off() -> None:
    builder = RunBuilder().clients(1, 2, 4, 8, 16).workload("w", "Shared")
    for clients in (1, 2, 4, 8, 16):
        builder.rates("w", "write", clients, 52e6 * clients / (1 + 2 * (clients - 1)))
    text = reports.build(RunReport(builder.build()), "md").decode()
    assert (
        "Shared, write: the rate does not scale: 52.0 MB/s with 1 client, 26.8 MB/s with 16 clients, its last "
        "point. The Universal Scalability Law finds no gain beyond 1 client (contention σ 200 %"
    ) in text


def test_a_drop_is_reported_with_its_time_and_both_rates(markdown: str) -> None:
    assert re.search(
        r"falling, \d clients?, repetition \d, write: after \S+ s the rate fell from \S+ MB/s to", markdown
    )


def test_the_page_links_each_finding_to_the_rows_of_all_its_measurements(faulty: LoadedRun) -> None:
    faulty = replace(faulty, samples=faulty.samples.clear())  # time lines take long to draw
    page = reports.build(RunReport(faulty), "html").decode()
    rows = set(re.findall(r'<tr id="(row-\d+)"', page))
    assert len(rows) == faulty.measurements.height
    section = page[page.index("<h2>Findings</h2>") :]
    section = section[: section.index("</section>")]
    links = re.findall(r'href="#(row-\d+)"', section)
    findings = json.loads(reports.build(RunReport(faulty), "json"))["findings"]
    assert len(links) == sum(len(finding["rests_on"]) for finding in findings)
    assert set(links) <= rows


def test_programs_get_the_evidence_of_every_kind_in_base_units(faulty: LoadedRun) -> None:
    document = json.loads(reports.build(RunReport(faulty), "json"))
    by_kind = {finding["kind"]: finding for finding in document["findings"]}
    of_runs = [kind for kind in Evidence.__subclasses__() if kind.__module__.startswith("ioassay.analysis.findings.")]
    # What other tools printed, and what servers counted, no run of the engine has by itself.
    imported_only = {PrintedScoreEvidence.kind, CountedBytesEvidence.kind, CounterClockEvidence.kind}
    assert set(by_kind) == {kind.kind for kind in of_runs} - imported_only
    assert by_kind["stragglers"]["evidence"]["worst"]["column"] == "rate_bytes_per_s"
    assert by_kind["peak"]["rests_on"][0].keys() == {"case", "phase", "job", "operation"}
    endless = next(finding for finding in document["findings"] if "finds no limit yet" in finding["sentence"])
    assert endless["evidence"]["sweep"]["fit"]["peak_at"]["estimate"] is None


def test_the_table_of_a_command_line_has_intervals_and_rates_at_the_stonewall_too(faulty: LoadedRun) -> None:
    typed = replace(faulty, document=faulty.document.model_copy(update={"origin": FrontEndOrigin(tool="ior")}))
    row = "| stopping | write | 8 | 198 MB/s, 195 to 208 MB/s, 396 MB/s at the stonewall |"
    assert row in reports.build(RunReport(typed), "md").decode()


def test_an_interval_is_explained_where_there_is_one() -> None:
    explained = "Below each median: its 95 % confidence interval,"
    several, single = (RunBuilder().workload("w").repetitions(count).build() for count in (3, 1))
    assert explained in reports.build(RunReport(several), "html").decode()
    assert explained not in reports.build(RunReport(single), "html").decode()


def test_a_peak_has_its_interval_and_its_rate_at_the_stonewall(faulty: LoadedRun, markdown: str) -> None:
    pattern = r"198 MB/s, 8 clients, 1\d\d to 2\d\d MB/s, 396 MB/s at the stonewall"
    assert re.search(pattern, markdown)
    rows = json.loads(reports.build(RunReport(faulty), "json"))["peak_sustained"]
    peak = next(row for row in rows if row["workload"] == "stopping")["series"][0]["peak"]
    assert peak["interval"]["confidence"] == 0.95
    assert peak["stonewall_rate_bytes_per_s"] == pytest.approx(2 * peak["rate_bytes_per_s"])

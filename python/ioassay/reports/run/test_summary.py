from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ioassay import reports
from ioassay.analysis.compare import measured_run
from ioassay.reports.compare import configuration
from ioassay.reports.compare.content import Side
from ioassay.reports.run import RunReport, pictures, summary
from ioassay.store.loaded import LoadedRun
from ioassay.testing.builder import RunBuilder
from ioassay.testing.faulty_run import faulty_run

WORDS = "a system that is to hold the data of a whole community for the next five years"


@pytest.fixture(scope="module")
def full() -> LoadedRun:
    """More of everything than fits: long names, many workloads, doubts of many kinds."""
    builder = RunBuilder().title(f"Acceptance of {WORDS}").clients(1, 2, 4).repetitions(3)
    for name in "abcdefgh":
        builder.workload(name, f"Sequential {name}, {WORDS}")
        for kind in ("short-phase", "finish-spread", "oversubscribed", "late-samples"):
            builder.doubt(f"{name}-c1-r1", "write", kind, "it was short", f"measure longer, on {WORDS}")
    run = builder.build()
    run.document.study.question = f"Does {WORDS} hold what was promised?"
    return run


def page(run: LoadedRun, *against: Side) -> str:
    return reports.page(RunReport(run, against).summary(), "html").decode()


def test_a_summary_has_the_peaks_the_warnings_and_how_far_to_trust_them() -> None:
    run = faulty_run()
    text = page(replace(run, samples=run.samples.clear()))
    for heading in ("Results", "Warnings", "Reliability"):
        assert f"<h2>{heading}</h2>" in text
    assert "does not reach its peak" in text
    assert text.count("<tr>") > 2


def test_content_that_does_not_fit_is_counted(full: LoadedRun) -> None:
    text = page(full)
    assert f"{8 - summary.MOST_ROWS} more workloads in the report." in text
    assert "3 more doubts in the report." in text
    assert text.count("<figure") <= pictures.FIRST


def test_letters_of_doubts_that_nothing_explains_stand_nowhere(full: LoadedRun) -> None:
    text = page(full)
    assert "#doubt-" not in text


def test_a_comparison_is_summed_up_too_differences_first() -> None:
    builders = [RunBuilder().clients(1, 8, 64).repetitions(5).workload("first", "First") for _ in range(2)]
    run = builders[0].workload("seq", "Sequential", write=8e9).build()
    other = builders[1].workload("seq", "Sequential", write=16e9).build()
    side = Side(measured_run.subject(other, "after"), configuration.run_facts(other.document))
    assert "<h2>after against this run</h2>" in page(run, side)
    faster = page(run, side).index("after measured up to 2.00 times as fast as this run")
    assert faster < page(run, side).index("No significant difference between")


def test_a_run_that_did_not_end_says_so_first() -> None:
    text = page(RunBuilder().workload("w").clients(1, 2, 4).stop_after(1).build())
    assert text.index("The run was interrupted.") < text.index("Results")
    nothing = page(RunBuilder().workload("w").stop_after(0, "failed", "No space left on device.").build())
    assert "Nothing was measured." in nothing


@pytest.mark.usefixtures("browser")
def test_a_summary_with_long_names_and_many_findings_fits_on_one_page_of_paper(full: LoadedRun) -> None:
    side = Side(measured_run.subject(full, "after"), configuration.run_facts(full.document))
    printed = reports.page(RunReport(full, [side]).summary(), "pdf")
    assert len(re.findall(rb"/Type /Page\b", printed)) == 1

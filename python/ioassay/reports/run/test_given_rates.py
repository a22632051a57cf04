from __future__ import annotations

from ioassay import reports
from ioassay.analysis.test_given_rates import paced_reads
from ioassay.reports.run import RunReport
from ioassay.reports.run.content import assemble
from ioassay.reports.run.summary import key_results
from ioassay.store.loaded import LoadedRun


def test_a_given_rate_is_reported_as_kept_with_latencies_and_has_no_peak() -> None:
    text = reports.build(RunReport(paced_reads(100_000_000)), "md").decode()
    table = text[text.index("Phases with a rate limit or pauses") :]
    assert "| read | 1 client | 100 MB/s | 100 MB/s |" in table
    assert "no valid read" not in text


def test_the_key_result_says_what_was_kept_and_the_latency() -> None:
    sentences = [result.text for result in key_results(assemble(paced_reads(100_000_000)))]
    assert any("read, 8 clients: reached 100 of 100 MB/s, p99 latency " in text for text in sentences)


def test_the_reached_rate_is_reported_where_the_requested_one_is_unknown() -> None:
    run: LoadedRun = paced_reads()
    assert any(
        "reached 100 MB/s at the pace that the study sets" in result.text for result in key_results(assemble(run))
    )

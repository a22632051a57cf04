from __future__ import annotations

import json as plain
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from junitparser import Failure, JUnitXml, Skipped, TestCase

from ioassay.analysis.acceptance import Judgement, judge
from ioassay.analysis.compare import measured_run
from ioassay.analysis.compare.ratios import compare
from ioassay.analysis.compare.subject import Subject
from ioassay.analysis.regression import regressions
from ioassay.analysis.test_feeding import swept
from ioassay.analysis.test_given_rates import paced_reads
from ioassay.analysis.test_training import MS
from ioassay.criteria.model import LIMITS, Criteria
from ioassay.criteria.verdicts import check
from ioassay.reports import json_text
from ioassay.reports.check import junit
from ioassay.reports.check.document import counted
from ioassay.reports.check.junit import Suite
from ioassay.reports.check.lines import Line, accepted, baseline_verdicts, criterion_verdict, data, study_verdict
from ioassay.testing.builder import RunBuilder


def line(judgement: Judgement, says: str = "1.00 GB/s & <more>") -> Line:
    return Line("Sequential 1.5 MiB, write", "8 clients", judgement, says)


def a_run() -> RunBuilder:
    return RunBuilder().workload("seq", "Sequential").clients(8).repetitions(2)


def cases(xml: bytes) -> list[TestCase]:
    (suite,) = JUnitXml.fromstring(xml)
    return list(suite)


def test_nothing_is_accepted_that_could_not_be_judged() -> None:
    assert accepted([line("passed"), line("not judged")])
    assert not accepted([line("not judged")])
    assert not accepted([])
    assert not accepted([line("passed"), line("failed")])


def test_a_baseline_of_which_nothing_could_be_judged_fails() -> None:
    (verdict_line,) = baseline_verdicts([], Subject("before", "run", ()), 0.05)
    assert (verdict_line.group, verdict_line.judgement, verdict_line.says) == (
        "baseline",
        "failed",
        "no criterion could be judged, so the run is not accepted",
    )


def test_a_series_at_a_given_rate_is_not_judged_against_a_baseline() -> None:
    before, run = (measured_run.subject(paced_reads(), name) for name in ("before", "run"))
    lines = baseline_verdicts(regressions(compare(before, run), 0.05), before, 0.05)
    (verdict_line,) = (line for line in lines if line.group.endswith(", read"))
    assert (verdict_line.judgement, "`ioassay compare` shows the rates that were kept" in verdict_line.says) == (
        "not judged",
        True,
    )
    assert accepted(lines)


def baseline_lines(*factors: float, scatter: float = 0.05) -> list[Line]:
    """A check of writes at points of 1, 2, … clients against a baseline, of which each is so many times as fast.

    `scatter`: how far the slowest and fastest of three repetitions are from the second.
    """
    clients = tuple(range(1, len(factors) + 1))
    subjects = []
    for run in (False, True):
        builder = RunBuilder().workload("seq", "Sequential").clients(*clients).repetitions(3)
        for count, factor in zip(clients, factors, strict=True):
            rates = (1e9 * of_middle * (factor if run else 1) for of_middle in (1, 1 + scatter, 1 - scatter))
            builder.rates("seq", "write", count, *rates)
        subjects.append(measured_run.subject(builder.build(), "run" if run else "before"))
    lines = baseline_verdicts(regressions(compare(*subjects), 0.05), subjects[0], 0.05)
    return [line for line in lines if "write" in line.group]


def test_a_point_says_the_smallest_detectable_drop_or_how_rarely_chance_explains_it() -> None:
    unchanged, slow, uncertain = baseline_lines(1.0, 0.6, 0.93)
    assert unchanged.smallest_detectable_drop is not None
    assert re.search(r"; smallest detectable drop: [\d.]+ %", unchanged.says)
    assert (slow.judgement, uncertain.judgement) == ("failed", "not judged")
    assert re.search(r"; chance alone does this in <?[\d.]+ % of runs of 6 points", slow.says)
    assert "; may be chance among" in uncertain.says
    assert any(
        "Smallest detectable drop against the baseline: " in str(paragraph.text)
        for paragraph in counted([unchanged, uncertain])
    )


def test_a_point_of_which_a_loss_of_half_could_be_missed_is_not_judged_and_says_what_to_do() -> None:
    (wild,) = baseline_lines(1.0, scatter=0.6)
    assert wild.judgement == "not judged"
    assert re.search(r"; smallest detectable drop: \d\d %, too large for a verdict: add more repetitions$", wild.says)


def test_a_criterion_of_the_study_that_cannot_be_judged_fails_and_says_why() -> None:
    run = a_run().criterion("rate", unit="bytes/s", of="seq", operation="write", at_least=1e6).stop_after(1).build()
    (verdict_line,) = (study_verdict(verdict, run) for verdict in judge(run))
    assert (verdict_line.group, verdict_line.name, verdict_line.judgement) == ("Sequential, write", "rate", "failed")
    assert "at least 1 MB/s; 1 of 2 phases has no valid measurement (the tender asks for it)" in verdict_line.says


def test_a_criterion_says_its_numbers_in_words_and_as_numbers() -> None:
    run = a_run().rates("seq", "write", 8, 2e9, 2e9).build()
    wanted = {"name": "contract", "operation": "write", "peak": "3GB/s", "because": "it was bought so"}
    (verdict_line,) = map(criterion_verdict, check(run, Criteria.model_validate({"criteria": [wanted]}).criteria))
    assert verdict_line.says == "2.00 GB/s, at least 3 GB/s (it was bought so)"
    assert verdict_line.value == pytest.approx(2e9)
    assert (verdict_line.at_least, verdict_line.at_most, verdict_line.unit) == (3e9, None, "bytes/s")


@pytest.mark.parametrize(
    ("criterion", "reason"),
    [
        ({"order": "sequentail"}, "it matches no series of this run"),
        ({"from_clients": "9"}, "there is no valid measurement to judge"),
        ({}, "1 phase without a valid measurement"),
    ],
)
def test_a_criterion_says_why_what_was_measured_is_not_enough(criterion: dict[str, str], reason: str) -> None:
    run = a_run().doubt("seq-c8-r2", "write", "failed", invalidates=True).build()
    wanted = {"name": "contract", "operation": "write", "peak": "1MB/s"} | criterion
    (line,) = map(criterion_verdict, check(run, Criteria.model_validate({"criteria": [wanted]}).criteria))
    assert (line.judgement, line.says.split("; ")[1]) == ("failed", reason)


@pytest.mark.parametrize("limit", LIMITS)
def test_every_limit_of_a_criterion_is_judged_and_has_words(limit: str) -> None:
    examples = {"slow_samples": "3%", "p99_latency": "1s", "slowest_operation": "1s"}
    examples |= {"utilisation": "70 %", "accelerators": "4"}
    is_of_training = limit in ("utilisation", "accelerators")
    run = swept({1: 240 * MS, 2: 236 * MS, 4: 228 * MS, 8: 180 * MS}) if is_of_training else a_run().build()
    wanted = {
        "name": "contract",
        "operation": "step" if is_of_training else "write",
        limit: examples.get(limit, "1GB/s"),
    }
    wanted |= {"phase": "epoch-1"} if is_of_training else {}
    (line,) = map(criterion_verdict, check(run, Criteria.model_validate({"criteria": [wanted]}).criteria))
    assert line.name
    assert line.value is not None
    assert (line.at_least is None) != (line.at_most is None)


def test_a_verdict_names_the_doubts_about_what_it_rests_on() -> None:
    builder = a_run().criterion("rate", unit="bytes/s", of="seq", operation="read", at_least=1)
    run = builder.doubt("seq-c8-r2", "read", "cache-resident").doubt("seq-c8-r1", "write", "short-phase").build()
    wanted = Criteria.model_validate({"criteria": [{"name": "one", "operation": "read", "every_point": "1MB/s"}]})
    for verdict_line in (
        *(study_verdict(verdict, run) for verdict in judge(run)),
        *map(criterion_verdict, check(run, wanted.criteria)),
    ):
        assert verdict_line.doubts == ("cache-resident",)
        assert verdict_line.says.endswith("; doubted: cache-resident")


def test_junit_has_a_case_for_each_verdict_with_what_it_says() -> None:
    lines = [line("passed"), line("failed"), line("not judged")]
    xml = junit.document(Suite("ioassay check seq", lines, {"run": "20261122-061500-seq"}))
    (suite,) = JUnitXml.fromstring(xml)
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (3, 1, 0, 1)
    properties = {known.get("name"): known.get("value") for known in ElementTree.fromstring(xml).iter("property")}
    assert properties == {"run": "20261122-061500-seq"}
    passed, failed, skipped = suite
    assert (passed.result, passed.system_out) == ([], line("passed").says)
    # Jenkins shows the message of a failure, GitLab its text.
    for case, kind in ((failed, Failure), (skipped, Skipped)):
        (result,) = case.result
        assert isinstance(result, kind)
        assert (result.message, result.text) == (line("failed").says, line("failed").says)


def test_jenkins_takes_the_suite_for_a_package_and_no_other_dot_for_the_end_of_one() -> None:
    (case,) = cases(junit.document(Suite("ioassay check seq on /mnt/v1.2", [line("passed")])))
    assert case.classname.rpartition(".") == ("ioassay check seq on /mnt/v1_2", ".", "Sequential 1_5 MiB, write")


def test_junit_has_a_failure_where_nothing_could_be_judged_as_the_exit_code_says() -> None:
    xml = junit.document(Suite("ioassay check seq", [line("not judged")]))
    assert [[type(result) for result in case.result] for case in cases(xml)] == [[Skipped], [Failure]]


def test_junit_is_xml_whatever_stands_in_a_name() -> None:
    odd = replace(line("failed", "\x1b[1m of \udcff\x00"), group="\ufffe", name="\x08")
    (case,) = cases(junit.document(Suite("\x01", [odd], {"target": "/mnt/\udcff\x01"})))
    assert (case.name, case.result[0].message) == ("\\x08", "\\x1b[1m of \\udcff\\x00")


def test_a_verdict_that_could_not_be_given_is_an_error_in_junit() -> None:
    (suite,) = JUnitXml.fromstring(junit.refusal("ioassay check", "x is not a run directory.\nName one."))
    assert (suite.tests, suite.errors) == (1, 1)
    assert next(iter(suite)).result[0].text == "x is not a run directory.\nName one."


def test_the_document_says_whether_the_run_is_accepted() -> None:
    document = a_run().build().document
    loads = plain.loads(json_text(data(document, [line("failed")])))
    assert (loads["accepted"], loads["checks"][0]["judgement"], loads["study"]) == (
        False,
        "failed",
        document.study.name,
    )

from __future__ import annotations

import json as plain
from xml.etree import ElementTree

from ioassay.analysis.acceptance import Judgement
from ioassay.reports.check import json, junit
from ioassay.reports.check.lines import Line, accepted


def line(judgement: Judgement, says: str = "1.00 GB/s & <more>") -> Line:
    return Line("Sequential, write", "8 clients", judgement, says)


def test_nothing_is_accepted_that_could_not_be_judged() -> None:
    assert accepted([line("passed"), line("not judged")])
    assert not accepted([line("not judged")])
    assert not accepted([])
    assert not accepted([line("passed"), line("failed")])


def test_junit_has_a_case_for_each_verdict_with_what_it_says() -> None:
    lines = [line("passed"), line("failed"), line("not judged")]
    suite = ElementTree.fromstring(junit.document("mine", lines)).find("testsuite")
    assert suite is not None
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["3", "1", "1"]
    passed, failed, skipped = suite.findall("testcase")
    assert passed.findtext("system-out") == lines[0].says
    told = [case.find(tag) for case, tag in ((failed, "failure"), (skipped, "skipped"))]
    assert [one.get("message") for one in told if one is not None] == [lines[1].says, lines[2].says]
    assert failed.get("classname") == "ioassay.Sequential, write"


def test_the_document_says_whether_the_run_is_accepted() -> None:
    document = plain.loads(json.document("mine", [line("failed")]))
    assert (document["accepted"], document["checks"][0]["judgement"]) == (False, "failed")

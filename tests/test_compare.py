"""`ioassay compare` and `ioassay check`: output, files and exit codes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ioassay.testing.builder import RunBuilder
from ioassay.testing.stored import store

from .support import ioassay

CRITERIA = """\
criteria:
  - name: sequential-write
    operation: write
    layout: N-N
    from_clients: 8
    sustained: LIMIT
"""


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A directory with the runs `before` and `after`, of which the second reads half as fast."""
    for name, read in (("before", 8e9), ("after", 4e9)):
        builder = RunBuilder().clients(1, 8).repetitions(5).workload("seq", "Sequential", write=4e9, read=read)
        store(builder.build(), tmp_path / name)
    return tmp_path


def test_two_runs_and_a_published_system_are_compared_on_the_terminal(runs: Path) -> None:
    code, out, err = ioassay("compare", "before", "after", "isilon-f800", directory=runs)
    assert (code, err) == (0, "")
    message = " ".join(out.split())
    assert "before is up to 2.00 times as fast as after in Sequential, read" in message
    assert "No significant difference between after and before in Sequential, write." in message
    assert "isilon-f800, different conditions: tool IOR against ioassay of before." in message
    assert "Configuration differences" in message


def test_a_comparison_is_written_in_every_format(runs: Path) -> None:
    code, printed, err = ioassay("compare", "before", "after", "--json", directory=runs)
    assert (code, err) == (0, "")
    ratios = json.loads(printed)["ratios"]
    code, table, _ = ioassay("compare", "before", "after", "--format", "csv", directory=runs)
    assert code == 0
    assert [float(row["ratio"]) for row in csv.DictReader(io.StringIO(table))] == [ratio["ratio"] for ratio in ratios]
    for form in ("html", "md"):
        code, out, err = ioassay("compare", "before", "after", "--format", form, "-o", f"it.{form}", directory=runs)
        assert (code, out, err) == (0, "", f"it.{form}\n")
        assert "after against before" in (runs / f"it.{form}").read_text()


def test_a_comparison_is_printed_through_a_browser(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compare = ("compare", "before", "after", "--format", "pdf")
    code, out, err = ioassay(*compare, directory=runs)
    assert (code, out) == (2, "")
    assert "--format pdf is written to a file.\n  Add -o FILE." in err
    browser = runs / "browser"
    browser.write_text(
        "#!/bin/sh\n"
        'for it; do case $it in --print-to-pdf=*) into=${it#*=} ;; file://*) cp "${it#file://}" "$into"; esac; done\n'
    )
    browser.chmod(0o755)
    monkeypatch.setenv("IOASSAY_BROWSER", str(browser))
    code, out, err = ioassay(*compare, "-o", "it.pdf", directory=runs)
    assert (code, out, err) == (0, "", "it.pdf\n")
    assert "after against before" in (runs / "it.pdf").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "before"], "ioassay compare A B"),
        (["compare", "before", "isilon-f80"], "did you mean `isilon-f800`?"),
        (["compare", "before", "./absent"], "There is no ./absent."),
        (["compare", "before", "criteria.yaml"], "criteria.yaml:"),
        (["compare", "before", "empty"], "is not a run directory"),
        (["compare", "before", "after", "--format", "docx"], "Use one of html, pdf, md, csv, json."),
        (["compare", "before", "after", "--format", "html"], "Add -o FILE."),
        (["compare", "before", "after", "--json", "--format", "md"], "contradict"),
        (["compare", "before", "after", "-o", "it"], "-o it names no format."),
        (["check", "before"], "Add --baseline RUN, --criteria FILE, or both."),
        (["check", "before", "--tolerance", "5"], "--tolerance: "),
        (["check", "before", "--baseline", "isilon-f800"], "no repetitions"),
        (["check", "before", "--baseline", "after", "--tolerance", "5"], "--tolerance: "),
        (["check", "after", "--baseline", "before", "--although", "sync"], "not a condition; did you mean `fsync`?"),
        (
            ["check", "after", "--baseline", "before", "--although", "x"],
            "use one of `tool`, `layout`, `order`, `transfer`",
        ),
        (["check", "before", "--although", "fsync"], "Add --baseline RUN."),
        (["check", "before", "--criteria", "criteria.yaml"], "criteria.yaml:6: criteria[0].sustained"),
    ],
)
def test_wrong_input_is_refused(arguments: list[str], message: str, runs: Path) -> None:
    (runs / "empty").mkdir()
    (runs / "criteria.yaml").write_text(CRITERIA.replace("LIMIT", "fast"))
    code, out, err = ioassay(*arguments, directory=runs)
    assert (code, out) == (2, "")
    assert message in err


def test_a_check_that_is_not_possible_is_an_error_in_junit_too(runs: Path) -> None:
    code, _, err = ioassay("check", "absent", "--baseline", "before", "--junit", "junit.xml", directory=runs)
    (error,) = ElementTree.parse(runs / "junit.xml").findall(".//error")
    assert code == 2
    assert (error.text or "").splitlines()[0] in err


def test_a_run_that_became_slower_exits_with_1_and_junit_names_each_point(runs: Path) -> None:
    code, out, err = ioassay("check", "after", "--baseline", "before", "--junit", "ci/junit.xml", directory=runs)
    assert (code, err) == (1, "")
    assert "4 checks: 2 failed, 2 passed." in out
    cases = ElementTree.parse(runs / "ci/junit.xml").findall(".//testcase")
    failed = [(case.get("classname"), case.get("name")) for case in cases if case.find("failure") is not None]
    series = "ioassay check example on /mnt/store/iotest.Sequential, read"
    assert failed == [(series, "1 client"), (series, "8 clients")]
    code, _, _ = ioassay("check", "before", "--baseline", "after", directory=runs)
    assert code == 0


def test_a_run_is_judged_by_its_own_study_by_default(runs: Path) -> None:
    builder = RunBuilder().workload("seq", "Sequential", write=4e9).criterion("rate", unit="bytes/s", at_least=1e12)
    store(builder.build(), runs / "slow")
    code, out, err = ioassay("check", "slow", directory=runs)
    assert (code, err) == (1, "")
    assert "failed  all workloads, rate: " in out


@pytest.mark.parametrize(("limit", "code"), [("3GB/s", 0), ("4GB/s", 1)])
def test_criteria_in_a_file_are_judged(limit: str, code: int, runs: Path) -> None:
    (runs / "criteria.yaml").write_text(CRITERIA.replace("LIMIT", limit))
    exited, out, err = ioassay("check", "before", "--criteria", "criteria.yaml", "--json", directory=runs)
    assert (exited, err) == (code, "")
    assert json.loads(out)["accepted"] is (code == 0)

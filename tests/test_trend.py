"""`ioassay trend`: output, files and exit codes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ioassay.testing.builder import RunBuilder
from ioassay.testing.nightly_runs import night
from ioassay.testing.stored import store

from .support import ioassay, measure, study, workload

NIGHTS = [f"night-{number}" for number in range(7)]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A directory with seven runs, in the last of which reads are half as fast."""
    for number, name in enumerate(NIGHTS):
        scatter = 1 + 0.01 * (number * 3 % 4)
        read = 4e9 if name == NIGHTS[-1] else 8e9 * scatter
        builder = RunBuilder().clients(1, 8).repetitions(5).workload("seq", "Sequential", write=4e9, read=read)
        store(night(number, builder), tmp_path / name)
    return tmp_path


def test_a_latest_run_that_declined_exits_with_1_and_junit_names_each_point(runs: Path) -> None:
    code, out, err = ioassay("trend", *NIGHTS, "--junit", "ci/junit.xml", directory=runs)
    assert (code, err) == (1, "")
    message = " ".join(out.split())
    assert "Sequential, read at 8 clients fell by 5" in message
    assert "4 checks: 2 failed, 2 passed." in message
    suite = ElementTree.parse(runs / "ci/junit.xml").find("testsuite")
    assert suite is not None
    assert suite.get("name") == "ioassay trend example on /mnt/store/iotest"
    failed = [(case.get("classname"), case.get("name")) for case in suite if case.find("failure") is not None]
    series = f"{suite.get('name')}.Sequential, read"
    assert failed == [(series, "1 client"), (series, "8 clients")]


def test_steady_runs_and_tolerated_losses_exit_with_0(runs: Path) -> None:
    code, out, _ = ioassay("trend", *NIGHTS[:-1], directory=runs)
    assert code == 0
    assert "4 checks: 4 passed." in out
    code, _, _ = ioassay("trend", *NIGHTS, "--tolerance", "60%", directory=runs)
    assert code == 0


def test_too_few_runs_are_not_accepted(runs: Path) -> None:
    code, out, _ = ioassay("trend", *NIGHTS[:3], "--junit", "junit.xml", directory=runs)
    assert code == 1
    assert "No criterion could be judged, so the run is not accepted." in out
    assert len(ElementTree.parse(runs / "junit.xml").findall(".//failure")) == 1


def test_a_trend_is_written_in_every_format_with_the_same_exit_code(runs: Path) -> None:
    code, printed, err = ioassay("trend", *NIGHTS, "--json", directory=runs)
    assert (code, err) == (1, "")
    points = json.loads(printed)["points"]
    code, table, _ = ioassay("trend", *NIGHTS, "--format", "csv", directory=runs)
    assert code == 1
    rates = [run["rate"] for point in points for run in point["runs"]]
    assert [float(row["rate"]) for row in csv.DictReader(io.StringIO(table))] == rates
    for form in ("html", "md"):
        code, out, err = ioassay("trend", *NIGHTS, "--format", form, "-o", f"it.{form}", directory=runs)
        assert (code, out, err) == (1, "", f"it.{form}\n")
        assert "example on /mnt/store/iotest" in (runs / f"it.{form}").read_text()


def test_a_run_that_is_named_twice_counts_once(runs: Path) -> None:
    code, printed, _ = ioassay("trend", *NIGHTS[:-1], *(runs / name for name in NIGHTS), "--json", directory=runs)
    assert code == 1
    assert {len(point["runs"]) for point in json.loads(printed)["points"]} == {len(NIGHTS)}


def test_an_output_that_is_no_regular_file_is_written_to_and_not_replaced(runs: Path) -> None:
    (runs / "null").symlink_to("/dev/null")
    code, out, _ = ioassay("trend", *NIGHTS[:-1], "--format", "md", "-o", "null", "--junit", "null", directory=runs)
    assert (code, out) == (0, "")
    assert (runs / "null").is_symlink()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument"),
        (["night-0"], "night-0 is left out: it is the only run of example on /mnt/store/iotest."),
        (["night-0", "night-0"], "A trend needs two runs of the same study and target"),
        (["night-0", "absent"], "absent"),
        (["night-0", "empty"], "is not a run directory"),
        (["night-0", "night-1", "--tolerance", "5"], "--tolerance: "),
        (["night-0", "night-1", "--format", "docx"], "Use one of html, pdf, md, csv, json."),
        (["night-0", "night-1", "--format", "html"], "Add -o FILE."),
    ],
)
def test_wrong_arguments_are_refused(arguments: list[str], message: str, runs: Path) -> None:
    (runs / "empty").mkdir()
    code, out, err = ioassay("trend", *arguments, directory=runs)
    assert (code, out) == (2, "")
    assert message in err


def test_runs_of_the_engine_are_joined_except_those_of_a_changed_study(tmp_path: Path, target: Path) -> None:
    for number in range(5):
        transfer = "32KiB" if number == 0 else "64KiB"
        measure(study(tmp_path / str(number), workload("seq", transfer=transfer)), target, tmp_path / f"run-{number}")
    code, printed, err = ioassay("trend", *(f"run-{number}" for number in range(5)), "--json", directory=tmp_path)
    assert (code, err) == (1, "")  # four alike are too few to judge
    points = json.loads(printed)["points"]
    assert [point["operation"] for point in points] == ["write", "read"]
    for point in points:
        assert [run["run"] for run in point["runs"]] == [f"run-{number}" for number in range(1, 5)]
        assert [left_out_run["run"] for left_out_run in point["left_out"]] == ["run-0"]
        assert point["reason"] == "too few runs"

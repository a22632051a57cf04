"""`ioassay import` end to end: real result files become runs that `ioassay report` takes."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from ioassay.store.run_directory import load
from ioassay.testing.importer_samples import FILES
from tests.support import ioassay


def test_a_directory_of_ior_results_becomes_a_run_that_can_be_reported(tmp_path: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(FILES / "ior", results)
    code, _, stderr = ioassay("import", "ior", results, "--out", tmp_path / "run")
    assert code == 1  # for the CSV without separators, and times that are none
    assert "3.2.1.csv:2: is the CSV of IOR 3.2.1" in stderr
    assert "ior-4.1-times-are-the-unix-clock.txt:35: has 1795860000 s" in stderr
    run = load(tmp_path / "run")
    assert run.document.imported is not None
    assert len(run.document.imported.files) == len(list(results.iterdir())) - 2
    assert run.sources.height == run.measurements.height
    # The table of ranks was read with the output that names it, and is not reported twice.
    assert not run.sources["file"].str.ends_with("4.0.0-ranks.csv").any()
    for form in ("html", "md", "csv", "json"):
        code, _, stderr = ioassay("report", tmp_path / "run", "--format", form, "-o", tmp_path / f"report.{form}")
        assert code == 0, stderr
    text = (tmp_path / "report.md").read_text()
    assert "ioassay read them from its output and did not measure anything" in text


def test_an_import_shows_the_main_rates_with_their_doubts(tmp_path: Path) -> None:
    code, stdout, _ = ioassay("import", "ior", FILES / "ior/2.10.3-plain.txt", "--out", tmp_path / "run")
    assert code == 0
    assert re.search(r" write +4 +6\.59 GB/s d +1 *\n.* read +4 +24\.7 GB/s c ", stdout.replace("\u00a0", " "), re.S)
    assert "  c  1 of 2 measurements: may have been read from the page cache" in stdout
    assert "  d  1 of 2 measurements: no fsync" in stdout


@pytest.mark.parametrize("name", ["script-2019", "program-2025", "product-2017"])
def test_an_io500_submission_becomes_a_run_with_its_score(tmp_path: Path, name: str) -> None:
    code, stdout, stderr = ioassay("import", "io500", FILES / "io500" / name, "--out", tmp_path / "run", "--json")
    assert code == 0, stderr
    (summary,) = json.loads(stdout)["runs"]
    assert summary["measurements"] in (12, 13)
    scores = {score["name"]: score for score in summary["scores"]}
    assert list(scores) == ["bandwidth", "metadata", "total"]
    for score in scores.values():
        assert score["follows"] == (score["lowest"] * 0.999 < score["printed"] < score["highest"] * 1.001)
    assert scores["total"]["follows"] == (name != "product-2017"), "lists of 2017 print the product of both means"
    code, report, stderr = ioassay("report", tmp_path / "run", "--format", "md")
    assert code == 0, stderr
    assert "IO500 score" in report


def test_several_submissions_become_a_run_each_below_the_directory(tmp_path: Path) -> None:
    code, stdout, stderr = ioassay("import", "io500", FILES / "io500", "--out", tmp_path / "runs")
    assert code == 0, stderr
    totals = {line.rpartition("/")[2].partition(":")[0]: line for line in stdout.splitlines()}
    assert re.search(r", score [0-9.]+$", totals["program-2025"])
    assert re.search(r", score [0-9.]+ \(from its phases follows [0-9.]+\)$", totals["product-2017"])
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        "product-2017",
        "program-2025",
        "script-2019",
    ]


def test_nothing_to_import_is_bad_input_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "page.txt").write_text("<html></html>")
    code, _, stderr = ioassay("import", "mdtest", tmp_path / "page.txt", "--out", tmp_path / "run")
    assert code == 2
    assert "is a web page or XML" in stderr
    assert not (tmp_path / "run").exists()


def test_only_some_of_many_unusable_files_are_named(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"page-{number:03}.txt").write_text("<html></html>" if number % 3 else "")
    code, stdout, stderr = ioassay("import", "fio", tmp_path, "--out", tmp_path / "run", "--json")
    assert code == 2
    lines = stderr.splitlines()
    assert len(lines) < 30
    assert "ioassay: 187 more files: is a web page or XML, not what the tool printed" in lines
    assert "ioassay: 93 more files: is empty" in lines
    assert "300 files not imported." in lines
    assert len(json.loads(stdout)["refused"]) == 300


def test_a_copy_of_a_file_is_no_repetition(tmp_path: Path) -> None:
    for name in ("a.txt", "copy.txt"):
        shutil.copy(FILES / "ior" / "4.0.0-verbose2.json", tmp_path / name)
    code, _, stderr = ioassay("import", "ior", tmp_path, "--out", tmp_path / "run")
    assert code == 1
    assert f"copy.txt: is a copy of {tmp_path / 'a.txt'}" in stderr
    once, _, _ = ioassay("import", "ior", tmp_path / "a.txt", "--out", tmp_path / "once")
    assert once == 0
    assert load(tmp_path / "run").measurements.height == load(tmp_path / "once").measurements.height


def test_a_run_is_named_after_a_file_that_gave_results(tmp_path: Path) -> None:
    (tmp_path / "page.txt").write_text("<html></html>")
    code, _, _ = ioassay(
        "import", "fio", tmp_path / "page.txt", FILES / "fio/fio-3.33-verify.json", "--out", tmp_path / "run"
    )
    assert code == 1
    assert load(tmp_path / "run").document.run == "fio-fio-3.33-verify.json"


def test_an_unknown_tool_is_refused_with_the_known_tools(tmp_path: Path) -> None:
    code, _, stderr = ioassay("import", "bonnie", tmp_path)
    assert code == 2
    assert "ior, mdtest, io500" in stderr


def test_a_missing_path_and_an_existing_run_directory_are_reported_first(tmp_path: Path) -> None:
    _, _, stderr = ioassay("import", "ior", tmp_path / "nowhere")
    assert "does not exist" in stderr
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("mine")
    code, _, stderr = ioassay("import", "ior", FILES / "ior", "--out", tmp_path / "taken")
    assert code == 2
    assert "is not empty" in stderr


def test_a_link_is_imported_if_typed_and_only_named_within_a_tree(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    link = tmp_path / "tree" / "latest.txt"
    link.symlink_to(FILES / "ior" / "2.10.3-plain.txt")
    code, _, stderr = ioassay("import", "ior", link, "--out", tmp_path / "typed")
    assert code == 0, stderr
    code, _, stderr = ioassay("import", "ior", tmp_path / "tree", "--out", tmp_path / "found")
    assert code == 2
    assert f"{link}: is a symbolic link, which is not followed" in stderr

from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.cli.report import report
from ioassay.errors import CannotRun, UsageError
from ioassay.store.kinds import RUN
from ioassay.store.run_files import DOCUMENT
from ioassay.testing.builder import RunBuilder
from ioassay.testing.stored import store


def _stored(path: Path) -> Path:
    return store(RunBuilder().workload("w").clients(1, 2).build(), path)


def test_html_goes_beside_the_run_and_is_the_same_every_time(tmp_path: Path) -> None:
    run = _stored(tmp_path / "run")
    report([run])
    once = (run / "report.html").read_bytes()
    report([run])
    assert (run / "report.html").read_bytes() == once
    assert str(tmp_path).encode() not in once


def test_a_run_that_moved_gives_the_same_report(tmp_path: Path) -> None:
    run = _stored(tmp_path / "run")
    report([run])
    moved = run.rename(tmp_path / "elsewhere")
    report([moved], output=tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == (moved / "report.html").read_bytes()


def test_a_pdf_goes_beside_the_run_and_takes_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = _stored(tmp_path / "run")
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\nfor it; do case $it in --print-to-pdf=*) echo %PDF > "${it#*=}" ;; esac; done\n')
    browser.chmod(0o755)
    monkeypatch.setenv("IOASSAY_BROWSER", str(browser))
    report([run], form="pdf")
    assert (run / "report.pdf").read_bytes() == b"%PDF\n"
    browser.unlink()
    with pytest.raises(CannotRun, match="IOASSAY_BROWSER"):
        report([run], form="pdf")
    assert (run / "report.pdf").exists()


def test_the_other_formats_go_to_standard_output(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    report([_stored(tmp_path / "run")], form="csv")
    assert capsysbinary.readouterr().out.startswith(b"case,phase,job,operation,workload")


def test_a_report_is_short_unless_all_is_asked_for(tmp_path: Path) -> None:
    run = _stored(tmp_path / "run")
    report([run], output=tmp_path / "short.md")
    report([run], output=tmp_path / "full.md", full=True)
    short, full = ((tmp_path / name).read_text() for name in ("short.md", "full.md"))
    assert "w: every measurement" not in short
    assert "`ioassay report RUN --full` has all measurements" in short
    assert "w: every measurement" in full
    with pytest.raises(UsageError, match="A summary is not the full report"):
        report([run], summary=True, full=True)


def test_the_suffix_of_the_file_names_the_format(tmp_path: Path) -> None:
    run = _stored(tmp_path / "run")
    report([run], output=tmp_path / "it.md")
    assert (tmp_path / "it.md").read_text().startswith("# ")
    with pytest.raises(UsageError, match="contradict"):
        report([run], output=tmp_path / "it.csv", form="md")
    with pytest.raises(UsageError, match="summary cannot be written as md"):
        report([run], output=tmp_path / "it.md", summary=True)


def test_a_directory_may_be_called_like_a_file(tmp_path: Path) -> None:
    (tmp_path / "reports.md").mkdir()
    report([_stored(tmp_path / "run")], output=tmp_path / "reports.md", form="csv")
    assert (tmp_path / "reports.md/run.csv").exists()


def test_several_runs_go_into_a_directory(tmp_path: Path) -> None:
    report([_stored(tmp_path / "a"), _stored(tmp_path / "b")], output=tmp_path / "out", form="md")
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["a.md", "b.md"]


def test_several_runs_cannot_share_a_file_or_standard_output(tmp_path: Path) -> None:
    runs = [_stored(tmp_path / "a"), _stored(tmp_path / "b")]
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file"):
        report(runs, output=tmp_path / "file")
    with pytest.raises(UsageError, match="standard output"):
        report(runs, form="json")


def test_an_unknown_format_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="docx") as error:
        report([tmp_path], form="docx")
    assert error.value.remedy == "Use one of html, pdf, md, csv, json."


def test_a_directory_that_is_no_run_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a run directory"):
        report([tmp_path])


def test_a_missing_table_and_a_newer_version_are_usage_errors(tmp_path: Path) -> None:
    run = _stored(tmp_path / "run")
    (run / "samples.parquet").unlink()
    with pytest.raises(UsageError, match="missing"):
        report([run])
    document = run / DOCUMENT
    document.write_text(document.read_text().replace(f'"version": {RUN.version}', '"version": 99', 1))
    with pytest.raises(UsageError, match="version 99"):
        report([run])


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotRun, match="cannot be written"):
        report([_stored(tmp_path / "run")], output=tmp_path / "file" / "below.html")

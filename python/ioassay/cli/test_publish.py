"""Runs that are published: a directory that is there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.cli.publish import publish
from ioassay.errors import UsageError
from ioassay.reports.run import publication
from ioassay.testing.builder import RunBuilder
from ioassay.testing.stored import store


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser that prints anything."""
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\nfor it; do case $it in --print-to-pdf=*) echo %PDF > "${it#*=}" ;; esac; done\n')
    browser.chmod(0o755)
    monkeypatch.setenv("IOASSAY_BROWSER", str(browser))


def _stored(path: Path) -> Path:
    return store(RunBuilder().workload("w").clients(1, 2).build(), path)


@pytest.mark.usefixtures("paper")
def test_a_run_becomes_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = _stored(tmp_path / "run")
    (tmp_path / "out").mkdir()
    publish([run], tmp_path / "out", against=["isilon-f800"])
    top = {path.name for path in (tmp_path / "out").iterdir()}
    documents = {"report.html", "report.pdf", "report.md", "report.json", "summary.html", "summary.pdf"}
    assert top == {"README.md", *documents, "figures", "tables"}
    assert "isilon-f800" in (tmp_path / "out" / "report.html").read_text()
    assert (tmp_path / "out" / "tables" / "ratios.csv").exists()
    count = sum(path.is_file() for path in (tmp_path / "out").rglob("*"))
    assert capsys.readouterr().err == f"{tmp_path}/out: {count} files, start with README.md\n"


@pytest.mark.usefixtures("paper")
def test_several_runs_have_a_directory_each_and_an_index(tmp_path: Path) -> None:
    publish([_stored(tmp_path / "a"), _stored(tmp_path / "b")], tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["README.md", "a", "b"]
    assert "[b](b/README.md)" in (tmp_path / "out" / "README.md").read_text()
    assert (tmp_path / "out" / "b" / "report.pdf").exists()


def test_publish_without_a_browser_leaves_out_the_pdf_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IOASSAY_BROWSER", "no-such-browser")
    publish([_stored(tmp_path / "run")], tmp_path / "out")
    message = capsys.readouterr().err
    assert "PDFs were not written. IOASSAY_BROWSER is set to no-such-browser" in message
    assert not (tmp_path / "out" / "report.pdf").exists()
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize(("runs", "place"), [(["a"], "published/a"), (["a", "b"], "published")])
def test_the_default_directory_is_named_after_the_run(
    runs: list[str], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IOASSAY_BROWSER", "no-such-browser")
    monkeypatch.chdir(tmp_path)
    publish([_stored(tmp_path / name) for name in runs])
    assert f"{place}: " in capsys.readouterr().err
    assert (tmp_path / place / "README.md").exists()
    with pytest.raises(UsageError, match=f"{place} exists and is not empty"):
        publish([tmp_path / name for name in runs])


def test_an_existing_directory_is_not_overwritten(tmp_path: Path) -> None:
    run = _stored(tmp_path / "run")
    for existing in (run, run / "run.json"):
        with pytest.raises(UsageError, match="exists and is not empty"):
            publish([run], existing)
    _stored(tmp_path / "other" / "run")
    with pytest.raises(UsageError, match="have the same name"):
        publish([run, tmp_path / "other" / "run"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_failure_on_the_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IOASSAY_BROWSER", "no-such-browser")
    run = _stored(tmp_path / "run")
    with pytest.raises(UsageError, match="not a run directory"):
        publish([run, tmp_path / "absent"], tmp_path / "out")

    def interrupted(*_: object) -> object:
        yield publication.File("report.html", b"<p>")
        raise KeyboardInterrupt

    monkeypatch.setattr(publication, "files", interrupted)
    with pytest.raises(KeyboardInterrupt):
        publish([run], tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]

"""Stored directories of other users: what commands do with them, and what they must not change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ioassay.testing import damage
from ioassay.testing.builder import RunBuilder
from ioassay.testing.stored import store

OTHER_USER = 65534
TRIES = 50
"""Variations in CI. `python -m ioassay.testing.damage --tries N` does more."""


def _report(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from ioassay.cli import main; main()", "report", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return store(RunBuilder().workload("seq").clients(1).build(), tmp_path / "run")


def test_a_report_is_not_written_through_links_that_lie_in_the_run(run: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in (".report.html.new", "report.html", "lock"):
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(victim)
    assert _report(run, "--format", "md").returncode == 2  # a lock that is a link
    (run / "lock").unlink()
    assert _report(run).returncode == 0
    assert victim.read_text() == "precious"
    assert (run / "report.html").is_file()
    assert not (run / "report.html").is_symlink()


def test_another_users_run_is_reported_only_to_an_explicit_output(run: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.fail("this test gives files away, which takes root")
    for path in (run, *run.iterdir()):
        os.chown(path, OTHER_USER, OTHER_USER)
    before = sorted((path.name, path.stat().st_mtime_ns) for path in run.iterdir())
    refused = _report(run)
    assert refused.returncode == 2
    assert "belongs to another user" in refused.stderr
    assert "-o" in refused.stderr
    page = tmp_path / "page.html"
    assert _report(run, "-o", page).returncode == 0
    assert page.read_bytes().startswith(b"<!DOCTYPE html>")
    assert sorted((path.name, path.stat().st_mtime_ns) for path in run.iterdir()) == before


def test_a_damaged_directory_gives_a_result_or_a_clear_error(tmp_path: Path) -> None:
    sources = damage.stored_directories(tmp_path)
    failures = list(damage.tried(sources, sources[0], seed=18, numbers=range(TRIES)))
    assert [f"{failure.number}: {failure.damage}; {failure.use}: {failure.text}" for failure in failures] == []

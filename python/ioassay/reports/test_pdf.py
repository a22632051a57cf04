"""Pages on paper. Where no browser is installed, what needs one is skipped, and pytest says so."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ioassay import reports
from ioassay.errors import CannotRun
from ioassay.reports import pdf
from ioassay.reports.run import RunReport
from ioassay.testing.builder import RunBuilder

DEADLINE_S = 60
"""A bound against hanging."""


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary directories go."""
    place = tmp_path / "scratch"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def _named(tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names a program that does this as the browser."""
    program = tmp_path / "browser"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv(pdf.BROWSER, str(program))


@pytest.mark.usefixtures("browser")
def test_a_report_on_paper_has_pages_bookmarks_and_a_title_and_leaves_nothing_else(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = scratch.parent / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    run = RunBuilder().title("Storage").workload("w").clients(1, 2).build()
    printed, short = (reports.build(RunReport(run, is_full=is_full), "pdf") for is_full in (True, False))
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type /Page\b", printed)) > len(re.findall(rb"/Type /Page\b", short)) > 1
    assert b"/Outlines" in printed
    assert b"(Storage" in printed or "Storage".encode("utf-16-be") in printed or b"Storage".hex().encode() in printed
    assert list(scratch.iterdir()) == []
    assert list(home.rglob("*")) == []


def test_a_missing_browser_is_refused_with_what_to_install_and_an_alternative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv(pdf.BROWSER, raising=False)
    with pytest.raises(CannotRun, match="none is on the PATH") as error:
        pdf.printed(b"<p>")
    assert "Install Chromium or Chrome" in error.value.remedy
    assert "--format html" in error.value.remedy


def test_a_configured_browser_that_is_no_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(pdf.BROWSER, "no-such-browser")
    with pytest.raises(CannotRun, match="IOASSAY_BROWSER is set to no-such-browser, which is not a program"):
        pdf.printed(b"<p>")


def test_the_last_message_of_a_browser_that_prints_nothing_is_reported(
    scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _named(tmp_path, "echo 'FATAL: No usable sandbox!' >&2; echo stack >&2; exit 1", monkeypatch)
    with pytest.raises(CannotRun, match=r"printed nothing: FATAL: No usable sandbox!$"):
        pdf.printed(b"<p>")
    _named(tmp_path, "exit 0", monkeypatch)
    with pytest.raises(CannotRun, match=r"printed nothing\.$"):
        pdf.printed(b"<p>")
    assert list(scratch.iterdir()) == []


def test_a_browser_that_hangs_is_ended(scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _named(tmp_path, "exec sleep 1000", monkeypatch)
    with pytest.raises(CannotRun, match=r"did not print the page within 0\.1 s"):
        pdf.printed(b"<p>", limit_s=0.1)
    assert list(scratch.iterdir()) == []


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell that runs tests in the background has them ignore interruptions."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_ends_the_browser_and_its_helpers(
    scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It interrupts us once we sleep, which is when we wait for it.
    waits = f"until grep -q 'State:.S' /proc/{os.getpid()}/status; do :; done"
    helper = tmp_path / "helper"
    _named(tmp_path, f"sleep 1000 & echo $! > {helper}; {waits}; kill -INT {os.getpid()}; wait", monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        pdf.printed(b"<p>")
    _until_ended(int(helper.read_text()))
    assert list(scratch.iterdir()) == []


def _until_ended(process: int) -> None:
    """Waits for the end of a process that was killed; one that nobody has asked about yet has ended too."""
    deadline = time.monotonic() + DEADLINE_S
    with contextlib.suppress(psutil.NoSuchProcess):
        while psutil.Process(process).status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline, f"process {process} is still there"
            time.sleep(0.01)

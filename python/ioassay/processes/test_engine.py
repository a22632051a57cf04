from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ioassay.errors import CannotRun
from ioassay.processes.engine import AGENT, NAME, find_agent, find_engine


def _engine(directory: Path) -> Path:
    directory.mkdir()
    file = directory / NAME
    file.touch(mode=0o755)
    return file


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No engine is installed, set or on the path."""
    monkeypatch.delenv("IOASSAY_ENGINE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python"))
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "venv" / "ioassay")])
    return tmp_path


def test_a_named_engine_precedes_the_installed_one_and_the_path(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path = _engine(nowhere / "path")
    assert find_engine() == on_path
    beside = _engine(nowhere / "venv")
    assert find_engine() == beside
    named = _engine(nowhere / "mine")
    monkeypatch.setenv("IOASSAY_ENGINE", str(named))
    assert find_engine() == named


def test_an_invalid_named_engine_is_not_replaced_by_another(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _engine(nowhere / "path")
    monkeypatch.setenv("IOASSAY_ENGINE", str(nowhere))
    with pytest.raises(CannotRun, match="is not an executable file"):
        find_engine()


def test_a_missing_engine_comes_with_a_remedy(nowhere: Path) -> None:
    with pytest.raises(CannotRun, match="is missing") as missing:
        find_engine()
    assert "make build" in missing.value.remedy


def test_the_agent_is_found_like_the_engine(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IOASSAY_AGENT", raising=False)
    with pytest.raises(CannotRun, match="The agent `ioassay-agent` is missing"):
        find_agent()
    (nowhere / "venv").mkdir()
    (nowhere / "venv" / AGENT).touch(mode=0o755)
    assert find_agent() == nowhere / "venv" / AGENT


def _attended(place: Path, engine: str, before: str = "") -> int:
    """Exit code of a Python process that attends this script as the engine; signals would find the threads of ours."""
    script = place / "engine"
    script.write_text(f"#!/bin/sh\n{engine}\n")
    script.chmod(0o755)
    text = f"""
import os, signal, sys
from ioassay.processes.engine import attend, blocked_signals
with blocked_signals() as mask:
    {before}
    code = attend([], mask)
sys.exit(code)
"""
    command = [sys.executable, "-c", text]
    environment = os.environ | {"IOASSAY_ENGINE": str(script)}
    return subprocess.run(command, env=environment, check=False, stderr=subprocess.DEVNULL).returncode


def test_an_attended_engine_ends_with_its_own_code(tmp_path: Path) -> None:
    assert _attended(tmp_path, "exit 7") == 7
    assert _attended(tmp_path, "kill -TERM $$") == 143


def test_signals_of_a_process_are_passed_on_to_an_attended_engine(tmp_path: Path) -> None:
    # The engine installs its handler before it asks for the signal.
    assert _attended(tmp_path, "trap 'exit 5' USR1\nkill -USR1 $PPID\nwhile :; do :; done") == 5


def test_a_signal_before_the_start_of_the_engine_is_not_passed_on(tmp_path: Path) -> None:
    assert _attended(tmp_path, "exit 7", "os.kill(os.getpid(), signal.SIGTERM)") == -signal.SIGTERM

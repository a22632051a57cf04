from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ioassay.engine import NAME, find_engine
from ioassay.errors import CannotRun


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


def test_the_engine_that_was_named_wins_then_the_installed_one_then_the_path(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path = _engine(nowhere / "path")
    assert find_engine() == on_path
    beside = _engine(nowhere / "venv")
    assert find_engine() == beside
    named = _engine(nowhere / "mine")
    monkeypatch.setenv("IOASSAY_ENGINE", str(named))
    assert find_engine() == named


def test_a_named_engine_that_is_none_is_not_replaced_by_another(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _engine(nowhere / "path")
    monkeypatch.setenv("IOASSAY_ENGINE", str(nowhere))
    with pytest.raises(CannotRun, match="is not an executable file"):
        find_engine()


def test_a_missing_engine_comes_with_a_remedy(nowhere: Path) -> None:
    with pytest.raises(CannotRun, match="is missing") as missing:
        find_engine()
    assert "make build" in missing.value.remedy

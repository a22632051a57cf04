"""`--quiet` and `--verbose`, wherever they stand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def ioassay(*words: str | Path) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "ioassay", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_quiet_leaves_out_where_a_file_was_written(tmp_path: Path) -> None:
    written = tmp_path / "astra.md"
    code, out, err = ioassay("-q", "size", "explain", "astra", "-o", written)
    assert (code, out, err) == (0, "", "")
    assert written.exists()


def test_quiet_leaves_errors(tmp_path: Path) -> None:
    code, out, err = ioassay("list", "-q", tmp_path / "missing")
    assert (code, out) == (2, "")
    assert str(tmp_path / "missing") in err


@pytest.mark.parametrize("words", [["-v", "api", "list"], ["api", "-v", "list"], ["api", "list", "-v"]], ids=" ".join)
def test_verbose_shows_the_programs_that_are_started(words: list[str]) -> None:
    code, out, err = ioassay(*words)
    assert code == 0
    assert "null-plugin" in out
    assert err.splitlines()[0].startswith("+ ")
    assert err.splitlines()[0].endswith("ioassay-engine api list")


def test_quiet_and_verbose_contradict_each_other() -> None:
    code, out, err = ioassay("-q", "list", "-v")
    assert (code, out) == (2, "")
    assert "--quiet and --verbose contradict each other." in err


def test_the_command_of_a_group_that_is_meant_where_none_is_named_is_not_taken_from_behind_quiet() -> None:
    code, out, _ = ioassay("size", "-q", "explain", "--help")
    assert code == 0
    assert out.startswith("Usage: ioassay size explain ")

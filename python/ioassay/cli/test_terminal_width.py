"""What is printed on a terminal that is narrower than its lines: words and paths stay whole."""

from __future__ import annotations

import sys

import pytest

from ioassay.cli.list import _lines
from ioassay.cli.output import print_wrapped

LINE = "warning      time of day       The clock is not synchronized on the nodes n1 and n2."
ROWS: list[tuple[str, ...]] = [
    ("Started", "State", "Directory"),
    ("2026-11-27 15:37:59", "complete", "runs/20261127-153759-quick"),
]


def be_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes standard output a terminal of 50 columns, for the rest of a test."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "50")


def test_a_long_line_is_broken_between_words_and_indented(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    be_terminal(monkeypatch)
    print_wrapped(LINE, 31)
    assert capsys.readouterr().out.splitlines() == [
        "warning      time of day       The clock is not",
        "                               synchronized on the",
        "                               nodes n1 and n2.",
    ]


def test_a_line_for_a_pipe_stays_a_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    print_wrapped(LINE, 31)
    assert capsys.readouterr().out == f"{LINE}\n"


def test_a_list_has_directories_on_lines_of_their_own_where_they_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    be_terminal(monkeypatch)
    assert _lines(ROWS) == [
        "Started              State",
        "  Directory",
        "2026-11-27 15:37:59  complete",
        "  runs/20261127-153759-quick",
    ]
    monkeypatch.setenv("COLUMNS", "80")
    assert _lines(ROWS)[1] == "2026-11-27 15:37:59  complete  runs/20261127-153759-quick"

"""Every step of the tutorial runs as it is printed, with the output that it shows.

Numbers, units of rates, and what is printed as `…` or `[…]` may be anything; everything else is as the page says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from .pages import carry_out, steps

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"

VARIES = re.compile(r"…|\d[\d.,]*(?: [kMG]?B/s)?|\s+")
"""Parts that may differ from the page: omissions, numbers (with the unit of a rate), the width of columns."""

EXIT_CODES = {"check runs/tonight": {0, 1}, "check runs/every-8": {2}, "quick": {0, 1}}
"""Allowed exit codes of commands that may end with others than 0, for example on a busy machine."""


def pattern(shown_line: str) -> str:
    """A regular expression of a line that is shown."""

    def varied(match: re.Match[str]) -> str:
        if match[0] == "…":
            return ".*"
        return r"\s+" if match[0].isspace() else r"\d[\d.,]*" + (r" [kMG]?B/s" if match[0].endswith("B/s") else "")

    pieces, position = [], 0
    for varying in VARIES.finditer(shown_line.strip()):
        pieces += [re.escape(shown_line.strip()[position : varying.start()]), varied(varying)]
        position = varying.end()
    return "".join(pieces) + re.escape(shown_line.strip()[position:])


def codes(words: str) -> Iterable[int]:
    """The allowed exit codes of a command."""
    return next((codes for start, codes in EXIT_CODES.items() if words.startswith(f"ioassay {start}")), {0})


def test_every_step_of_the_tutorial_prints_what_the_page_shows(tmp_path: Path) -> None:
    commands = 0
    for step in steps(PAGE.read_text(encoding="utf-8")):
        if isinstance(step, str):
            (tmp_path / "records.yaml").write_text(step, encoding="utf-8")
        else:
            carry_out(step, tmp_path, pattern, columns=200, codes=codes(step.words))
            commands += 1
    assert commands >= 8
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"quick", "first", "at-close", "every-8", "tonight"}
    assert list((tmp_path / "scratch").iterdir()) == []
    assert "## Summary" in (tmp_path / "at-close.md").read_text(encoding="utf-8")
    assert "<testsuite" in (tmp_path / "check.xml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "matches"),
    [
        ("[2/6] records read: 4.03 GB/s, 32.0 MiB in 0.01 s (doubts: cache-resident, short-phase)", True),
        ("[2/6] records read: 4.03 GB/s, 32.0 MiB in 0.01 s (doubts: short-phase)", False),
        ("[2/6] records write: 4.03 GB/s, 32.0 MiB in 0.01 s (doubts: cache-resident)", False),
    ],
)
def test_a_line_that_differs_in_a_word_does_not_match_the_page(line: str, matches: bool) -> None:
    shown_line = "[1/6] records read: 576 MB/s, 32.0 MiB in 0.06 s (doubts: …cache-resident…"
    assert bool(re.fullmatch(pattern(shown_line), line)) is matches

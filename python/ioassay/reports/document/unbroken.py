"""Keeps numbers and their units on one line of the terminal: "1 MiB", "2 ranks", "28.8 to 58.2 kIOPS".

Rich breaks lines at every space, also at those that Unicode calls unbreakable. So such spaces are another letter while
lines are laid out, and spaces again when they are printed. Not: what is printed.
"""

from __future__ import annotations

import re

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

_BLANK = "\u2800"
"""A pattern of braille without dots, which is no space to rich and one column wide."""

_WITHIN_NUMBER = re.compile(r"(?<=\d) (?=[^\W\d_]|%)|(?<=\d to) (?=\d)|(?<=±) (?=\d)")
"""Also between the ends of an interval."""


def bound(text: str) -> str:
    """`text`, which breaks neither at a no-break space nor between a number and what it counts. To be printed within
    `Unbroken`.
    """
    return _WITHIN_NUMBER.sub(_BLANK, text).replace("\u00a0", _BLANK)


class Unbroken(Struct, frozen=True):
    """Renders its content with such spaces replaced by ordinary ones."""

    within: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.within, options):
            yield segment._replace(text=segment.text.replace(_BLANK, " "))

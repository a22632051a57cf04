"""A text on the terminal whose lines are indented, those after the first further. Not: what it says."""

from __future__ import annotations

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text


class HangingIndent(Struct, frozen=True):
    """Such a text."""

    text: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Its lines, as wide as the terminal allows."""
        for index, line in enumerate(self.text.wrap(console, max(options.max_width - 4, 1))):
            yield Text("    " if index else "  ").append_text(line)

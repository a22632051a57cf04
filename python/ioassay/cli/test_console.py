"""Tables keep their colours and lose the escape sequences of what they show."""

from __future__ import annotations

import io

from rich.live import Live
from rich.table import Table
from rich.text import Text

from ioassay.cli.console import PlainTextConsole


def test_only_the_consoles_own_escapes_are_printed() -> None:
    stream = io.StringIO()
    console = PlainTextConsole(file=stream, width=80, force_terminal=True, color_system="standard")
    table = Table(title="\x1b]0;owned\x07")
    table.add_column("\x9b2J")
    table.add_row(Text("\x1b[2Jcell", style="red"))
    with Live(table, console=console, auto_refresh=False):
        console.print("\u202eabove")
    shown = stream.getvalue()
    assert "\x1b[31m\ufffd[2Jcel" in shown
    assert "\ufffd]0;owned" in shown
    assert "\ufffdabove" in shown
    assert not any(text in shown for text in ("\x1b]0", "\x1b[2J", "\x9b", "\u202e", "\x07"))

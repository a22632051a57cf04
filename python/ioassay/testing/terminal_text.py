"""The text of a report on a terminal, for tests."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

from ioassay.reports.document import Block
from ioassay.reports.document.terminal import rendered


def terminal_text(blocks: Iterable[Block], width: int = 80) -> str:
    """The text of `blocks` on a terminal of that many columns, printed as the command line prints it."""
    console = Console(width=width)
    with console.capture() as text:
        console.print(rendered(blocks), crop=False)
    return text.get()

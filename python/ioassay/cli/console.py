"""The console for tables and live views: it prints its own escape sequences, and replaces those in the text."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from ioassay.text.control_characters import without_controls


class PlainTextConsole(Console):
    """Rich's console, with control characters in what it shows replaced."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Renders as rich does; segments that move the cursor (`control`) are rich's own."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=without_controls(segment.text))

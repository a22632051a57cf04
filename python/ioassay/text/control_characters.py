"""Control characters never leave for a terminal or into a document.

Titles, messages and names come out of stored runs, imported files and the output of other programs. An ESC among them
could retitle a terminal, clear it or type into it, and an override of the writing direction shows a name as another.
So text is cleaned where it leaves: by the standard streams (`PlainStream`), by the console that styles tables
(`ioassay.cli.console`), and where a document becomes bytes (`encoded`). Names of files, which a newline would divide,
are escaped where a document shows them (`escaped`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TextIO

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""C0 but for tab and newline, DEL, C1, and the embeddings, overrides and isolates of bidirectional text."""

_WITHIN_LINES = re.compile(f"[\t\n\u2028\u2029]|{_CONTROLS.pattern}")
"""These, and what divides lines and columns."""


def without_controls(text: str) -> str:
    """`text` with U+FFFD, the replacement character, for each control character."""
    return _CONTROLS.sub("\ufffd", text)


def escaped(name: str) -> str:
    """A name on one line: its control characters, also newlines and tabs, as Python writes them (`\\n`, `\\x1b`)."""
    return _WITHIN_LINES.sub(lambda found: found[0].encode("unicode_escape").decode(), name)


def encoded(document: str) -> bytes:
    """A document of text as UTF-8, without control characters."""
    return without_controls(document).encode()


class PlainStream:
    """A text stream that writes no control characters. What styles its text itself writes to `styled`."""

    def __init__(self, stream: TextIO) -> None:
        self.styled = stream

    def __getattr__(self, name: str) -> object:
        return getattr(self.styled, name)

    def write(self, text: str) -> int:
        """Writes `text` without control characters."""
        return self.styled.write(without_controls(text))

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes each without control characters."""
        for line in lines:
            self.write(line)


def styled(stream: TextIO) -> TextIO:
    """Where a console writes that keeps control characters out itself: what lies beneath a `PlainStream`."""
    return stream.styled if isinstance(stream, PlainStream) else stream

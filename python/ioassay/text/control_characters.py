"""Keeps control characters out of terminals and documents.

Titles, messages and names come out of stored runs, imported files and the output of other programs. An ESC among them
could retitle a terminal, clear it or type into it, and an override of the writing direction shows a name as another.
So text is cleaned at the output: by the standard streams (`PlainStream`), by the console that styles tables
(`ioassay.cli.console`), and where a document becomes bytes (`encoded`). File names, which a newline would split,
are escaped in documents (`escaped`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TextIO

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""C0 except tab and newline, DEL, C1, and the embeddings, overrides and isolates of bidirectional text."""

_WITHIN_LINES = re.compile(f"[\t\n\u2028\u2029]|{_CONTROLS.pattern}")
"""These, and separators of lines and columns."""


def without_controls(text: str) -> str:
    """`text` with U+FFFD, the replacement character, for each control character."""
    return _CONTROLS.sub("\ufffd", text)


def escaped(name: str) -> str:
    """A name on one line: its control characters, including newlines and tabs, as Python escapes (`\\n`, `\\x1b`)."""
    return _WITHIN_LINES.sub(lambda match: match[0].encode("unicode_escape").decode(), name)


def encoded(document: str) -> bytes:
    """A text document as UTF-8, without control characters."""
    return without_controls(document).encode()


class PlainStream:
    """A text stream that writes no control characters. Writers with their own styles use `styled`."""

    def __init__(self, stream: TextIO) -> None:
        self.styled = stream

    def __getattr__(self, name: str) -> object:
        return getattr(self.styled, name)

    def write(self, text: str) -> int:
        return self.styled.write(without_controls(text))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)


def styled(stream: TextIO) -> TextIO:
    """The stream for a console that removes control characters itself: the one below a `PlainStream`."""
    return stream.styled if isinstance(stream, PlainStream) else stream

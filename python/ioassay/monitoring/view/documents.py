"""Parses lines of agents as documents. They may come from agents of other users, so every field is checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeGuard

from ioassay.protocol.watch_kinds import JOB_KINDS, NODE_KINDS

LONGEST_LINE: Final = 1 << 20
"""A longer line is not a document."""

LONGEST_TEXT: Final = 4096
_LARGEST: Final = 2**64
_LARGEST_SECOND: Final = 2**32

_KINDS: Final = {**JOB_KINDS, **NODE_KINDS}
_TEXTS: Final = frozenset({"label", "key", "text"})


@dataclass(frozen=True)
class Document:
    """A document of one second."""

    kind: str
    second: int
    """Unix time."""
    texts: Mapping[str, str]
    """Labels, keys and texts; unknown ones are missing."""
    numbers: Mapping[str, int]

    @property
    def node(self) -> str:
        return self.text("node")

    def text(self, name: str) -> str:
        """A text; empty if unknown."""
        return self.texts.get(name, "")

    def number(self, name: str) -> int:
        """A number; 0 if unknown."""
        return self.numbers.get(name, 0)


def parse(line: bytes) -> Document | None:
    """The document in a line, with those fields of its kind that have the right type; `None` if the line is invalid."""
    if len(line) > LONGEST_LINE:
        return None
    try:
        fields = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    kind, second, node = fields.get("kind"), fields.get("second"), fields.get("node")
    if not isinstance(kind, str) or kind not in _KINDS or not isinstance(node, str):
        return None
    if not _is_number(second) or second >= _LARGEST_SECOND:
        return None
    texts: dict[str, str] = {}
    numbers: dict[str, int] = {}
    for field in _KINDS[kind].fields:
        value = fields.get(field.name)
        if field.kind in _TEXTS:
            if isinstance(value, str):
                # Half of a surrogate pair is valid JSON, but cannot be printed.
                texts[field.name] = value[:LONGEST_TEXT].encode(errors="replace").decode()
        elif _is_number(value):
            numbers[field.name] = value
    return Document(kind, second, texts, numbers)


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST

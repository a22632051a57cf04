"""Lines that agents write → documents. They may come from agents of others: nothing in them is believed unchecked."""

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
    """What was so in one second."""

    kind: str
    second: int
    """Since 1970."""
    texts: Mapping[str, str]
    """Labels, keys and texts. What is not known is missing."""
    numbers: Mapping[str, int]

    @property
    def node(self) -> str:
        """The node that it is about."""
        return self.text("node")

    def text(self, name: str) -> str:
        """A text; empty where it is not known."""
        return self.texts.get(name, "")

    def number(self, name: str) -> int:
        """A number; 0 where it is not known."""
        return self.numbers.get(name, 0)


def parse(line: bytes) -> Document | None:
    """The document of a line, with the fields of its kind that have the right type. `None`: the line is none."""
    if len(line) > LONGEST_LINE:
        return None
    try:
        found = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    kind, second, node = found.get("kind"), found.get("second"), found.get("node")
    if not isinstance(kind, str) or kind not in _KINDS or not isinstance(node, str):
        return None
    if not _is_number(second) or second >= _LARGEST_SECOND:
        return None
    texts: dict[str, str] = {}
    numbers: dict[str, int] = {}
    for field in _KINDS[kind].fields:
        value = found.get(field.name)
        if field.kind in _TEXTS:
            if isinstance(value, str):
                # Half of a surrogate pair is JSON, and nothing that can be printed.
                texts[field.name] = value[:LONGEST_TEXT].encode(errors="replace").decode()
        elif _is_number(value):
            numbers[field.name] = value
    return Document(kind, second, texts, numbers)


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST

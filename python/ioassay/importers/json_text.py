"""JSON as the tools print it: among other lines, several documents in one file, numbers that are none.

Not: what a document means (the module of its tool).
"""

from __future__ import annotations

import json
import re
import reprlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ioassay.importers.source import Refused, Source

_NOT_A_NUMBER = re.compile(r"(?<=[:,\[\s])-?(?:nan|inf)(?=\s*[,}\]])")
"""How C prints what is no number; no JSON."""

_BEYOND_COUNTING = 2**63

_INDENT = re.compile(r"[ \t]*")


class Repeated(tuple[Any, ...]):
    """The values of a key that stands several times in one object, in their order.

    A JSON library keeps the last without a word; which of them counts only the tool's module can tell.
    """

    __slots__ = ()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        values: defaultdict[str, list[Any]] = defaultdict(list)
        for name, value in pairs:
            values[name].append(value)
        found |= {name: Repeated(each) for name, each in values.items() if any(one != each[0] for one in each)}
    return found


@dataclass(frozen=True)
class Parsed:
    """An object of a document, with the line at which it begins. Whatever is missing, or is something else than it
    must be, refuses the file.
    """

    values: Mapping[str, Any]
    line: int
    what: str = "the document"
    """As it is called in a refusal."""

    def whole(self, name: str) -> int:
        """A whole number that is not negative, and that 63 bits can hold."""
        found = self._required(name)
        if type(found) is not int or not 0 <= found < _BEYOND_COUNTING:
            raise Refused(f"has {reprlib.repr(found)} where {self.what} should have a whole number ({name})", self.line)
        return found

    def number(self, name: str) -> float:
        """A number that is not negative, and no larger than whole ones may be."""
        found = self._required(name)
        if type(found) not in (int, float) or not 0 <= found < _BEYOND_COUNTING:
            raise Refused(f"has {reprlib.repr(found)} where {self.what} should have a number ({name})", self.line)
        return float(found)

    def text(self, name: str) -> str:
        """A text."""
        found = self._required(name)
        if not isinstance(found, str):
            raise Refused(f"has {reprlib.repr(found)} where {self.what} should have text ({name})", self.line)
        return found

    def part(self, name: str) -> Parsed:
        """An object in it."""
        found = self._required(name)
        if not isinstance(found, dict):
            raise Refused(f"has no object {name!r} where {self.what} should have one", self.line)
        return Parsed(found, self.line, f"{name!r} of {self.what}")

    def parts(self, name: str) -> list[Parsed]:
        """The objects of a list in it."""
        found = self._required(name)
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise Refused(f"has no list of objects {name!r} where {self.what} should have one", self.line)
        return [Parsed(one, self.line, f"{name!r} {at} of {self.what}") for at, one in enumerate(found)]

    def has(self, name: str) -> bool:
        """True if it says something of `name`."""
        return self.values.get(name) is not None

    def _required(self, name: str) -> Any:
        if name not in self.values:
            raise Refused(f"lacks {name!r} in {self.what}", self.line)
        found = self.values[name]
        if isinstance(found, Repeated):
            raise Refused(f"has {name!r} {len(found)} times in {self.what}, with different values", self.line)
        return found


def documents(source: Source, *, as_printed: bool = False) -> Iterator[Parsed]:
    """The objects that begin with a line of their own; `as_printed` leaves numbers as text, with all their digits.

    Raises `Refused` for one that does not end, or is broken.
    """
    text = _NOT_A_NUMBER.sub("null", source.text.replace("\r\n", "\n"))
    number_of = str if as_printed else None
    decoder = json.JSONDecoder(parse_float=number_of, parse_int=number_of, object_pairs_hook=_object)
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    end = 0
    for number, start in enumerate(starts, start=1):
        if start < end:
            continue
        begin = start + len(_INDENT.match(text, start)[0])  # type: ignore[index]
        first = text[begin : begin + 1]
        if first in ("}", "]"):
            raise Refused("has a closing bracket without an opening one: a line before it is missing", number)
        if first != "{":
            continue
        try:
            found, end = decoder.raw_decode(text, begin)
        except json.JSONDecodeError as error:
            raise Refused(f"is not a complete JSON document: {error.msg}", error.lineno) from error
        except RecursionError as error:
            raise Refused("is not JSON of a known tool: it is nested too deeply", number) from error
        yield Parsed(found, number)
        rest = text[end : (text.find("\n", end) + 1 or len(text) + 1) - 1]
        if rest.strip():
            last = text.count("\n", 0, end) + 1
            raise Refused(f"continues after the end of its JSON document: {rest.strip()[:40]!r}", last)


def lines_of(source: Source, at: Parsed, pattern: str) -> list[int]:
    """The lines from where `at` begins on that `pattern` is found in; of a document in one line its own, as often."""
    found = re.compile(pattern)
    return [
        number for number, line in enumerate(source.lines[at.line - 1 :], start=at.line) for _ in found.finditer(line)
    ]

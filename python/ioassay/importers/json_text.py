"""JSON as the tools print it: among other lines, several documents in one file, NaN and infinity.

Not: the content of a document (the module of its tool).
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
"""Not-a-numbers and infinity as C prints them, which is not JSON."""

_BEYOND_COUNTING = 2**63

_INDENT = re.compile(r"[ \t]*")


class Repeated(tuple[Any, ...]):
    """The values of a key that occurs several times in one object, in their order.

    A JSON library silently keeps the last; only the tool's module knows which one counts.
    """

    __slots__ = ()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values_by_name = dict(pairs)
    if len(values_by_name) < len(pairs):
        repeated: defaultdict[str, list[Any]] = defaultdict(list)
        for name, value in pairs:
            repeated[name].append(value)
        values_by_name |= {
            name: Repeated(occurrences)
            for name, occurrences in repeated.items()
            if any(occurrence != occurrences[0] for occurrence in occurrences)
        }
    return values_by_name


@dataclass(frozen=True)
class Parsed:
    """An object of a document, with its first line. A missing value, or one of another type than
    requested, refuses the file.
    """

    values: Mapping[str, Any]
    line: int
    what: str = "the document"
    """Its name in a refusal."""

    def integer(self, name: str) -> int:
        """A whole number from 0 to 2^63 - 1."""
        value = self._required(name)
        if type(value) is not int or not 0 <= value < _BEYOND_COUNTING:
            raise Refused(f"has {reprlib.repr(value)} where {self.what} should have a whole number ({name})", self.line)
        return value

    def number(self, name: str) -> float:
        """A number from 0 to below 2^63."""
        value = self._required(name)
        if type(value) not in (int, float) or not 0 <= value < _BEYOND_COUNTING:
            raise Refused(f"has {reprlib.repr(value)} where {self.what} should have a number ({name})", self.line)
        return float(value)

    def text(self, name: str) -> str:
        value = self._required(name)
        if not isinstance(value, str):
            raise Refused(f"has {reprlib.repr(value)} where {self.what} should have text ({name})", self.line)
        return value

    def part(self, name: str) -> Parsed:
        """An object."""
        value = self._required(name)
        if not isinstance(value, dict):
            raise Refused(f"has no object {name!r} where {self.what} should have one", self.line)
        return Parsed(value, self.line, f"{name!r} of {self.what}")

    def parts(self, name: str) -> list[Parsed]:
        """A list of objects."""
        value = self._required(name)
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise Refused(f"has no list of objects {name!r} where {self.what} should have one", self.line)
        return [Parsed(item, self.line, f"{name!r} {index} of {self.what}") for index, item in enumerate(value)]

    def has(self, name: str) -> bool:
        """True if `name` has a value other than null."""
        return self.values.get(name) is not None

    def _required(self, name: str) -> Any:
        if name not in self.values:
            raise Refused(f"lacks {name!r} in {self.what}", self.line)
        value = self.values[name]
        if isinstance(value, Repeated):
            raise Refused(f"has {name!r} {len(value)} times in {self.what}, with different values", self.line)
        return value


def documents(source: Source, *, as_printed: bool = False) -> Iterator[Parsed]:
    """The objects that begin at the start of a line; `as_printed` keeps numbers as text, with all their digits.

    Raises `Refused` for an incomplete or broken one.
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
            values, end = decoder.raw_decode(text, begin)
        except json.JSONDecodeError as error:
            raise Refused(f"is not a complete JSON document: {error.msg}", error.lineno) from error
        except RecursionError as error:
            raise Refused("is not JSON of a known tool: it is nested too deeply", number) from error
        yield Parsed(values, number)
        trailing = text[end : (text.find("\n", end) + 1 or len(text) + 1) - 1]
        if trailing.strip():
            last = text.count("\n", 0, end) + 1
            raise Refused(f"continues after the end of its JSON document: {trailing.strip()[:40]!r}", last)


def lines_of(source: Source, parsed: Parsed, pattern: str) -> list[int]:
    """The lines from `parsed` on that match `pattern`; for a document in one line, that line for every match."""
    compiled = re.compile(pattern)
    return [
        number
        for number, line in enumerate(source.lines[parsed.line - 1 :], start=parsed.line)
        for _ in compiled.finditer(line)
    ]

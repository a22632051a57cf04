"""Reconstructs documents of IOR's JSON with broken brackets or lines from their innermost objects.

IOR prints each of these in one piece: the parameters and options of a test, each iteration, each line of the summary.
Anything else is verbose output of IOR: from its first character on, the rest of the line is skipped. An object with
missing or excess content is left out, so that its iteration is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ioassay.importers.json_text import Parsed
from ioassay.importers.source import Refused, Source

_TOKEN = re.compile(
    r'(?P<space>\s+)|(?P<scalar>"(?:[^"\\\n]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?=[\s,}\]]))|'
    r"(?P<mark>[{}\]:,]|\[(?!\w))"
)
_LINE = re.compile(r"[^\n]*")


@dataclass(frozen=True)
class _Token:
    line: int
    text: str


def documents(source: Source) -> list[Parsed]:
    """The documents, with numbers as text. Raises `Refused` for misplaced pieces."""
    parsed_documents: list[Parsed] = []
    content: dict[str, Any] = {}
    for line, piece in _pieces(source):
        if content.keys().isdisjoint(piece) and ("Version" in piece or ("Began" in piece and "Finished" in content)):
            content = {}
        if not content and ("Version" in piece or "Began" in piece):
            content = {"tests": [], "summary": []}
            parsed_documents.append(Parsed(content, line))
        if content:
            _take(content, piece, line)
    return parsed_documents


def _take(content: dict[str, Any], piece: dict[str, str], line: int) -> None:
    """Adds a piece to its place in a document."""
    if lists := sorted({"tests", "summary", "Results", "Parameters", "Options"} & piece.keys()):
        raise Refused(f"has a text under {lists[0]!r}, where IOR writes a list or an object", line)
    if "access" in piece and "xfersize" not in piece:
        _test(content, line)["Results"].append(piece)
    elif "bwMiB" in piece:
        raise Refused("has an iteration that does not say what it did", line)
    elif "operation" in piece:
        content["summary"].append(piece)
    elif "testFileName" in piece:
        _test(content, line)["Parameters"] = piece
    elif "xfersize" in piece:
        _test(content, line)["Options"] = piece
    elif "Finished" in piece or not (content["tests"] or "TestID" in piece):
        content |= piece
    elif content["summary"]:
        pass  # the remainder of another line of the summary, which repeats the iterations
    elif "TestID" in piece:
        content["tests"].append({"Results": [], **piece})
    else:
        content["tests"][-1] |= piece


def _test(content: dict[str, Any], line: int) -> dict[str, Any]:
    if not content["tests"]:
        raise Refused("has a piece of a test before the first test", line)
    return content["tests"][-1]  # type: ignore[no-any-return]


def _pieces(source: Source) -> Iterator[tuple[int, dict[str, str]]]:
    """The innermost objects, and each value beside objects as an object of its own; each with its line."""
    tokens = list(_tokens(source.text))
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.text == "{" and tokens[index + 1 : index + 2] and _is_innermost(tokens, index):
            piece, index = _object(tokens, index)
            if piece is not None:
                yield token.line, piece
        elif token.text.startswith('"') and index + 2 < len(tokens) and tokens[index + 1].text == ":":
            value = tokens[index + 2].text
            if _is_scalar(value):
                yield token.line, {json.loads(token.text): _scalar(value)}
            index += 2
        else:
            index += 1


def _is_innermost(tokens: list[_Token], index: int) -> bool:
    """True if an object closes before another bracket opens, or if nothing follows."""
    following = next((token.text for token in tokens[index + 1 :] if token.text in ("{", "}", "[", "]")), "")
    return following not in ("{", "[")


def _object(tokens: list[_Token], index: int) -> tuple[dict[str, str] | None, int]:
    """The object that opens at a token, `None` if it is broken or cut off; and the index after it."""
    values: dict[str, str] = {}
    index += 1
    while index + 3 < len(tokens):
        name, colon, value, end = (token.text for token in tokens[index : index + 4])
        if not (name.startswith('"') and colon == ":" and _is_scalar(value) and end in (",", "}")):
            break
        values[json.loads(name)] = _scalar(value)
        index += 4
        if end == "}":
            return values, index
    return None, index


def _is_scalar(text: str) -> bool:
    return text not in ("{", "}", "[", "]", ":", ",")


def _scalar(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text


def _tokens(text: str) -> Iterator[_Token]:
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            match = _LINE.match(text, position)
        elif match["space"] is None:
            yield _Token(line, match[0])
        if match is None:
            return
        line += match[0].count("\n")
        position = match.end()

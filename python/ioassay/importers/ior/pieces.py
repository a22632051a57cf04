"""The documents of IOR's JSON whose brackets or lines are broken, put together from their innermost objects.

IOR prints each of these in one piece: the parameters and options of a test, each iteration, each line of the summary.
What is no JSON is what a verbose IOR printed: from its first character on the rest of the line is skipped. An object in
which anything is missing, or too much, is left out, so that an iteration is missing.
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
    """The documents, numbers as text. Raises `Refused` for pieces that are not where IOR has them."""
    found: list[Parsed] = []
    content: dict[str, Any] = {}
    for line, piece in _pieces(source):
        if content.keys().isdisjoint(piece) and ("Version" in piece or ("Began" in piece and "Finished" in content)):
            content = {}
        if not content and ("Version" in piece or "Began" in piece):
            content = {"tests": [], "summary": []}
            found.append(Parsed(content, line))
        if content:
            _take(content, piece, line)
    return found


def _take(content: dict[str, Any], piece: dict[str, str], line: int) -> None:
    """Puts a piece where it belongs in a document."""
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
        pass  # what is left of another line of the summary, which says nothing that the iterations do not
    elif "TestID" in piece:
        content["tests"].append({"Results": [], **piece})
    else:
        content["tests"][-1] |= piece


def _test(content: dict[str, Any], line: int) -> dict[str, Any]:
    if not content["tests"]:
        raise Refused("has a piece of a test before the first test", line)
    return content["tests"][-1]  # type: ignore[no-any-return]


def _pieces(source: Source) -> Iterator[tuple[int, dict[str, str]]]:
    """The innermost objects, and each value that stands beside objects as one of its own; with the line of each."""
    tokens = list(_tokens(source.text))
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.text == "{" and tokens[at + 1 : at + 2] and _is_innermost(tokens, at):
            piece, at = _object(tokens, at)
            if piece is not None:
                yield token.line, piece
        elif token.text.startswith('"') and at + 2 < len(tokens) and tokens[at + 1].text == ":":
            value = tokens[at + 2].text
            if _is_scalar(value):
                yield token.line, {json.loads(token.text): _scalar(value)}
            at += 2
        else:
            at += 1


def _is_innermost(tokens: list[_Token], at: int) -> bool:
    """True if an object closes before another bracket opens, or nothing comes after it."""
    following = next((token.text for token in tokens[at + 1 :] if token.text in ("{", "}", "[", "]")), "")
    return following not in ("{", "[")


def _object(tokens: list[_Token], at: int) -> tuple[dict[str, str] | None, int]:
    """The object that opens at a token, `None` of one that is broken or cut off; and where what follows begins."""
    found: dict[str, str] = {}
    at += 1
    while at + 3 < len(tokens):
        name, colon, value, end = (token.text for token in tokens[at : at + 4])
        if not (name.startswith('"') and colon == ":" and _is_scalar(value) and end in (",", "}")):
            break
        found[json.loads(name)] = _scalar(value)
        at += 4
        if end == "}":
            return found, at
    return None, at


def _is_scalar(text: str) -> bool:
    return text not in ("{", "}", "[", "]", ":", ",")


def _scalar(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text


def _tokens(text: str) -> Iterator[_Token]:
    at, line = 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            match = _LINE.match(text, at)
        elif match["space"] is None:
            yield _Token(line, match[0])
        if match is None:
            return
        line += match[0].count("\n")
        at = match.end()

"""Ways to damage what is read: texts, trees of JSON, values of options."""

from __future__ import annotations

import copy
import json as json_library
import re
from collections.abc import Sequence
from random import Random
from typing import Any

NUMBERS = [
    *("0", "1", "2", "3", "7", "10", "100", "-1", "-0", "007", "+1", "1e3", "1.5", "0.1", "1e308", "1e999"),
    *("NaN", "inf", "-inf", "0x10", "1_000", "٣", "1,5"),
    *(str(value) for bits in (8, 16, 31, 32, 53, 63, 64) for value in (2**bits - 1, 2**bits)),
    str(10**30),
    "9" * 400,
]
SIZES = [
    *("4k", "64k", "1m", "1MiB", "1MB", "4KiB", "1.5g", "1x", "k", "0k", "-1k", "1kk", "16EiB", "20000t", "4 k"),
    *("18446744073709551615k", "1%", "101%"),
]
TEXTS = [
    "",
    " ",
    "null",
    "true",
    "~",
    "*",
    "..",
    "/",
    "a/b",
    "-",
    "--",
    "a b",
    "é",
    "\u202e",
    "\ud7ff",
    "x" * 5000,
    "%s",
    "${x}",
]
YAML = [
    *"{}[]:-#&*!|>'\"%@`,?\n\t ",
    "${",
    "${total}",
    "<<: ",
    "- ",
    "null",
    "\\ud800",
    "\u0000",
    "\r",
    "  ",
    "\n\n",
    "---\n",
]


def value(random: Random) -> str:
    """A value that is valid somewhere, at an edge, or none at all."""
    return random.choice(random.choice((NUMBERS, NUMBERS, SIZES, TEXTS)))


def text(random: Random, original: str, words: Sequence[str]) -> str:
    """The text with up to four values replaced, or places cut out, doubled, overwritten or moved."""
    ways = random.choice(((_value_replaced,), (_overwritten, _overwritten, _line_changed, _line_changed, _cut)))
    for _ in range(random.randint(1, 4)):
        original = random.choice(ways)(random, original, words)
    return original


def _overwritten(random: Random, original: str, words: Sequence[str]) -> str:
    start = random.randint(0, len(original))
    end = start + random.randint(0, 12)
    inserted = random.choice((random.choice(YAML), random.choice(words), value(random), original[start:end] * 2))
    return original[:start] + inserted + original[end:]


def _line_changed(random: Random, original: str, words: Sequence[str]) -> str:
    """Removes, doubles, moves or reindents a line."""
    lines = original.splitlines(keepends=True)
    if not lines:
        return original
    position = random.randrange(len(lines))
    match random.randrange(4):
        case 0:
            del lines[position]
        case 1:
            lines.insert(position, lines[position])
        case 2:
            lines.insert(random.randrange(len(lines)), lines.pop(position))
        case _:
            lines[position] = " " * random.choice((0, 2, 4, 6)) + lines[position].lstrip(" ")
    return "".join(lines)


_VALUE = re.compile(r"(?<=[:=,])[ \t]*[^\s:=,][^:=,\n]*|(?<= )\d[\d.]*")


def _value_replaced(random: Random, original: str, words: Sequence[str]) -> str:
    """Replaces a number, or a value after a colon, a comma or an equals sign, by another one or by any value."""
    values = [*_VALUE.finditer(original)]
    if not values:
        return original
    old, other = random.choice(values), random.choice(values)
    new = random.choice((other[0], other[0], random.choice(words), value(random)))
    if old[0].startswith(" ") and not new.startswith(" "):
        new = f" {new}"
    return original[: old.start()] + new + original[old.end() :]


def _cut(random: Random, original: str, words: Sequence[str]) -> str:
    return (
        original[: random.randint(0, len(original))] if random.random() < 0.3 else _overwritten(random, original, words)
    )


def as_bytes(random: Random, original: str) -> bytes:
    """The text as bytes of a file, sometimes damaged so that it is no UTF-8."""
    data = original.encode("utf-8", "surrogatepass")
    if random.random() < 0.1:
        data = damaged(random, data)
    return data


def damaged(random: Random, data: bytes) -> bytes:
    """The bytes cut off, flipped, doubled, or with others among them."""
    if not data:
        return random.randbytes(random.randint(1, 64))
    position = random.randrange(len(data))
    match random.randrange(5):
        case 0:
            return data[:position]
        case 1:
            return data[:position] + bytes([data[position] ^ (1 << random.randrange(8))]) + data[position + 1 :]
        case 2:
            return (
                data[:position] + random.choice((b"\xff", b"\x00", b"\xef\xbb\xbf", b"\xc3", b"\r\n")) + data[position:]
            )
        case 3:
            end = min(len(data), position + random.randint(1, 4096))
            return data[:position] + random.randbytes(end - position) + data[end:]
        case _:
            return data + data[position:]


_DEEP = "nested deeply"
_DEPTH = 100_000


def json_text(random: Random, document: Any) -> str:
    """The text of the document with up to three places of another value or type, lost, doubled, or nested deeply."""
    return dumped(json(random, document))


def dumped(document: Any) -> str:
    """The text of a changed document."""
    return json_library.dumps(document).replace(f'"{_DEEP}"', "[" * _DEPTH + "]" * _DEPTH)


def json(random: Random, document: Any) -> Any:
    """The document with a change."""
    document = copy.deepcopy(document)
    for _ in range(random.randint(1, 3)):
        places = _places(document)
        if not places:
            return json_value(random)
        around, key = random.choice(places)
        _change(random, around, key)
    return document


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Every place in it, even if an earlier change has nested it deeply."""
    places, nodes = [], [document]
    while nodes:
        node = nodes.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            places.append((node, key))
            nodes.append(node[key])
    return places


def _change(random: Random, around: Any, key: Any) -> None:
    match random.randrange(7):
        case 0:
            del around[key]
        case 1:
            around[key] = random.choice(([around[key]], _DEEP))
        case 2:
            if isinstance(around[key], list):
                around[key] = around[key] * random.choice((0, 2, 1000))
            elif isinstance(around, dict):
                around[random.choice((value(random), *around))] = around[key]
        case _:
            around[key] = json_value(random)


def json_value(random: Random) -> Any:
    """A value of any type of JSON."""
    number = random.choice((0, -1, 1, 2, 3, 2**31, 2**32, 2**53, 2**63, 2**64 - 1, 2**64, 10**30, 0.5, -0.0, 1e308))
    special = random.choice((float("nan"), float("inf"), -float("inf")))
    choices = (number, number, number, special, value(random), value(random), None, True, [], {}, [None], {"": None})
    return random.choice(choices)

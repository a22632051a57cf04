"""Types of values in documents, the parts of models: from text to checked values in base units.

Not here: types that only studies have (`studies.values`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from ioassay.text import units
from ioassay.yaml_models.model import BeforeValidator
from ioassay.yaml_models.source import quoted


@dataclass(frozen=True)
class Kind:
    """The name of a value's type on the reference page."""

    name: str


def text_of(value: object) -> str:
    """`value` if it is a single value. Raises `ValueError`."""
    if isinstance(value, str):
        return value
    raise ValueError("is not a single value; write one value after the colon")


def parsed(parse: Callable[[str], object]) -> BeforeValidator:
    """Validates with `parse`."""
    return BeforeValidator(lambda value: parse(text_of(value)))


def between(
    parse: Callable[[str], int], lowest: int, highest: int, show: Callable[[int], str] = str
) -> BeforeValidator:
    """Validates with `parse`, and refuses values that the engine would refuse."""

    def check(text: str) -> int:
        value = parse(text)
        if not lowest <= value <= highest:
            raise ValueError(f"{quoted(text)} is out of range; use {show(lowest)} to {show(highest)}")
        return value

    return parsed(check)


def _prose(text: str) -> str:
    if not text:
        raise ValueError("is empty; write a text")
    return " ".join(text.split())


def _identifier(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}", text):
        raise ValueError(f"{quoted(text)} is not a name; use 1 to 64 letters, digits, '.', '_' or '-'")
    return text


def _yes_or_no(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError(f"{quoted(text)} is neither yes nor no; write yes or no")
    return text == "yes"


Prose = Annotated[str, parsed(_prose), Kind("text")]
Identifier = Annotated[str, parsed(_identifier), Kind("name")]
YesNo = Annotated[bool, parsed(_yes_or_no), Kind("`yes`, `no`")]
Count = Annotated[int, between(units.parse_count, 1, units.LARGEST), Kind("whole number")]
Size = Annotated[int, between(units.parse_bytes, 1, units.LARGEST, units.format_bytes), Kind("size")]

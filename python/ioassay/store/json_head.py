"""The fields at the beginning of a JSON document, read and checked without the model of the whole document.

A model takes longer to build than thousands of heads to read. Not: what a head means (`summary`).
"""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

HEAD_BYTES = 8 << 10

_DEPTH = 2
"""Levels of objects of which the members are known that come before the end of the text."""

_SPACE = " \t\n\r"

_DECODER = json.JSONDecoder()


def beginning(content: bytes) -> Any:
    """The document that `content` is the beginning of, with the members that are there as a whole.

    Raises `ValueError` for what is no beginning of a JSON document.
    """
    text = codecs.getincrementaldecoder("utf-8")().decode(content)
    try:
        return _value(text, _after_space(text, 0), _DEPTH)[0]
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def whole(content: bytes) -> Any:
    """The document in `content`. Raises `ValueError`."""
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _value(text: str, index: int, depth: int) -> tuple[Any, int | None]:
    """The value that begins at `at`, and where it ends; `None`: beyond the text."""
    if depth and text.startswith("{", index):
        return _members(text, index + 1, depth)
    return _DECODER.raw_decode(text, index)


def _members(text: str, index: int, depth: int) -> tuple[dict[str, Any], int | None]:
    members: dict[str, Any] = {}
    index = _after_space(text, index)
    if text.startswith("}", index):
        return members, index + 1
    while True:
        try:
            name, index = _DECODER.raw_decode(text, index)
            index = _after_space(text, index)
            if not isinstance(name, str) or not text.startswith(":", index):
                return members, None
            value, end = _value(text, _after_space(text, index + 1), depth - 1)
        except json.JSONDecodeError:
            return members, None
        if end is None:
            return members | {name: value}, None
        index = _after_space(text, end)
        if index == len(text):  # a number may go on
            return members, None
        members[name] = value
        if not text.startswith(",", index):
            return members, index + 1
        index = _after_space(text, index + 1)


def _after_space(text: str, index: int) -> int:
    while text[index : index + 1] in _SPACE and index < len(text):
        index += 1
    return index


def moment(text: str) -> str:
    """ISO 8601 with a time zone. Raises `ValueError` for other text."""
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("a timestamp needs a time zone")
    return text


def component(text: str) -> str:
    """A name that becomes a file or a directory: never a path that leads elsewhere. Raises `ValueError`."""
    if text in ("", ".", "..") or "/" in text or not text.isprintable() or len(os.fsencode(text)) > 255:
        raise ValueError("a file name without slashes is expected")
    return text


class Fields:
    """The members of an object. Each method raises `ValueError`, which says where, if what it wants is not there."""

    def __init__(self, value: Any, where: str = "") -> None:
        self._where = where
        if not isinstance(value, dict):
            raise ValueError(f"{where}: an object is expected" if where else "an object is expected")
        self._members = value

    def text(self, name: str) -> str:
        """A string."""
        return _text(self._member(name), self._at(name))

    def text_or_none(self, name: str) -> str | None:
        """A string; `None`: null, or left out."""
        return None if self._members.get(name) is None else self.text(name)

    def choice(self, name: str, choices: Collection[str]) -> Any:
        """One of `choices`."""
        if (value := self.text(name)) not in choices:
            raise ValueError(f"{self._at(name)}: one of {', '.join(choices)} is expected")
        return value

    def count(self, name: str, most: int) -> int:
        """An integer from 0 to `most`."""
        value = self._member(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            raise ValueError(f"{self._at(name)}: an integer from 0 to {most} is expected")
        return value

    def moment(self, name: str) -> str:
        """ISO 8601 with a time zone."""
        return self._checked(moment, name)

    def component(self, name: str) -> str:
        """A name of a file or a directory."""
        return self._checked(component, name)

    def texts(self, name: str) -> list[str]:
        """Strings."""
        return [_text(value, f"{self._at(name)}.{number}") for number, value in enumerate(self._list(name))]

    def inner(self, name: str) -> Fields:
        """An object."""
        return Fields(self._member(name), self._at(name))

    def each(self, name: str) -> list[Fields]:
        """Objects."""
        return [Fields(value, f"{self._at(name)}.{number}") for number, value in enumerate(self._list(name))]

    def _checked(self, check: Callable[[str], str], name: str) -> str:
        value = self.text(name)
        try:
            return check(value)
        except ValueError as error:
            raise ValueError(f"{self._at(name)}: {error}") from None

    def _list(self, name: str) -> list[Any]:
        value = self._member(name)
        if not isinstance(value, list):
            raise ValueError(f"{self._at(name)}: a list is expected")
        return value

    def _member(self, name: str) -> Any:
        if name not in self._members:
            raise ValueError(f"{self._at(name)}: Field required")
        return self._members[name]

    def _at(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{where}: a string is expected")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{where}: a string of Unicode characters is expected") from None
    return value

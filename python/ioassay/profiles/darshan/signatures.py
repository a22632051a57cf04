"""How Darshan's logs, and the text of one, begin. Not: finding them (`recognise`)."""

from __future__ import annotations

import re
from typing import Literal

MAGIC = 6567223
"""Stands behind the version of a log, from Darshan 2 on."""

_TEXT = b"# darshan log version:"

_OLD_VERSION = re.compile(rb"([12]\.\d{1,2})\0{2}")
"""Of the format of a log of Darshan 1 or 2, whose content follows at once."""

BEGINNING_BYTES = 64
"""As much of a file tells what it is."""

Form = Literal["log", "text"]


def form_of(beginning: bytes) -> Form | None:
    """What a file is that begins so, of what is read. `None`: neither."""
    if beginning.startswith(_TEXT):
        return "text"
    number = beginning[8:16]
    has_magic = len(number) == 8 and MAGIC in (int.from_bytes(number, "little"), int.from_bytes(number, "big"))
    return "log" if has_magic and old_version(beginning) is None else None


def old_version(beginning: bytes) -> str | None:
    """The version of the format of a log of Darshan 1 or 2 that begins so. `None`: it is no such log."""
    match = _OLD_VERSION.match(beginning)
    return match[1].decode() if match else None

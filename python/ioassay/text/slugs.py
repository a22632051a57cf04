"""Names for files and anchors, made of titles."""

from __future__ import annotations

import re


def slug(text: str, default: str, most: int = 120) -> str:
    """`text` in at most so many small letters, digits and hyphens; `default` where none are left."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:most].strip("-") or default


def unique(name: str, taken: set[str]) -> str:
    """`name`, or with the first number behind it that is not yet `taken`; is taken from then on."""
    at, found = 1, name
    while found in taken:
        at += 1
        found = f"{name}-{at}"
    taken.add(found)
    return found

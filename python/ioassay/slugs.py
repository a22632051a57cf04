"""Names for files and anchors, made of titles."""

from __future__ import annotations

import re

MOST = 80
"""Letters of a name."""


def slug(text: str, default: str) -> str:
    """`text` in small letters, digits and hyphens; `default` where nothing of it is left."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:MOST].strip("-") or default


def unique(name: str, taken: set[str]) -> str:
    """`name`, or with the first number behind it that is not yet `taken`; is taken from then on."""
    at, found = 1, name
    while found in taken:
        at += 1
        found = f"{name}-{at}"
    taken.add(found)
    return found

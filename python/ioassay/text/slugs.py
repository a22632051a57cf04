"""Makes names of files and anchors from titles."""

from __future__ import annotations

import re


def slug(text: str, default: str, most: int = 120) -> str:
    """`text` as at most `most` lowercase letters, digits and hyphens; `default` if nothing remains."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:most].strip("-") or default


def unique(name: str, taken: set[str]) -> str:
    """`name`, with the first free number appended if it is in `taken`; adds the result to `taken`."""
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name}-{number}"
    taken.add(candidate)
    return candidate

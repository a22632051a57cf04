"""Words that sentences everywhere are made of. Not: numbers and their units (`units`, `format`)."""

from __future__ import annotations

from collections.abc import Sequence


def listed(items: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`; `last` stands before the last one. Empty of nothing."""
    return f" {last} ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))

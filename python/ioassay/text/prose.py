"""Parts of sentences. Not: numbers and their units (`units`, `reports.format`)."""

from __future__ import annotations

from collections.abc import Sequence


def listed(items: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`; `last` precedes the last item. Empty for no items."""
    return f" {last} ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))

"""Published numbers beside the arithmetic: first what they come to, then each, then what prices are relative to.

Not: finding any of it (`ioassay.sizing.published`).
"""

from __future__ import annotations

from ioassay.reports.document import Block, Bullets, Paragraph, Section
from ioassay.reports.sizing.published.conclusions import conclusions
from ioassay.reports.sizing.published.prices import price_section
from ioassay.reports.sizing.published.table import table
from ioassay.sizing.published.model import Published


def blocks(published: Published) -> list[Block]:
    """Nothing where nothing is stated."""
    if not published.figures:
        return []
    first, *others = conclusions(published)
    sentences: list[Block] = [Paragraph(first), *([Bullets(others)] if others else [])]
    return [
        Section("Do the published numbers follow?", sentences),
        Section("Published numbers", [table(published)]),
        *([] if published.prices is None else [price_section(published.prices)]),
    ]

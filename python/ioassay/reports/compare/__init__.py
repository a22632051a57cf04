"""A comparison of runs, published systems and predictions as a report.

Not: computing a ratio (`ioassay.analysis.compare`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from ioassay.reports.compare.content import Content
    from ioassay.reports.document import Document


@dataclass(frozen=True)
class ComparisonReport:
    """A comparison. Its table has a row for each ratio, its data have everything."""

    content: Content

    def document(self, *, with_figures: bool) -> Document:
        """The verdict, and each series with its ratios."""
        from ioassay.reports.compare import document  # noqa: PLC0415

        if not with_figures:
            return document.document(self.content)
        from ioassay.reports.compare.pictures import pictures  # noqa: PLC0415

        return document.document(self.content, pictures(self.content))

    def data(self) -> Mapping[str, Any]:
        from ioassay.reports.compare import data  # noqa: PLC0415

        return data.data(self.content)

    def table(self) -> pl.DataFrame:
        from ioassay.reports.compare import data  # noqa: PLC0415

        return data.table(self.content)

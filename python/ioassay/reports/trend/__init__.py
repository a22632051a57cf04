"""Rates over stored runs, as a report. Not: detecting a change (`ioassay.analysis.trend`), reading runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ioassay.reports.trend import data, document

if TYPE_CHECKING:
    import polars as pl

    from ioassay.reports.document import Document
    from ioassay.reports.trend.content import Content


@dataclass(frozen=True)
class TrendReport:
    """A trend. Its table has a row for each run and point, its data have everything."""

    content: Content

    def document(self, *, with_figures: bool) -> Document:
        """What changed and when, and each series over time."""
        if not with_figures:
            return document.document(self.content)
        from ioassay.reports.trend.pictures import pictures  # noqa: PLC0415

        return document.document(self.content, pictures(self.content))

    def data(self) -> Mapping[str, Any]:
        return data.data(self.content)

    def table(self) -> pl.DataFrame:
        return data.table(self.content)

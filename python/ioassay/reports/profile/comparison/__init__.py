"""Two profiles against one another, as a report. Not: comparing them (`ioassay.analysis.profile.comparison`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ioassay.reports.profile.comparison import data, document

if TYPE_CHECKING:
    import polars as pl

    from ioassay.reports.document import Document
    from ioassay.reports.profile.comparison.content import Content


@dataclass(frozen=True)
class ProfileComparisonReport:
    """A comparison of two profiles. Its table has a row for each amount of a class, its data have everything."""

    content: Content

    def document(self, *, with_figures: bool) -> Document:
        """What was unlike, what changed, then classes, findings, time, processes and files."""
        if not with_figures:
            return document.document(self.content)
        from ioassay.reports.profile.comparison.pictures import pictures  # noqa: PLC0415

        return document.document(self.content, pictures(self.content))

    def data(self) -> Mapping[str, Any]:
        return data.data(self.content)

    def table(self) -> pl.DataFrame:
        return data.table(self.content)

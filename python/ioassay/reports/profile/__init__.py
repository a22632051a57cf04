"""The I/O profile of an application, as a report. Not: judging it (`ioassay.analysis.profile`), reading records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from ioassay.reports.document import Document
    from ioassay.reports.profile.content import Content


@dataclass(frozen=True)
class ProfileReport:
    """A profile. Its table has a row for each file and operation, its data have everything else too."""

    content: Content

    def document(self, *, with_figures: bool) -> Document:
        """Findings first, then time, processes, files and operations."""
        from ioassay.reports.profile import document  # noqa: PLC0415

        if not with_figures:
            return document.document(self.content)
        from ioassay.reports.profile.pictures import pictures  # noqa: PLC0415

        return document.document(self.content, pictures(self.content))

    def data(self) -> Mapping[str, Any]:
        from ioassay.reports.profile import data  # noqa: PLC0415

        return data.data(self.content)

    def table(self) -> pl.DataFrame:
        from ioassay.reports.profile import data  # noqa: PLC0415

        return data.table(self.content)

"""The configurations that `ioassay size` found, as a report. Not: searching (`ioassay.sizing.search`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ioassay.reports import Report
from ioassay.reports.sizing.search import data, document
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.search.model import Search

if TYPE_CHECKING:
    from ioassay.reports.document import Block, Document


@dataclass(frozen=True)
class SearchReport(Report[Search]):
    """A search. Its table has a row for each configuration on the front, its data have everything."""

    content: Search
    catalogue: Catalogue

    def document(self, *, with_figures: bool) -> Document:
        """The verdict, what was needed, the front, each configuration on it, and what moves the answer."""
        if not with_figures:
            return document.document(self.content, self.catalogue)
        from ioassay.reports.sizing.search.pictures import pictures  # noqa: PLC0415

        return document.document(self.content, self.catalogue, pictures(self.content, self.catalogue))

    def terminal(self) -> Sequence[Block]:
        """The verdict, the front, the first configuration, and what moves it."""
        return document.terminal(self.content, self.catalogue)

    def data(self) -> Mapping[str, Any]:
        return data.data(self.content, self.catalogue)

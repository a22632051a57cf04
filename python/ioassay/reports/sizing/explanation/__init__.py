"""What `ioassay size explain` says of configurations, as a report. Not: computing (`ioassay.sizing.evaluate`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ioassay.reports.sizing.explanation import data, document
from ioassay.reports.sizing.explanation.explained import Explained
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.configuration import ConfigurationFile

if TYPE_CHECKING:
    import polars as pl

    from ioassay.reports.document import Block, Document


@dataclass(frozen=True)
class ExplanationReport:
    """The configurations of a file. Its table has a row for each, its data have every step."""

    file: ConfigurationFile
    catalogue: Catalogue
    explained: Sequence[Explained]
    """In the order of the file, or some of it."""

    def document(self, *, with_figures: bool) -> Document:
        """All configurations in one table, then each with its arithmetic."""
        if not with_figures:
            return document.document(self.file, self.catalogue, self.explained)
        from ioassay.reports.sizing.explanation.pictures import pictures  # noqa: PLC0415

        drawn = [pictures(self.catalogue, one) for one in self.explained]
        return document.document(self.file, self.catalogue, self.explained, drawn)

    def terminal(self) -> Sequence[Block]:
        """The table and what limits each; of a single configuration every step."""
        return document.terminal(self.catalogue, self.explained)

    def data(self) -> Mapping[str, Any]:
        """`data.data`."""
        return data.data(self.file, self.catalogue, self.explained)

    def table(self) -> pl.DataFrame:
        """`data.table`."""
        return data.table(self.explained)

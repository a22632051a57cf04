"""What `ioassay size explain` says of configurations, as a report. Not: computing (`ioassay.sizing.evaluate`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ioassay.reports.sizing.explanation import data, document
from ioassay.reports.sizing.explanation.explained import Explained, explain
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.configuration import ConfigurationFile
from ioassay.sizing.configurations import choose
from ioassay.sizing.published.check import check
from ioassay.sizing.published.model import Published

if TYPE_CHECKING:
    import polars as pl

    from ioassay.reports.document import Block, Document


@dataclass(frozen=True)
class ExplanationReport:
    """The configurations of a file. Its table has a row for each, its data have every step."""

    file: ConfigurationFile
    catalogue: Catalogue
    explained: Sequence[Explained]
    """In the order of the file, or one of them."""
    published: Published
    """What the file states, held against the arithmetic; nothing where only one is explained."""

    def document(self, *, with_figures: bool) -> Document:
        """All configurations in one table, then each with its arithmetic."""
        if not with_figures:
            return document.document(self.file, self.catalogue, self.explained, self.published)
        from ioassay.reports.sizing.explanation.pictures import pictures  # noqa: PLC0415

        drawn = [pictures(self.catalogue, explanation) for explanation in self.explained]
        return document.document(self.file, self.catalogue, self.explained, self.published, drawn)

    def terminal(self) -> Sequence[Block]:
        """The table and what limits each; of a single configuration every step."""
        return document.terminal(self.catalogue, self.explained, self.published)

    def data(self) -> Mapping[str, Any]:
        """`data.data`."""
        return data.data(self.file, self.catalogue, self.explained, self.published)

    def table(self) -> pl.DataFrame:
        """`data.table`."""
        return data.table(self.explained)


def report(file: ConfigurationFile, catalogue: Catalogue, name: str | None = None) -> ExplanationReport:
    """All configurations of a file, and what it states of them, or the one of that name.

    Raises `UsageError` for what the file or the catalogue does not have.
    """
    if name is not None:
        chosen, configuration = choose(file, name)
        return ExplanationReport(file, catalogue, [explain(catalogue, chosen, configuration)], Published.nothing())
    explained = [
        explain(catalogue, configuration_name, configuration)
        for configuration_name, configuration in file.configurations.items()
    ]
    published = check(catalogue, file, {explanation.size.name: explanation.size for explanation in explained})
    return ExplanationReport(file, catalogue, explained, published)

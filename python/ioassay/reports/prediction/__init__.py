"""Predicted results of a study on a configuration, as a report and as a file to compare runs with.

Not: predicting (`sizing.prediction`), drawing (`figures.rate_by_clients`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ioassay.reports import Report
from ioassay.reports.prediction import document
from ioassay.sizing.prediction.model import Prediction

if TYPE_CHECKING:
    from ioassay.reports.document import Block, Document


@dataclass(frozen=True)
class PredictionReport(Report[Prediction]):
    """A prediction. Its table has a row for each point, its data have everything."""

    content: Prediction
    commands: Sequence[tuple[str, str]] = ()
    """The next steps, each with its command line."""

    def document(self, *, with_figures: bool) -> Document:
        """Each series with its points, what cannot be predicted, and the arithmetic."""
        if not with_figures:
            return document.document(self.content, self.commands)
        from ioassay.reports.prediction.pictures import pictures  # noqa: PLC0415

        return document.document(self.content, self.commands, pictures(self.content))

    def terminal(self) -> Sequence[Block]:
        """The document without the arithmetic."""
        return document.terminal(self.content, self.commands)

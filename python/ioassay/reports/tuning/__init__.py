"""The result of `ioassay tune check`, as a report. Not: judging (`tuning.check`), drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ioassay.reports import Report
from ioassay.reports.tuning import document
from ioassay.reports.tuning.path_text import COLUMNS
from ioassay.tuning.check import Examination

if TYPE_CHECKING:
    from ioassay.reports.document import Block, Document


@dataclass(frozen=True)
class CheckReport(Report[Examination]):
    """An examination. Its table has a row for each judgement, its data have everything."""

    content: Examination
    columns: int = COLUMNS
    """The width of the terminal."""

    def document(self, *, with_figures: bool) -> Document:
        """The path of an I/O, recommended changes, and what is as recommended."""
        return document.document(self.content, with_figures=with_figures)

    def terminal(self) -> Sequence[Block]:
        """The paths, what to change, and the rest in few lines."""
        return document.terminal(self.content, self.columns)

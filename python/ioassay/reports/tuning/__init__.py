"""The result of `ioassay tune check`, as a report. Not: judging (`tuning.check`), drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ioassay.reports.tuning import data, document
from ioassay.tuning.check import Examination

if TYPE_CHECKING:
    import polars as pl

    from ioassay.reports.document import Block, Document


@dataclass(frozen=True)
class CheckReport:
    """An examination. Its table has a row for each judgement, its data have everything."""

    examination: Examination

    def document(self, *, with_figures: bool) -> Document:
        """The path of an I/O, recommended changes, and what is as recommended."""
        return document.document(self.examination, with_figures=with_figures)

    def terminal(self, columns: int) -> Sequence[Block]:
        """What a terminal of that many columns shows: the paths, what to change, and the rest in few lines."""
        return document.terminal(self.examination, columns)

    def data(self) -> Mapping[str, Any]:
        return data.data(self.examination)

    def table(self) -> pl.DataFrame:
        return data.table(self.examination)

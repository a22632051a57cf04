"""The results of a tuning sweep as a report: the answer, then every trial. Not: judging trials (`tuning.sweep`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ioassay.reports.sweep import data, document
from ioassay.tuning.sweep.answer import Answer

if TYPE_CHECKING:
    import polars as pl

    from ioassay.reports.document import Block, Document


@dataclass(frozen=True)
class SweepReport:
    """A sweep. Its table has a row for each trial, its data have everything."""

    answer: Answer

    def document(self, *, with_figures: bool) -> Document:
        """The best settings, their gain, the contribution of each parameter, and all trials."""
        if not with_figures:
            return document.document(self.answer)
        from ioassay.reports.sweep.pictures import pictures  # noqa: PLC0415

        return document.document(self.answer, pictures(self.answer))

    @property
    def is_withheld(self) -> bool:
        """Whether doubts keep it from an answer."""
        return self.answer.verdict == "withheld"

    def terminal(self) -> Sequence[Block]:
        """The answer and the trials."""
        return document.terminal(self.answer)

    def data(self) -> Mapping[str, Any]:
        return data.data(self.answer)

    def table(self) -> pl.DataFrame:
        return data.table(self.answer)

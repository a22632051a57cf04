"""How the IO500 was tuned, as a report: what is recommended, and each of the five steps. Not: deciding any of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ioassay.reports.tune_io500 import data, document
from ioassay.tuning.io500.answer import Answer

if TYPE_CHECKING:
    import polars as pl

    from ioassay.reports.document import Block, Document


@dataclass(frozen=True)
class TuneIo500Report:
    """A tuning of the IO500. Its table has a row for each measurement, its data have everything."""

    answer: Answer

    def document(self, *, with_figures: bool) -> Document:
        """The recommendation, the five steps, and the rates and scores by ranks per node."""
        if not with_figures:
            return document.document(self.answer)
        from ioassay.reports.tune_io500.pictures import pictures  # noqa: PLC0415

        return document.document(self.answer, pictures(self.answer))

    @property
    def is_withheld(self) -> bool:
        """Whether doubts keep it from a recommendation."""
        return self.answer.is_withheld

    def terminal(self) -> Sequence[Block]:
        """The tables of steps 4 and 5, and the answer."""
        return document.terminal(self.answer)

    def data(self) -> Mapping[str, Any]:
        return data.data(self.answer)

    def table(self) -> pl.DataFrame:
        return data.table(self.answer)

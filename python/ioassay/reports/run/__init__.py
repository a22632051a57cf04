"""The report of a run, results first, and its summary on one page. Not: estimates (`ioassay.analysis`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from ioassay.reports.compare.content import Side
    from ioassay.reports.document import Document
    from ioassay.reports.run.content import Content
    from ioassay.store.loaded import LoadedRun


@dataclass(frozen=True)
class RunReport:
    """The report of a run, with a section that compares it with what it is `against`.

    Its data are the run, the peak and sustained table, the verdicts, the measurements and the doubts; its table has a
    row for each measurement, and no comparison.
    """

    run: LoadedRun
    against: Sequence[Side] = ()
    is_full: bool = False
    """With the appendix on paper and in Markdown too, and every repetition over time."""

    def document(self, *, with_figures: bool) -> Document:
        """Summary, results, method, limits."""
        from ioassay.reports.run import document  # noqa: PLC0415

        if not with_figures:
            return document.document(self.content, is_full=self.is_full)
        from ioassay.reports.run import pictures  # noqa: PLC0415

        drawn = pictures.drawn(self.content, is_full=self.is_full)
        return document.document(self.content, drawn, is_full=self.is_full)

    def summary(self) -> Document:
        """One page of A4 with figures, for those who decide: what came out, what to beware of, how far to trust it."""
        from ioassay.figures.drawing import drawing  # noqa: PLC0415

        drawing.start()
        from ioassay.reports.run import summary  # noqa: PLC0415

        return summary.document(self.content)

    def data(self) -> Mapping[str, Any]:
        """`data.data`."""
        from ioassay.reports.run import data  # noqa: PLC0415

        return data.data(self.content)

    def table(self) -> pl.DataFrame:
        """`tables.measurements`."""
        from ioassay.reports.run import tables  # noqa: PLC0415

        return tables.measurements(self.run)

    @cached_property
    def content(self) -> Content:
        """What all of them say. To assemble it takes about as long as to write a text of it."""
        from ioassay.reports.run.content import assemble  # noqa: PLC0415

        return assemble(self.run, self.against)

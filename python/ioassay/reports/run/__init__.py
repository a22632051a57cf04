"""The report of a run, results first, and its summary on one page. Not: estimates (`ioassay.analysis`).

A table and its sentences stand in the file of the section that shows them:

    opening              the facts below the title, how the run ended, what it lacks
    summary              Summary, and the page of A4: key results and main findings in sentences
    results              Results; of each kind of result a file: `levels` (peak and sustained), `medians` (of a command
                         line), `given_rates`, `surveys`, `io500`, `faithfulness` (of a replay), `verdicts` (acceptance)
    servers              Servers and devices, of runs that were watched
    document             Findings, Comparison, and the order of all sections
    method               Method and Configuration: test matrix, terms, nodes, settings
    limits               Limits: what is valid, what the run cannot tell, doubts
    appendix             every measurement and its costs, time lines, sources, commands; `workloads`: rows of its tables
    caveats              the words of doubts beside a number, in any section

What several formats need is assembled once, in `content`. `pictures` has the figures, `terminal` the end of
`ioassay run`, `answer` that of `ioassay quick` (`storage`: its line about the file system), `data` the JSON, `tables`
the frames, `publication` the files of `ioassay publish`, `as_system` the run as a file about a system. The sentence of
a finding stands beside its finder (`ioassay.analysis.findings`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ioassay.reports import Report

if TYPE_CHECKING:
    import polars as pl

    from ioassay.reports.compare.content import Side
    from ioassay.reports.document import Block, Document
    from ioassay.reports.run.content import Content
    from ioassay.store.loaded import LoadedRun


@dataclass(frozen=True)
class RunReport(Report["Content"]):
    """The report of a run, with a section that compares it with what it is `against`.

    Its data are the run, the peak and sustained table, the verdicts, the measurements and the doubts; its table has a
    row for each measurement, and no comparison.
    """

    run: LoadedRun
    against: Sequence[Side] = ()
    is_full: bool = False
    """The appendix on paper and in Markdown too, and every repetition over time."""

    def document(self, *, with_figures: bool) -> Document:
        """Summary, results, method, limits."""
        from ioassay.reports.run import document  # noqa: PLC0415

        if not with_figures:
            return document.document(self.content, is_full=self.is_full)
        from ioassay.reports.run import pictures  # noqa: PLC0415

        drawn = pictures.drawn(self.content, is_full=self.is_full)
        return document.document(self.content, drawn, is_full=self.is_full)

    def summary(self) -> Document:
        """One page of A4 with figures, for decisions: results, warnings, and how far to trust them."""
        from ioassay.figures.drawing import drawing  # noqa: PLC0415

        drawing.start()
        from ioassay.reports.run import summary  # noqa: PLC0415

        return summary.document(self.content)

    def terminal(self) -> Sequence[Block]:
        """The end of `ioassay run`."""
        from ioassay.reports.run import terminal  # noqa: PLC0415

        return terminal.blocks(self.content)

    def table(self) -> pl.DataFrame:
        """`tables.measurements`."""
        from ioassay.reports.run import tables  # noqa: PLC0415

        return tables.measurements(self.run)

    @cached_property
    def content(self) -> Content:  # type: ignore[override]  # nothing assigns it: the class is frozen
        """The content of every format. Assembling it takes about as long as rendering it as text."""
        from ioassay.reports.run.content import assemble  # noqa: PLC0415

        return assemble(self.run, self.against)

"""The results of a tuning sweep as a report: the answer, then every trial. Not: judging trials (`tuning.sweep`)."""

from __future__ import annotations

from dataclasses import dataclass

from ioassay.reports import Report
from ioassay.tuning.sweep.answer import Answer


@dataclass(frozen=True)
class SweepReport(Report[Answer]):
    """A sweep. Its table has a row for each trial, its data have everything."""

    content: Answer

    @property
    def is_withheld(self) -> bool:
        """Whether doubts keep it from an answer."""
        return self.content.verdict == "withheld"

"""The tuning of the IO500 as a report: the recommendation, and each of the five steps. Not: deciding any of them."""

from __future__ import annotations

from dataclasses import dataclass

from ioassay.reports import Report
from ioassay.tuning.io500.answer import Answer


@dataclass(frozen=True)
class TuneIo500Report(Report[Answer]):
    """A tuning of the IO500. Its table has a row for each measurement, its data have everything."""

    content: Answer

    @property
    def is_withheld(self) -> bool:
        """Whether doubts keep it from a recommendation."""
        return self.content.is_withheld

"""A comparison of runs, published systems and predictions as a report.

Not: computing a ratio (`ioassay.analysis.compare`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ioassay.reports import Report

if TYPE_CHECKING:
    from ioassay.reports.compare.content import Content


@dataclass(frozen=True)
class ComparisonReport(Report["Content"]):
    """A comparison. Its table has a row for each ratio, its data have everything."""

    content: Content

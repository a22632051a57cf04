"""Two profiles against one another, as a report. Not: comparing them (`ioassay.analysis.profile.comparison`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ioassay.reports import Report

if TYPE_CHECKING:
    from ioassay.reports.profile.comparison.content import Content


@dataclass(frozen=True)
class ProfileComparisonReport(Report["Content"]):
    """A comparison of two profiles. Its table has a row for each amount of a class, its data have everything."""

    content: Content

"""Rates over stored runs, as a report. Not: detecting a change (`ioassay.analysis.trend`), reading runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ioassay.reports import Report

if TYPE_CHECKING:
    from ioassay.reports.trend.content import Content


@dataclass(frozen=True)
class TrendReport(Report["Content"]):
    """A trend. Its table has a row for each run and point, its data have everything."""

    content: Content

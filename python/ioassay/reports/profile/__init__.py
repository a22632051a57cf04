"""The I/O profile of an application, as a report. Not: judging it (`ioassay.analysis.profile`), reading records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ioassay.reports import Report

if TYPE_CHECKING:
    from ioassay.reports.profile.content import Content


@dataclass(frozen=True)
class ProfileReport(Report["Content"]):
    """A profile. Its table has a row for each file and operation, its data have everything else too."""

    content: Content

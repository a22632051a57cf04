"""The words of limits that runs measured on the storage: which, where from, and what stays a rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from ioassay.analysis.profile.measured_limits import MeasuredLimits, Unused
from ioassay.analysis.profile.thresholds import Thresholds
from ioassay.reports.document import Block, Bullets, Column, Notes, Paragraph, Table, numbers
from ioassay.reports.profile.wording import threshold
from ioassay.text import format

_UNUSED: Mapping[Unused, str] = {
    "transfer sizes": "no sweep of transfer sizes in order (reads count that are direct, or cold), so "
    "small_request_bytes is the rule's",
    "random order": "no random requests beside sequential ones of the same size, so random_share is the rule's",
    "uncached reads": "no direct reads of at most 16 KiB, nor reads from memory, so cached_read_ns is the rule's",
    "latencies": "no latencies of calls that reached the storage, so stall_s and stat_calls are the rules'",
}


def measured(limits: MeasuredLimits) -> Iterator[str]:
    """A line for each limit that was measured: `stall_s of reads: 312 ms (measured, run: files, cold, 1 rank)`."""
    for about, limit in limits.measured:
        name, _, rest = threshold(limit).partition(":")
        yield f"{name} of {about}s:{rest}" if about else f"{name}:{rest}"


def remarks(limits: MeasuredLimits) -> Iterator[str]:
    """Limits that the runs did not measure, and runs that may have measured other storage."""
    if limits.elsewhere:
        them = "it" if len(limits.elsewhere) == 1 else "them"
        yield (
            f"No file of this profile is on the file system that was measured by {', '.join(limits.elsewhere)}: limits "
            f"from {them} may be those of other storage."
        )
    if limits.unused:
        yield f"Not measured: {'; '.join(_UNUSED[unused] for unused in limits.unused)}."


def section(limits: MeasuredLimits) -> list[Block]:
    """The section on measured limits."""
    about = "These limits come from what was measured on the storage. Rules have the others."
    return [
        *([Paragraph(about, note=True)] if limits.measured else []),
        Bullets(list(measured(limits))),
        Notes(list(remarks(limits))),
        _needs(limits),
    ]


def _needs(limits: MeasuredLimits) -> Table:
    columns = [Column("Operation"), *numbers("Calls", "Median of the run", "Storage needs", "Spent")]
    rows = [
        [
            need.operation,
            f"{need.calls:,}",
            format.duration(need.median_ns),
            format.duration(need.needed_ns),
            format.duration(need.spent_ns),
        ]
        for need in limits.needs
    ]
    return Table(columns, rows, "Metadata: what the calls would take at the run's median, and what they took")


def data(thresholds: Thresholds, limits: MeasuredLimits | None) -> dict[str, Any]:
    """All limits with their origins, and remarks of the runs."""
    document: dict[str, Any] = {
        "limits": [{**asdict(limit), "about": about or None} for about, limit in thresholds.every()],
    }
    if limits is not None:
        document["limits_not_measured"] = list(limits.unused)
        document["limits_of_other_storage"] = list(limits.elsewhere)
        document["storage_needs"] = [
            {
                "operation": need.operation,
                "calls": need.calls,
                "median_ns": need.median_ns,
                "needed_ns": need.needed_ns,
                "spent_ns": need.spent_ns,
            }
            for need in limits.needs
        ]
    return document

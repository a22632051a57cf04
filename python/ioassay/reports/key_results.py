"""The key results of a run, a sentence each, with the marks of the doubts about the numbers in it.

Not: what else an abstract says (`abstract`), and how far the numbers can be trusted on the whole (`wording.trust`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ioassay.reports import format
from ioassay.reports.content import Content
from ioassay.units import format_count

MOST = 10
"""Sentences; the tables have all."""

MOST_IN_FULL = 4
"""Of a workload with more phases, the sentence tells the peaks only; the table beside it tells all."""

MOST_SINGLE = 6
"""Rates that a sentence tells of a workload that was not swept."""


@dataclass(frozen=True)
class KeyResult:
    """A sentence, or a part of one."""

    text: str
    marks: tuple[str, ...] = ()
    """Of the doubts about its numbers, in the order in which the report explains them."""


def key_results(content: Content) -> list[KeyResult]:
    """A sentence per row of the peak and sustained table, or what stands for it where nothing was swept."""
    results = [
        KeyResult(table.sentence, _joined(content, (line.marks for line in table.lines)))
        for table in content.score_tables
    ]
    results += [*_of_writes_and_reads(content), *_of_other_work(content)]
    results += [
        KeyResult(grid.sentence, _joined(content, (cell.marks for _, cells in grid.rows for cell in cells)))
        for survey in content.surveys
        for grid in survey.grids
    ]
    results = results or _single(content)
    more = len(results) - MOST
    return results[:MOST] + ([KeyResult(f"{format_count(more, 'more workload')} in the results.")] if more > 0 else [])


def _joined(content: Content, marks: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    found = {mark for some in marks for mark in some}
    return tuple(group.mark for group in content.doubts.groups if group.mark in found)


def _of_writes_and_reads(content: Content) -> list[KeyResult]:
    results = []
    # Imported results may not tell how many there were.
    known = " of a known number of clients" if content.document.imported else ""
    for line in content.summary:
        peak_write, peak_read, sustained_write, sustained_read = line.cells
        parts = []
        for operation, peak, sustained in (
            ("writes", peak_write, sustained_write),
            ("reads", peak_read, sustained_read),
        ):
            if peak.text == format.ABSENT:
                parts.append(f"no valid {operation}{known}")
            else:
                parts.append(f"{operation} peak at {peak.text} with {peak.rests_on} and sustain {sustained.text}")
        marks = _joined(content, (cell.marks for cell in line.cells))
        results.append(KeyResult(f"{line.label}: {'; '.join(parts)}.", marks))
    return results


def _of_other_work(content: Content) -> list[KeyResult]:
    parts: dict[str, list[KeyResult]] = {}
    many = Counter(row.label for row in content.by_series)
    for row in content.by_series:
        if row.operation in ("create-tree", "remove-tree"):
            continue  # a handful of operations around what is measured; the table has them
        told = [row.peak]
        if row.peak.text == format.ABSENT:
            said = f"{row.series}: nothing valid"
        else:
            said = f"{row.series} peaks at {row.peak.text} with {row.peak.rests_on}"
            if many[row.label] <= MOST_IN_FULL:
                said += f" and sustains {row.sustained.text}"
                told.append(row.sustained)
        parts.setdefault(row.label, []).append(KeyResult(said, _joined(content, (cell.marks for cell in told))))
    return [_of_workload(content, label, own, "; ") for label, own in parts.items()]


def _single(content: Content) -> list[KeyResult]:
    parts: dict[str, list[KeyResult]] = {}
    for line in content.medians:
        parts.setdefault(line.label, []).append(KeyResult(f"{line.series} {line.median}", line.marks))
    return [_of_workload(content, label, _shortened(own), ", ") for label, own in parts.items()]


def _shortened(rates: list[KeyResult]) -> list[KeyResult]:
    more = len(rates) - MOST_SINGLE
    return [*rates[:MOST_SINGLE], KeyResult(f"and {format_count(more, 'more rate')}")] if more > 0 else rates


def _of_workload(content: Content, label: str, parts: list[KeyResult], between: str) -> KeyResult:
    text = between.join(part.text for part in parts)
    return KeyResult(f"{label}: {text}.", _joined(content, (part.marks for part in parts)))

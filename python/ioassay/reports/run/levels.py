"""The peak and sustained table: its numbers, what they rest on, and the marks of the doubts about them.

Not: what peak and sustained are (`ioassay.analysis.peak_sustained`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from ioassay.analysis import axes, ceilings, peak_sustained, rates, series
from ioassay.analysis.ceilings import Limit
from ioassay.analysis.doubts import Doubts
from ioassay.analysis.peak_sustained import Level
from ioassay.reports import format
from ioassay.reports.ceilings import of_the_ceiling
from ioassay.reports.document import Marks, Span, Text
from ioassay.reports.names import NOUNS, Names
from ioassay.results.document import Operation
from ioassay.results.schema import Measurement
from ioassay.units import format_rate


@dataclass(frozen=True)
class Cell:
    """A number with its unit, what it rests on, and the marks of the doubts about it."""

    text: str
    rests_on: str = ""
    marks: tuple[str, ...] = ()
    ceiling: str = ""
    """Its share of the lowest ceiling on its path, where that is the same for all that it rests on."""
    interval: str = ""
    """Of a peak of enough repetitions: where the highest true rate lies."""
    luck: str = ""
    """How much of a peak may be chance, where several points are alike."""
    stonewall: str = ""
    """The rate at the stonewall, where one came."""

    @property
    def notes(self) -> list[str]:
        """What stands below the number, in small letters: what it rests on first."""
        return [text for text in (self.rests_on, self.interval, self.luck, self.stonewall, self.ceiling) if text]

    @property
    def shown(self) -> Text:
        """The number with its marks and notes."""
        return (self.text, Marks(self.marks), *(Span(note, "below") for note in self.notes))


@dataclass(frozen=True)
class SummaryLine:
    """A row of the peak and sustained table: peak write, peak read, sustained write, sustained read."""

    label: str
    cells: tuple[Cell, Cell, Cell, Cell]


@dataclass(frozen=True)
class SeriesLine:
    """A row of the peak and sustained table of workloads that do more than one write and one read."""

    label: str
    series: str
    operation: str
    peak: Cell
    sustained: Cell


def summary_line(
    row: peak_sustained.Row, points: pl.DataFrame, found: Doubts, limits: Mapping[Measurement, Limit], names: Names
) -> SummaryLine:
    """The row of a workload that does one write and one read."""

    def both(operation: str) -> tuple[Cell, Cell]:
        levels = row.of(operation)
        measured = rates.of(points, row.workload, operation)
        return (
            _level(levels.peak if levels else None, row, measured, found, limits, names=names),
            _level(levels.sustained if levels else None, row, measured, found, limits, names=names),
        )

    write, read = both("write"), both("read")
    return SummaryLine(label=row.label, cells=(write[0], read[0], write[1], read[1]))


def series_lines(
    row: peak_sustained.Row, points: pl.DataFrame, found: Doubts, limits: Mapping[Measurement, Limit], names: Names
) -> list[SeriesLine]:
    """The rows of any other workload, one for each series."""
    lines = []
    for one, levels in row.series.items():
        measured = rates.of(points, row.workload, one.operation, one.phase, one.job)
        lines.append(
            SeriesLine(
                label=row.label,
                series=series.label(one),
                operation=one.operation,
                peak=_level(
                    levels.peak if levels else None, row, measured, found, limits, names=names, operation=one.operation
                ),
                sustained=_level(
                    levels.sustained if levels else None,
                    row,
                    measured,
                    found,
                    limits,
                    names=names,
                    operation=one.operation,
                ),
            )
        )
    return lines


def _level(
    level: Level | None,
    row: peak_sustained.Row,
    measured: pl.DataFrame,
    found: Doubts,
    limits: Mapping[Measurement, Limit],
    *,
    names: Names,
    operation: Operation | None = None,
) -> Cell:
    if level is None:
        return Cell(format.ABSENT, "nothing valid measured")
    at_level = pl.col("valid") & pl.col(axes.column(level.axis)).is_in(list(level.at))
    places = rates.places(axes.at(axes.with_column(measured, level.axis).filter(at_level), level.others))
    ceiling = ceilings.common(limits, places) if row.unit.column == "rate_bytes_per_s" else None
    unit = row.unit.name if operation is None else format.counting(row.unit.name, NOUNS[operation])

    def text(rate: float) -> str:
        return f"{format_rate(rate, row.unit.name).split(' ')[0]} {unit}"

    known = level.interval
    return Cell(
        text=text(level.rate),
        rests_on=", ".join(
            filter(None, (format.points(level.at, level.axis, names.unit(level.axis)), names.values(level.others)))
        ),
        marks=found.marks(places),
        ceiling=of_the_ceiling(level.rate, ceiling) if ceiling else "",
        interval=format.interval(text(known.low), text(known.high), known.confidence) if known else "",
        luck=f"best of {level.alike} alike: up to {format.share(level.luck)} too high" if level.alike > 1 else "",
        stonewall="" if level.stonewall is None else f"{text(level.stonewall)} at the stonewall",
    )

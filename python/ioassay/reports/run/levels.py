"""The peak and sustained table: its numbers, what they rest on, and their doubts, in words.

Not: what peak and sustained are (`ioassay.analysis.peak_sustained`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from ioassay.analysis import axes, ceilings, peak_sustained, rates, series, stragglers
from ioassay.analysis.ceilings import Limit
from ioassay.analysis.doubts import Doubts
from ioassay.analysis.intervals import WANTED
from ioassay.analysis.names import NOUNS, Names, sweep_points
from ioassay.analysis.peak_sustained import Level, PeakSustained
from ioassay.reports.ceilings import of_the_ceiling
from ioassay.reports.document import Column, Span, Table, Text, changes, numbers
from ioassay.reports.run import caveats
from ioassay.store.document import Operation
from ioassay.store.measurement import Measurement
from ioassay.text import format


@dataclass(frozen=True)
class Cell:
    """A number with its unit, what it rests on, and the marks of the doubts about it."""

    text: str
    rests_on: str = ""
    marks: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    """The doubts that change what it says, in words; of a sustained rate those that its peak does not have."""
    letters: tuple[str, ...] = ()
    """The marks of all doubts that change what it says."""
    ceiling: str = ""
    """The share of the lowest ceiling on the path, if it is the same for all measurements behind the number."""
    interval: str = ""
    """The confidence interval of a peak; empty with too few repetitions."""
    luck: str = ""
    """The share of a peak that may be chance, where several points do not differ significantly."""
    stonewall: str = ""
    """The rate at the stonewall, where one came."""

    @property
    def notes(self) -> list[str]:
        """The lines below the number, in small print: what it rests on first."""
        return [text for text in (self.rests_on, self.interval, self.luck, self.stonewall, self.ceiling) if text]


@dataclass(frozen=True)
class SummaryLine:
    """A row of the peak and sustained table: peak write, peak read, sustained write, sustained read."""

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class SeriesLine:
    """A row of the peak and sustained table of workloads that do more than one write and one read."""

    label: str
    series: str
    peak: Cell
    sustained: Cell


def _shown(cell: Cell) -> Text:
    """The number, what it rests on, and what to know before using it."""
    below = (Span(note, "below") for note in cell.notes)
    return (cell.text, *below, *(Span(caveat, "caveat") for caveat in cell.caveats))


def table(lines: Sequence[SummaryLine], shown: Callable[[Cell], Text] = _shown) -> Table:
    """The table of the workloads that do one write and one read."""
    if not is_swept(by_phase(lines)):
        rows = [[line.label, *map(shown, line.cells[:2])] for line in lines]
        return Table([Column("Workload"), *numbers("Write", "Read")], rows, title="Performance")
    levels = [
        Column(operation, is_number=True, group=level, full_head=f"{level} {operation.lower()}")
        for level in ("Peak", "Sustained")
        for operation in ("Write", "Read")
    ]
    rows = [[line.label, *map(shown, line.cells)] for line in lines]
    return Table([Column("Workload"), *levels], rows, title="Peak and sustained performance")


def is_swept(lines: Sequence[SeriesLine]) -> bool:
    """Whether a sustained rate is another than its peak: of a single point both are the same."""
    return any((line.sustained.text, line.sustained.rests_on) != (line.peak.text, line.peak.rests_on) for line in lines)


def by_phase(lines: Sequence[SummaryLine]) -> list[SeriesLine]:
    """The rows of `table` as rows of `series_table`, for where four numbers have no room beside one another."""
    return [
        SeriesLine(line.label, operation, line.cells[index], line.cells[index + 2])
        for line in lines
        for index, operation in enumerate(("write", "read"))
    ]


def series_table(lines: Sequence[SeriesLine]) -> Table:
    """The table of all other workloads."""
    swept = is_swept(lines)
    return Table(
        [
            Column("Workload", merges=True),
            Column("Phase"),
            *numbers(*(("Peak", "Sustained") if swept else ("Rate",))),
        ],
        [[line.label, line.series, _shown(line.peak), *([_shown(line.sustained)] if swept else [])] for line in lines],
        title="Peak and sustained rates, phase by phase" if swept else "Rates, phase by phase",
        rules=changes(line.label for line in lines),
    )


@dataclass(frozen=True)
class Levels:
    """Puts the levels of a run into words."""

    points: pl.DataFrame
    doubts: Doubts
    limits: Mapping[Measurement, Limit]
    names: Names

    def summary_line(self, row: peak_sustained.Row) -> SummaryLine:
        """The row of a workload that does one write and one read."""
        pairs = [
            self._cells(row.of(operation), row, rates.of(self.points, row.workload, operation))
            for operation in ("write", "read")
        ]
        return SummaryLine(row.label, (*(peak for peak, _ in pairs), *(sustained for _, sustained in pairs)))

    def series_lines(self, row: peak_sustained.Row) -> list[SeriesLine]:
        """The rows of any other workload, one for each series."""
        lines = []
        for series_key, both in row.series.items():
            measured = rates.of(self.points, row.workload, series_key.operation, series_key.phase, series_key.job)
            peak, sustained = self._cells(both, row, measured, series_key.operation)
            lines.append(SeriesLine(row.label, series.label(series_key), peak, sustained))
        return lines

    def _cells(
        self,
        both: PeakSustained | None,
        row: peak_sustained.Row,
        measured: pl.DataFrame,
        operation: Operation | None = None,
    ) -> tuple[Cell, Cell]:
        """Peak and sustained; a doubt about both stands beside the peak."""
        peak = self._cell(both.peak if both else None, row, measured, operation)
        sustained = self._cell(both.sustained if both else None, row, measured, operation)
        new_caveats = tuple(caveat for caveat in sustained.caveats if caveat not in peak.caveats)
        return peak, replace(sustained, caveats=new_caveats)

    def _cell(
        self,
        level: Level | None,
        row: peak_sustained.Row,
        measured: pl.DataFrame,
        operation: Operation | None = None,
    ) -> Cell:
        if level is None:
            return Cell(format.ABSENT, "nothing valid measured")
        at_level = pl.col("valid") & pl.col(axes.column(level.axis)).is_in(list(level.points))
        places = rates.places(axes.with_values(axes.with_column(measured, level.axis).filter(at_level), level.others))
        ceiling = ceilings.common(self.limits, places) if row.unit.column == "rate_bytes_per_s" else None
        noun = NOUNS[operation] if operation else ""

        def text(rate: float) -> str:
            return format.rate_in(row.unit.name, rate, noun)

        known = level.interval
        position = sweep_points(level.points, level.axis, self.names.unit(level.axis))
        return Cell(
            text=text(level.rate),
            rests_on=", ".join(filter(None, (position, self.names.values(level.others)))),
            marks=self.doubts.marks(places),
            caveats=caveats.beside_number(self.doubts, places),
            letters=tuple(group.mark for group, _ in self.doubts.decisive(places)),
            ceiling=of_the_ceiling(level.rate, ceiling) if ceiling else "",
            interval=format.interval(text(known.low), text(known.high), is_range=known.confidence < WANTED)
            if known
            else "",
            luck=f"best of {level.alike} alike: up to {format.share(level.luck)} too high" if level.alike > 1 else "",
            stonewall=f"{text(level.stonewall)} at the stonewall"
            if level.stonewall is not None and stragglers.is_apart(level.stonewall, level.rate)
            else "",
        )

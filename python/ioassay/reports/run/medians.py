"""The results of a front end's command line: the median of the repetitions of everything that it measured.

A study sweeps and asks for peaks; a command line has no sweep, so its key result is this table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from ioassay.analysis import ceilings, rates, series, stragglers
from ioassay.analysis.ceilings import Limit
from ioassay.analysis.doubts import Doubts
from ioassay.analysis.intervals import WANTED
from ioassay.analysis.names import NOUNS, Names
from ioassay.analysis.run_units import RunUnits
from ioassay.analysis.series import Series
from ioassay.reports.ceilings import of_the_ceiling
from ioassay.reports.document import Column, Span, Table, changes, numbers
from ioassay.reports.run import caveats
from ioassay.store.document import RunDocument
from ioassay.store.measurement import Measurement
from ioassay.text import format
from ioassay.text.rate_units import RateColumn


@dataclass(frozen=True)
class MedianLine:
    """A row of the table."""

    label: str
    series: str
    ranks: str
    median: str
    range: str
    """The range of the valid repetitions, if there are several."""
    interval: str
    """The confidence interval of the median, if there are enough repetitions."""
    stonewall: str
    """The median at the stonewall, where one came."""
    repetitions: int
    """The valid ones."""
    marks: tuple[str, ...]
    letters: tuple[str, ...]
    """The marks of the doubts that change what it says."""
    caveats: tuple[str, ...]
    """The doubts that change what it says, in words."""
    ceiling: str
    """The share of the lowest ceiling on the path."""

    @property
    def notes(self) -> list[str]:
        """The lines below the rate, in small print."""
        return [text for text in (self.interval, self.stonewall, self.ceiling) if text]


def table(lines: Sequence[MedianLine]) -> Table:
    return Table(
        [
            Column("Workload", merges=True),
            Column("Phase"),
            Column("Ranks", is_number=True),
            Column("Rate", is_number=True, full_head="Median rate"),
            *numbers("Range", "Repetitions"),
        ],
        [
            [
                line.label,
                line.series,
                line.ranks,
                (
                    line.median,
                    *(Span(note, "below") for note in line.notes),
                    *(Span(caveat, "caveat") for caveat in line.caveats),
                ),
                line.range,
                str(line.repetitions),
            ]
            for line in lines
        ],
        title="Rates, the median of the valid repetitions",
        rules=changes(line.label for line in lines),
    )


def assemble(
    document: RunDocument,
    points: pl.DataFrame,
    doubts: Doubts,
    limits: Mapping[Measurement, Limit],
    *,
    names: Names,
    units: RunUnits,
) -> list[MedianLine]:
    """The rows, in the order in which they ran; none of a study."""
    if document.is_study:
        return []
    return [
        line
        for workload in dict.fromkeys(case.workload for case in document.cases)
        for series_key in series.of_workload(document, workload)
        if not (
            measured := rates.of(points, workload, series_key.operation, series_key.phase, series_key.job)
        ).is_empty()
        for line in _lines(
            measured, rates.column(document, measured, workload), series_key, doubts, limits, names=names, units=units
        )
    ]


def _lines(
    measured: pl.DataFrame,
    column: RateColumn,
    series_key: Series,
    doubts: Doubts,
    limits: Mapping[Measurement, Limit],
    *,
    names: Names,
    units: RunUnits,
) -> list[MedianLine]:
    def text(rate: float) -> str:
        return format.rate_in(units.of(column, series_key.operation).name, rate, NOUNS[series_key.operation])

    def line(row: dict[str, Any]) -> MedianLine:
        several = row["repetitions"] > 1
        point_rows = measured.filter("valid", rates.is_at(row))
        places = rates.places(point_rows)
        ceiling = ceilings.common(limits, places) if column == "rate_bytes_per_s" else None
        return MedianLine(
            label=names.workload(row["workload"]),
            series=series.label(series_key),
            ranks=format.ABSENT if row["ranks"] is None else str(row["ranks"]),
            median=text(row["median"]),
            range=f"{text(row['lowest'])} to {text(row['highest'])}" if several else format.ABSENT,
            interval=""
            if row["low"] is None
            else format.interval(text(row["low"]), text(row["high"]), is_range=row["confidence"] < WANTED),
            stonewall=f"{text(row['stonewall'])} at the stonewall"
            if row["stonewall"] is not None and stragglers.is_apart(row["stonewall"], row["median"])
            else "",
            repetitions=row["repetitions"],
            marks=doubts.marks(places),
            letters=tuple(group.mark for group, _ in doubts.decisive(places)),
            caveats=caveats.beside_number(doubts, places),
            ceiling=of_the_ceiling(row["median"], ceiling) if ceiling else "",
        )

    return [line(row) for row in rates.medians(measured, column).iter_rows(named=True)]

"""Surveys in a report: rates by files and ranks, as obdfilter-survey prints them, and the saturation point in words."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from ioassay.analysis import axes, rates, saturation, series
from ioassay.analysis.doubts import Doubts
from ioassay.analysis.names import Names
from ioassay.analysis.saturation import Cell, Saturation
from ioassay.analysis.series import Series
from ioassay.reports.document import Column, Marks, Span, Table, Text
from ioassay.store.document import RunDocument, SurveyEntry
from ioassay.text import format
from ioassay.text.rate_units import UNITS, Unit
from ioassay.text.units import format_count, format_rate


@dataclass(frozen=True)
class SurveyCell:
    """The rate of a point, without its unit; empty where the grid has no such point."""

    text: str = ""
    marks: tuple[str, ...] = ()
    saturated: bool = False
    """True for the saturation point."""


@dataclass(frozen=True)
class Grid:
    """The grid of one operation: a row for each count of files, a column for each count of ranks."""

    series: Series
    title: str
    ranks: list[int]
    rows: list[tuple[int, list[SurveyCell]]]
    sentence: str
    cells: list[Cell]
    saturation: Saturation | None


@dataclass(frozen=True)
class Survey:
    """A survey: a grid for each operation."""

    title: str
    unit: Unit
    grids: list[Grid]


def table(survey: Survey, grid: Grid) -> Table:
    """A grid as a table, the saturation point in bold."""
    unit = survey.unit.name
    rows: list[list[Text]] = [
        [str(files), *((Span(cell.text, "strong" if cell.saturated else None), Marks(cell.marks)) for cell in cells)]
        for files, cells in grid.rows
    ]
    columns = [Column("Objects", full_head=f"{grid.title}, {unit}: objects")]
    for ranks in grid.ranks:
        columns.append(Column(str(ranks), is_number=True, group="Ranks", full_head=format_count(ranks, "rank")))
    return Table(columns, rows, title=f"{survey.title}: {grid.title}, {unit}", density="dense")


def assemble(document: RunDocument, points: pl.DataFrame, doubts: Doubts, names: Names) -> list[Survey]:
    """The surveys that the study asks for."""
    return [
        Survey(entry.title, UNITS[entry.unit], _grids(document, entry, points, doubts, names))
        for entry in document.study.surveys
    ]


def _grids(document: RunDocument, entry: SurveyEntry, points: pl.DataFrame, doubts: Doubts, names: Names) -> list[Grid]:
    """One for each operation, and for each value of other axes that the workload sweeps as well."""
    return [
        _grid(
            series_key,
            ", ".join(filter(None, (series.label(series_key), names.values(values)))),
            rows,
            UNITS[entry.unit],
            doubts,
        )
        for series_key in series.of_workload(document, entry.workload)
        for values, rows in axes.parts(
            rates.of(points, entry.workload, series_key.operation, series_key.phase, series_key.job)
        )
    ]


def _grid(series_key: Series, title: str, frame: pl.DataFrame, unit: Unit, doubts: Doubts) -> Grid:
    cells = saturation.grid(frame, unit.column)
    best = saturation.saturation(cells)
    ranks = sorted({cell.ranks for cell in cells})
    marks = {
        (files, count): doubts.marks(rates.places(rows.filter("valid")))
        for (files, count), rows in frame.group_by("files", "ranks")
    }
    rows = [
        (files, [_cell(cells, (files, count), unit, best, marks.get((files, count), ())) for count in ranks])
        for files in sorted({cell.files for cell in cells})
    ]
    return Grid(series_key, title, ranks, rows, _sentence(title, best, unit), cells, best)


def _cell(
    cells: list[Cell], point: tuple[int, int], unit: Unit, best: Saturation | None, marks: tuple[str, ...]
) -> SurveyCell:
    at_point = [cell for cell in cells if (cell.files, cell.ranks) == point]
    if not at_point:
        return SurveyCell()
    fastest = max(at_point, key=lambda cell: cell.median)  # where clients are swept as well
    return SurveyCell(
        text=format_rate(fastest.median, unit.name).split(" ", maxsplit=1)[0],
        marks=marks,
        saturated=best is not None and best.point in at_point,
    )


def _sentence(title: str, result: Saturation | None, unit: Unit) -> str:
    """The saturation point, and what it rests on."""
    name = title[:1].upper() + title[1:]
    if result is None:
        return f"{name}: too few valid points to find a saturation point."
    point, best = result.point, result.best
    beyond = len(result.equal) - 1
    rests = f"{format_count(beyond, 'other point') if beyond else 'no other point'} of the grid "
    rests += "comes as close" if beyond < 2 else "come as close"
    edge = " It is at the edge of the grid, so more ranks may still be faster." if result.at_the_edge else ""
    return (
        f"{name} saturates at {format_count(point.ranks, 'rank')} on {format_count(point.files, 'object')} with "
        f"{format_rate(point.median, unit.name)} (median of {point.repetitions}): the "
        f"fewest within {format.share(result.tolerance)} of the best, "
        f"a median of {format_rate(best.median, unit.name)} at {format_count(best.ranks, 'rank')} on "
        f"{format_count(best.files, 'object')}; {rests}.{_doubt(result)}{edge}"
    )


def _doubt(result: Saturation) -> str:
    """Other points that may be the saturation point; begins with a space."""
    if result.possible is None:
        return (
            " It was measured once, so another run may find another point: use at least 3 repetitions to learn the "
            "possible points."
        )
    if result.is_certain:
        return ""
    ranks = sorted({cell.ranks for cell in result.possible})
    between = f"at {ranks[0]} to {ranks[-1]} ranks" if len(ranks) > 1 else f"at {format_count(ranks[0], 'rank')}"
    return (
        f" With {format.share(saturation.CONFIDENCE)} confidence it is one of {len(result.possible)} points {between}; "
        "use more repetitions or more data to narrow that."
    )

"""The figures of a comparison: each series with a line for every subject. Not: drawing (`figures.rate_by_clients`)."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ioassay.analysis.compare.subject import Point
from ioassay.analysis.rate_units import Unit, suited
from ioassay.analysis.rates import Axis
from ioassay.figures import rate_by_clients
from ioassay.figures.picture import Picture, draw
from ioassay.reports.compare import wording
from ioassay.reports.compare.content import Content, SeriesPart
from ioassay.slugs import slug, unique


def pictures(content: Content) -> list[Picture | None]:
    """A figure for each series, in their order; `None` of one that no subject swept, or without a common axis."""
    taken: set[str] = set()
    return [
        _picture(content, part, unique(slug(f"compared-{part.title}", "compared"), taken)) for part in content.series
    ]


def _picture(content: Content, part: SeriesPart, identifier: str) -> Picture | None:
    first = part.compared[0][1]
    column = first.column
    all_rates = [(content.reference.name, first.reference.rates[column])]
    all_rates += [(other.name, one.other.rates[column]) for other, one in part.compared if one.column == column]
    curves = [(name, rates.points) for name, rates in all_rates]
    peaks = {name: rates.peak.median for name, rates in all_rates if rates.peak and not rates.points}
    axis = _axis([points for _, points in curves])
    rates_shown = [*peaks.values(), *(point.median for _, points in curves for point in points)]
    unit = suited(column, first.reference.operation, rates_shown)
    rows = [row for name, points in curves for point in points for row in _rows(name, point, unit)]
    if axis is None or len({row[axis] for row in rows}) < 2:
        return None
    data = pl.DataFrame(rows)
    levels = {name: peak / unit.divisor for name, peak in peaks.items()}
    caption = ["A point per repetition, medians joined."]
    if levels:
        caption.append(f"Dashed: the peak of {wording.listed(list(levels))}, of which no more is told.")
    return draw(
        rate_by_clients.chart(data, first.reference.operation, unit, {}, axis, levels=levels),
        identifier,
        title=part.title,
        data=data.rename({"rate": f"rate_{unit.name}", "median": f"median_{unit.name}"}),
        caption=" ".join(caption),
        description=f"{part.title}: rate in {unit.name} against {axis} of each subject; the table has the values.",
    )


def _axis(curves: Sequence[Sequence[Point]]) -> Axis | None:
    """What tells the points of every curve apart, where all of them tell it."""
    axes: tuple[Axis, ...] = ("clients", "ranks")
    for axis in axes:
        places = [[_place(point, axis) for point in points] for points in curves]
        if all(None not in own and len(set(own)) == len(own) for own in places):
            return axis
    return None


def _place(point: Point, axis: Axis) -> int | None:
    return point.clients if axis == "clients" else point.conditions.ranks


def _rows(name: str, point: Point, unit: Unit) -> list[dict[str, object]]:
    return [
        {
            "series": name,
            "clients": point.clients,
            "ranks": point.conditions.ranks,
            "valid": True,
            "rate": rate / unit.divisor,
            "median": point.median / unit.divisor,
        }
        for rate in point.rates
    ]

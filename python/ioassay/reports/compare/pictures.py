"""The figures of a comparison: each series with a line for every subject. Not: drawing (`figures.rate_by_clients`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain

import polars as pl

from ioassay.analysis import axes
from ioassay.analysis.axes import Axis, Value
from ioassay.analysis.compare.subject import Point
from ioassay.analysis.names import axis_value
from ioassay.figures import rate_by_clients
from ioassay.figures.picture import Picture, draw
from ioassay.reports.compare import wording
from ioassay.reports.compare.content import Content, SeriesPart
from ioassay.text.prose import listed
from ioassay.text.rate_units import Unit
from ioassay.text.slugs import slug, unique


def pictures(content: Content) -> list[Picture | None]:
    """A figure for each series, in their order; `None` of one that no subject swept, or without a common axis."""
    taken: set[str] = set()
    return [
        _picture(content, part, unique(slug(f"compared-{part.title}", "compared"), taken)) for part in content.series
    ]


def _picture(content: Content, part: SeriesPart, identifier: str) -> Picture | None:
    first = part.compared[0][1]
    column = first.column
    all_rates = [(wording.subject_name(content.reference), first.reference.rates[column])]
    all_rates += [
        (wording.subject_name(subject), of.other.rates[column]) for subject, of in part.compared if of.column == column
    ]
    curves = [(name, rates.points) for name, rates in all_rates]
    peaks = {name: rates.peak.median for name, rates in all_rates if rates.peak and not rates.points}
    axis = _axis([points for _, points in curves])
    unit = part.units[column]
    if axis is None:
        return None
    data = pl.DataFrame([row for name, points in curves for point in points for row in _rows(name, point, unit, axis)])
    levels = {name: peak / unit.divisor for name, peak in peaks.items()}
    bands = _bands(curves, unit, axis)
    caption = ["One point per repetition; the line joins the medians."]
    if bands is not None:
        caption.append("Shaded: the range of the prediction.")
    if levels:
        caption.append(f"Dashed: the peak of {listed(list(levels))}; its other points are unknown.")
    return draw(
        rate_by_clients.chart(
            data, first.reference.operation, unit, {}, axis, show=_shown(axis, curves), levels=levels, bands=bands
        ),
        identifier,
        title=part.title,
        data=data.rename({"rate": f"rate_{unit.name}", "median": f"median_{unit.name}"}),
        caption=" ".join(caption),
        description=f"{part.title}: rate in {unit.name} against {axis} of each subject; the table has the values.",
    )


def _bands(curves: Sequence[tuple[str, Sequence[Point]]], unit: Unit, axis: Axis) -> pl.DataFrame | None:
    """The ranges of predictions, as `rate_by_clients.chart` takes them; `None` without any."""
    rows = [
        {
            "series": name,
            axes.column(axis): _place(point, axis),
            "low": point.band.low / unit.divisor,
            "high": point.band.high / unit.divisor,
        }
        for name, points in curves
        for point in points
        if point.band is not None
    ]
    return pl.DataFrame(rows) if rows else None


def _axis(curves: Sequence[Sequence[Point]]) -> Axis | None:
    """The axis that distinguishes the points of every curve; `None` if there is none."""
    others = dict.fromkeys(other.axis for points in curves for point in points for other in point.others)
    for axis in (*axes.COUNTED, *others):
        places = [[_place(point, axis) for point in points] for points in curves]
        if all(None not in place and len(set(place)) == len(place) for place in places) and len({*chain(*places)}) > 1:
            return axis
    return None


def _shown(axis: Axis, curves: Sequence[tuple[str, Sequence[Point]]]) -> Callable[[Value], str]:
    units = (other.unit for _, points in curves for point in points for other in point.others if other.axis == axis)
    return partial(axis_value, unit=next(units, "1"))


def _place(point: Point, axis: Axis) -> Value | None:
    return {"clients": point.clients, "ranks": point.conditions.ranks}.get(axis, point.value(axis))


def _rows(name: str, point: Point, unit: Unit, axis: Axis) -> list[dict[str, object]]:
    return [
        {
            "series": name,
            "clients": point.clients,
            "ranks": point.conditions.ranks,
            axes.column(axis): _place(point, axis),
            "valid": True,
            "rate": rate / unit.divisor,
            "median": point.median / unit.divisor,
        }
        for rate in point.rates
    ]

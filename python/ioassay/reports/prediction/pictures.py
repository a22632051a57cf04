"""The figures of a prediction: each series with its range. Not: drawing (`figures.rate_by_clients`)."""

from __future__ import annotations

from functools import partial

import polars as pl

from ioassay.analysis import axes
from ioassay.analysis.axes import Axis, Value
from ioassay.analysis.names import axis_value
from ioassay.figures import rate_by_clients
from ioassay.figures.picture import Picture, draw
from ioassay.reports.prediction import wording
from ioassay.sizing.prediction.model import Predicted, Prediction, SeriesName, Spot
from ioassay.text.slugs import slug, unique


def pictures(prediction: Prediction) -> list[Picture | None]:
    """A figure for each series, in their order; `None` of one without two points, or without a common axis."""
    taken: set[str] = set()
    return [
        _picture(name, points, unique(slug(f"predicted-{name.title}", "predicted"), taken))
        for name, points in prediction.series
    ]


def _picture(name: SeriesName, points: tuple[Predicted, ...], identifier: str) -> Picture | None:
    known = [(point.spot, point.value) for point in points if point.value is not None]
    axis = _axis([spot for spot, _ in known])
    if axis is None:
        return None
    unit = wording.unit(name, [value for _, value in known])
    rows = pl.DataFrame(
        [
            {
                "series": "predicted",
                "clients": spot.clients,
                "ranks": spot.job.ranks,
                axes.column(axis): _place(spot, axis),
                "valid": True,
                "rate": value.nominal / unit.divisor,
                "median": value.nominal / unit.divisor,
                "low": float(value.interval.low) / unit.divisor,
                "high": float(value.interval.high) / unit.divisor,
            }
            for spot, value in known
        ]
    )
    units = {other_axis: of for spot, _ in known for other_axis, _, of in spot.others}
    chart = rate_by_clients.chart(
        rows.drop("low", "high"),
        name.operation,
        unit,
        {},
        axis,
        show=partial(axis_value, unit=units.get(axis, "1")),
        bands=rows.select("series", axes.column(axis), "low", "high"),
    )
    return draw(
        chart,
        identifier,
        title=f"{name.title}, predicted",
        data=rows.drop("valid", "median").rename(
            {column: f"{column}_{unit.name}" for column in ("rate", "low", "high")}
        ),
        caption="The line is what is expected; shaded is the range.",
        description=f"{name.title}: predicted rate in {unit.name} against {axis}; the table has the values.",
    )


def _axis(spots: list[Spot]) -> Axis | None:
    """The axis that distinguishes all points by itself."""
    others = dict.fromkeys(axis for spot in spots for axis, _, _ in spot.others)
    for axis in (*axes.COUNTED, *others):
        if len({_place(spot, axis) for spot in spots}) == len(spots) > 1:
            return axis
    return None


def _place(spot: Spot, axis: Axis) -> Value:
    counted = {"clients": spot.clients, "ranks": spot.job.ranks}
    return (
        counted[axis] if axis in counted else next(value for other_axis, value, _ in spot.others if other_axis == axis)
    )

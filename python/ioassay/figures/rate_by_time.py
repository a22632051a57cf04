"""The figure of a trend: the rate of each stored run against the time when it began, a line for each sweep point."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import polars as pl

from ioassay.figures import theme
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative
from ioassay.text.rate_units import Unit

WIDTH, HEIGHT = 520, 250

HEADROOM = 1.04
"""Keeps the highest dot off the frame."""

_DAYS_WITH_HOURS = 3
"""Runs within so many days are labelled with the hour."""


def chart(data: pl.DataFrame, changes: Iterable[datetime], operation: str, unit: Unit) -> Specification:
    """The figure. `data` has a row per run and point, not none: point, started (UTC), rate, and low and high of its
    interval or null, these in `unit`. `changes` are the times at which a level changed.
    """
    points = list(dict.fromkeys(data["point"]))
    legend = {"title": None, "orient": "bottom", "direction": "horizontal", "columns": 4} if len(points) > 1 else None
    colour = nominal("point", scale={"domain": points, "range": theme.SERIES_COLOURS}, legend=legend)
    shape = nominal("point", scale={"domain": points, "range": theme.SERIES_SHAPES}, legend=legend)
    highest = data.select(pl.max_horizontal("rate", "high").max()).item()
    scale = {"domain": [0, HEADROOM * highest], "nice": True}

    days = (data["started"].max() - data["started"].min()).days  # type: ignore[operator, union-attr]
    form = "%Y-%m-%d" if days > _DAYS_WITH_HOURS else "%m-%d %H:%M"
    # In UTC, a page is the same wherever it is made. The padding is for dots on the frame.
    x = {
        "field": "started",
        "type": "temporal",
        "title": "Start of the run (UTC)",
        "scale": {"type": "utc", "padding": 10},
        "axis": {"grid": False, "tickCount": 6, "format": form, "labelOverlap": True},
    }

    def y(column: str) -> Specification:
        title = f"{operation.capitalize()} rate ({unit.name})"
        return quantitative(column, title=title, scale=scale, axis={"tickCount": 6})

    drawn = data.with_columns(pl.col("started").dt.epoch("ms"))
    changed = [{"started": change.timestamp() * 1000} for change in sorted(set(changes))]
    point = {"x": x, "y": y("rate"), "color": colour}
    interval = {"x": x, "y": y("low"), "y2": {"field": "high"}, "color": colour}
    layers = [
        marks("rule", changed, {"x": x}, strokeWidth=1.2, strokeDash=[5, 3], color=theme.INK),
        marks("line", drawn, point, strokeWidth=1, opacity=0.5),
        marks("rule", drawn.drop_nulls("low"), interval, strokeWidth=1.4, opacity=0.7),
        marks("point", drawn, {**point, "shape": shape}, filled=True, size=46, opacity=0.9),
    ]
    return {"layer": layers, "width": WIDTH, "height": HEIGHT}

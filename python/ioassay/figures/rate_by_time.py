"""The figure of a trend: the rate of each stored run against the time when it began, a line for each sweep point."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import altair as alt
import polars as pl

from ioassay.analysis.rate_units import Unit
from ioassay.figures import theme

WIDTH, HEIGHT = 520, 250

HEADROOM = 1.04
"""So that the highest dot does not sit on the frame."""

_DAYS_WITH_HOURS = 3
"""Runs within so many days are told apart by the hour."""


def chart(data: pl.DataFrame, changes: Iterable[datetime], operation: str, unit: Unit) -> theme.Chart:
    """The figure. `data` has a row per run and point, not none: point, started (UTC), rate, and low and high of its
    interval or null, these in `unit`. `changes` are the times at which a level changed.
    """
    points = list(dict.fromkeys(data["point"]))
    legend = alt.Legend(title=None, orient="bottom", direction="horizontal", columns=4) if len(points) > 1 else None
    colour = alt.Color("point:N", scale=alt.Scale(domain=points, range=theme.SERIES_COLOURS), legend=legend)
    shape = alt.Shape("point:N", scale=alt.Scale(domain=points, range=theme.SERIES_SHAPES), legend=legend)
    highest = data.select(pl.max_horizontal("rate", "high").max()).item()
    scale = alt.Scale(domain=[0, HEADROOM * highest], nice=True)

    days = (data["started"].max() - data["started"].min()).days  # type: ignore[operator, union-attr]
    form = "%Y-%m-%d" if days > _DAYS_WITH_HOURS else "%m-%d %H:%M"
    time = alt.Axis(grid=False, tickCount=6, format=form, labelOverlap=True)

    def x(column: str) -> alt.X:
        # In UTC, a page is the same wherever it is made. The padding is for dots on the frame.
        scale = alt.Scale(type="utc", padding=10)
        return alt.X(f"{column}:T", title="Start of the run (UTC)", scale=scale, axis=time)

    def y(column: str) -> alt.Y:
        title = f"{operation.capitalize()} rate ({unit.name})"
        return alt.Y(f"{column}:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6))

    known = data.filter(pl.col("low").is_not_null())
    changed = pl.DataFrame({"changed": sorted(set(changes))}, schema={"changed": pl.Datetime("us", "UTC")})
    return alt.layer(
        alt.Chart(changed).mark_rule(strokeWidth=1.2, strokeDash=[5, 3], color=theme.INK).encode(x("changed")),
        alt.Chart(data).mark_line(strokeWidth=1, opacity=0.5).encode(x("started"), y("rate"), colour),
        alt.Chart(known)
        .mark_rule(strokeWidth=1.4, opacity=0.7)
        .encode(x("started"), y("low"), alt.Y2("high:Q"), colour),
        alt.Chart(data).mark_point(filled=True, size=46, opacity=0.9).encode(x("started"), y("rate"), colour, shape),
    ).properties(width=WIDTH, height=HEIGHT)

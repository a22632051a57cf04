"""The figures of a tuning sweep: every trial before and after, and the best settings at each point of the study.

The second is that of Figures 11 and 12 of Turek, Calleja and Taylor (University of Cambridge): the rate against the
number of clients, with the settings of before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import altair as alt
import polars as pl

from ioassay.analysis.axes import Axis, Value
from ioassay.figures import theme

WIDTH, ROW = 420, 22

SIDES = ("Before", "After")
_COLOURS = [theme.LINE, theme.BLUE]
_SHAPES = ["circle", "square"]


def trials(data: pl.DataFrame, title: str) -> theme.Chart:
    """Each trial as a row: the objective under today's settings and under its own, with intervals.

    `data` has a row for each trial and side: trial (text, unique), side (of `SIDES`), median, low, high (null
    where unknown), gain (text), in the order in which rows are to stand. `title` names the axis, with its unit.
    """
    order = data["trial"].unique(maintain_order=True).to_list()
    y = alt.Y("trial:N", sort=order, title=None, axis=alt.Axis(labelLimit=320, grid=True))
    offset = alt.YOffset("side:N", sort=list(SIDES))
    highest = data.select(pl.max_horizontal("median", "high").max()).item() or 1.0
    scale = alt.Scale(domain=[0, 1.02 * highest], nice=True)
    x = alt.X("median:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6))
    colour = alt.Color(
        "side:N",
        scale=alt.Scale(domain=list(SIDES), range=_COLOURS),
        legend=alt.Legend(title=None, orient="bottom", direction="horizontal"),
    )
    shape = alt.Shape("side:N", scale=alt.Scale(domain=list(SIDES), range=_SHAPES))
    after = data.filter(side=SIDES[1])
    layers: list[alt.Chart] = [
        alt.Chart(data.filter(pl.col("low").is_not_null()))
        .mark_rule(strokeWidth=2, opacity=0.55)
        .encode(alt.X("low:Q", title=title, scale=scale), alt.X2("high:Q"), y, offset, colour),
        alt.Chart(data).mark_point(filled=True, size=48, opacity=1).encode(x, y, offset, colour, shape),
        alt.Chart(after)
        .mark_text(align="left", fontSize=10.5, color=theme.INK)
        .encode(y, alt.Text("gain:N"), x=alt.value(WIDTH + 8)),
    ]
    return alt.layer(*layers).properties(width=WIDTH, height=max(3, len(order)) * ROW)


def points(
    data: pl.DataFrame, axis: Axis, title: str, show: Callable[[Value], str] = str, *, column: str
) -> theme.Chart:
    """The objective before and after, against an axis of the study.

    `data` has a row for each point and side: series, side (of `SIDES`), `column` (the value on the axis), median,
    low and high (null where unknown). `title` names the objective, with its unit.
    """
    places: Sequence[Value] = sorted(set(data[column]))
    x = theme.sweep_axis(axis, places, show)
    highest = data.select(pl.max_horizontal("median", "high").max()).item() or 1.0
    scale = alt.Scale(domain=[0, 1.04 * highest], nice=True)
    y = alt.Y("median:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6))
    legend = alt.Legend(title=None, orient="bottom", direction="horizontal")
    colour = alt.Color("side:N", scale=alt.Scale(domain=list(SIDES), range=_COLOURS), legend=legend)
    shape = alt.Shape("side:N", scale=alt.Scale(domain=list(SIDES), range=_SHAPES), legend=legend)
    several = data["series"].n_unique() > 1
    dash = [alt.StrokeDash("series:N", legend=legend)] if several else []
    layers: list[alt.Chart] = [
        alt.Chart(data.filter(pl.col("low").is_not_null()))
        .mark_rule(strokeWidth=2, opacity=0.5)
        .encode(x, alt.Y("low:Q", title=title, scale=scale), alt.Y2("high:Q"), colour),
        alt.Chart(data).mark_line(strokeWidth=1.8).encode(x, y, colour, *dash),
        alt.Chart(data).mark_point(filled=True, size=52, opacity=1).encode(x, y, colour, shape),
    ]
    return alt.layer(*layers).properties(width=WIDTH, height=250)

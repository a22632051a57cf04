"""The figures of a tuning sweep: every trial before and after, and the best settings at each point of the study.

The second is that of Figures 11 and 12 of Turek, Calleja and Taylor (University of Cambridge): the rate against the
number of clients, with the settings before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from ioassay.analysis.axes import Axis, Value
from ioassay.figures import theme
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative

WIDTH, ROW = 420, 22

SIDES = ("Before", "After")
_COLOURS = [theme.LINE, theme.BLUE]
_SHAPES = ["circle", "square"]
_LEGEND = {"title": None, "orient": "bottom", "direction": "horizontal"}


def trials(data: pl.DataFrame, title: str) -> Specification:
    """Each trial as a row: the objective under today's settings and under its own, with intervals.

    `data` has a row for each trial and side: trial (text, unique), side (of `SIDES`), median, low, high (null
    where unknown), gain (text), in the order in which rows are to stand. `title` names the axis, with its unit.
    """
    order = data["trial"].unique(maintain_order=True).to_list()
    y = nominal("trial", sort=order, title=None, axis={"labelLimit": 320, "grid": True})
    row = {"y": y, "yOffset": nominal("side", sort=SIDES)}
    highest = data.select(pl.max_horizontal("median", "high").max()).item() or 1.0
    scale = {"domain": [0, 1.02 * highest], "nice": True}
    x = quantitative("median", title=title, scale=scale, axis={"tickCount": 6})
    colour = nominal("side", scale={"domain": SIDES, "range": _COLOURS}, legend=_LEGEND)
    shape = nominal("side", scale={"domain": SIDES, "range": _SHAPES})
    interval = {"x": quantitative("low", title=title, scale=scale), "x2": {"field": "high"}, **row, "color": colour}
    point = {"x": x, **row, "color": colour, "shape": shape}
    gain = {"x": {"value": WIDTH + 8}, "y": y, "text": nominal("gain")}
    layers = [
        marks("rule", data.drop_nulls("low"), interval, strokeWidth=2, opacity=0.55),
        marks("point", data, point, filled=True, size=48, opacity=1),
        marks("text", data.filter(side=SIDES[1]), gain, align="left", fontSize=10.5, color=theme.INK),
    ]
    return {"layer": layers, "width": WIDTH, "height": max(3, len(order)) * ROW}


def points(
    data: pl.DataFrame, axis: Axis, title: str, show: Callable[[Value], str] = str, *, column: str
) -> Specification:
    """The objective before and after, against an axis of the study.

    `data` has a row for each point and side: series, side (of `SIDES`), `column` (the value on the axis), median,
    low and high (null where unknown). `title` names the objective, with its unit.
    """
    places: Sequence[Value] = sorted(set(data[column]))
    x = theme.sweep_axis(axis, places, show)
    highest = data.select(pl.max_horizontal("median", "high").max()).item() or 1.0
    scale = {"domain": [0, 1.04 * highest], "nice": True}
    y = quantitative("median", title=title, scale=scale, axis={"tickCount": 6})
    colour = nominal("side", scale={"domain": SIDES, "range": _COLOURS}, legend=_LEGEND)
    shape = nominal("side", scale={"domain": SIDES, "range": _SHAPES}, legend=_LEGEND)
    several = data["series"].n_unique() > 1
    dash = {"strokeDash": nominal("series", legend=_LEGEND)} if several else {}
    interval = {"x": x, "y": quantitative("low", title=title, scale=scale), "y2": {"field": "high"}, "color": colour}
    point = {"x": x, "y": y, "color": colour}
    layers = [
        marks("rule", data.drop_nulls("low"), interval, strokeWidth=2, opacity=0.5),
        marks("line", data, {**point, **dash}, strokeWidth=1.8),
        marks("point", data, {**point, "shape": shape}, filled=True, size=52, opacity=1),
    ]
    return {"layer": layers, "width": WIDTH, "height": 250}

"""The figure of a checkpoint: the time of each rank's own files, against ranks.

A point at the median of the generations, a line from the shortest to the longest; dashed how long training stands
still, which is decided by the slowest rank.
"""

from __future__ import annotations

import polars as pl

from ioassay.figures import theme
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative

WIDTH, HEIGHT = 420, 220


def by_rank(data: pl.DataFrame, stall_s: float) -> Specification:
    """`data` has a row for each rank with files: rank, median_s, lowest_s, highest_s. `stall_s` is the median stall."""
    last = int(data["rank"].max() or 0)  # type: ignore[arg-type]
    x = quantitative(
        "rank",
        title="Rank",
        scale={"domain": [-0.5, last + 0.5], "nice": False},
        axis={"tickMinStep": 1, "format": "d", "grid": False},
    )
    highest = max([stall_s, *data["highest_s"].to_list()]) or 1.0
    scale = {"domain": [0, 1.06 * highest], "nice": False}

    def y(column: str) -> Specification:
        return quantitative(column, title="Time of own files (s)", scale=scale, axis={"tickCount": 6})

    stall = [{"stall": stall_s, "name": "stall"}]
    name = {"x": {"value": WIDTH + 6}, "y": y("stall"), "text": nominal("name")}
    colour = theme.BLUE
    layers = [
        marks("rule", stall, {"y": y("stall")}, strokeWidth=1.2, strokeDash=[5, 3], color=theme.VERMILION),
        marks("text", stall, name, align="left", fontSize=10, color=theme.VERMILION),
        marks("rule", data, {"x": x, "y": y("lowest_s"), "y2": {"field": "highest_s"}}, strokeWidth=2, color=colour),
        marks("point", data, {"x": x, "y": y("median_s")}, filled=True, size=40, opacity=1, color=colour),
    ]
    return {"layer": layers, "width": WIDTH, "height": HEIGHT}

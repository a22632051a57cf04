"""A histogram of request sizes, reads beside writes."""

from __future__ import annotations

import polars as pl

from ioassay.figures.profile.over_time import COLOURS
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative

WIDTH, HEIGHT = 300, 150


def chart(data: pl.DataFrame) -> Specification:
    """The figure. `data` has a row per direction and size, not none: direction, begin_bytes, size (its label),
    calls.
    """
    labels = list(data.select("size", "begin_bytes").unique().sort("begin_bytes")["size"])
    axis = {"labelAngle": 0, "labelOverlap": "parity", "grid": False}
    x = nominal("size", title="Size of a request", sort=labels, axis=axis)
    panels = []
    for index, direction in enumerate(dict.fromkeys(data["direction"])):
        y = quantitative("calls", title="Calls" if not index else None, axis={"tickCount": 4, "format": "~s"})
        bars = marks("bar", data.filter(direction=direction), {"x": x, "y": y}, color=COLOURS[direction])
        panels.append({"title": direction.capitalize(), **bars, "width": WIDTH, "height": HEIGHT})
    return {"concat": panels, "columns": 2, "spacing": 24}

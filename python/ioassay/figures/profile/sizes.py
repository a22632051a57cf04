"""Sizes of requests: how many were of which size, reads beside writes."""

from __future__ import annotations

import altair as alt
import polars as pl

from ioassay.figures import theme
from ioassay.figures.profile.over_time import COLOURS

WIDTH, HEIGHT = 300, 150


def chart(data: pl.DataFrame) -> theme.Chart:
    """The figure. `data` has a row per direction and size, not none: direction, begin_bytes, size (its label),
    calls.
    """
    labels = list(data.select("size", "begin_bytes").unique().sort("begin_bytes")["size"])
    axis = alt.Axis(labelAngle=0, labelOverlap="parity", grid=False)
    x = alt.X("size:N", title="Size of a request", sort=labels, axis=axis)
    panels = [
        alt.Chart(data.filter(pl.col("direction") == direction), title=direction.capitalize())
        .mark_bar(color=COLOURS[direction])
        .encode(x, alt.Y("calls:Q", title="Calls" if not at else None, axis=alt.Axis(tickCount=4, format="~s")))
        .properties(width=WIDTH, height=HEIGHT)
        for at, direction in enumerate(dict.fromkeys(data["direction"]))
    ]
    return alt.concat(*panels, columns=2, spacing=24)

"""Rates over time, a line for each direction or operation. Steps, because each is what happened in its time."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import polars as pl

from ioassay.figures import theme

WIDTH, HEIGHT = 640, 190

COLOURS: Mapping[str, str] = {"read": theme.BLUE, "write": theme.VERMILION, "other": theme.CEILING}
"""Of lines that have the same colour in every figure."""


def chart(data: pl.DataFrame, step_s: float, title: str) -> theme.Chart:
    """The figure. `data` has a row per step and line, not none: start_s, line, rate in the unit of `title`."""
    names = list(data.group_by("line").agg(pl.col("rate").sum()).sort("rate", "line", descending=True)["line"])
    taken = {COLOURS[name] for name in names if name in COLOURS}
    free = iter([colour for colour in theme.SERIES_COLOURS if colour not in taken])
    colours = [COLOURS[name] if name in COLOURS else next(free) for name in names]
    end = data["start_s"].max() + step_s  # type: ignore[operator]
    # Steps have an end too.
    last = data.filter(pl.col("start_s") == pl.col("start_s").max()).with_columns(start_s=pl.lit(end))
    drawn: theme.Chart = (
        alt.Chart(pl.concat([data, last]))
        .mark_line(interpolate="step-after", strokeWidth=1.3)
        .encode(
            alt.X("start_s:Q", title="Time (s)", scale={"domain": [0, end], "nice": False}, axis={"grid": False}),
            alt.Y("rate:Q", title=title, axis={"tickCount": 5}, scale={"domainMin": 0}),
            alt.Color(
                "line:N",
                scale=alt.Scale(domain=names, range=colours),
                legend=alt.Legend(title=None, orient="top", direction="horizontal"),
            ),
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    return drawn

"""The front of a search: each configuration by what it holds and does, its cost as a colour.

Not: which configurations are on it (`ioassay.sizing.search`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt
import polars as pl

from ioassay.figures import theme

WIDTH, HEIGHT = 420, 270

CHEAP, DEAR = theme.LIGHT_BLUE, theme.DARK_BLUE


def chart(
    data: pl.DataFrame, rate_title: str, cost_title: str, needed: tuple[float | None, float | None]
) -> theme.Chart:
    """A point for each configuration.

    `data` has the columns usable_pb, rate (in the unit of `rate_title`), cost (in that of `cost_title`) and label.
    `needed`: capacity and rate that are asked for, in the same units; `None` where nothing is.
    """
    x = alt.X("usable_pb:Q", title="Usable capacity (PB)", scale=_scale(data["usable_pb"].to_list(), needed[0]))
    y = alt.Y("rate:Q", title=rate_title, scale=_scale(data["rate"].to_list(), needed[1]))
    low, high = min(map(float, data["cost"])), max(map(float, data["cost"]))
    colour = alt.Color(
        "cost:Q",
        title=cost_title,
        scale=alt.Scale(domain=[low, high if high > low else low + 1], range=[CHEAP, DEAR]),
        legend=alt.Legend(gradientLength=120, titleFontWeight="normal", titleLimit=140, titleFontSize=11),
    )
    points = alt.Chart(data).mark_point(filled=True, size=110, opacity=1, stroke=theme.INK, strokeWidth=0.6)
    labels = alt.Chart(data).mark_text(align="left", dx=9, fontSize=10.5, fontWeight="bold", color=theme.INK)
    layers = [*_needed(x, y, needed), points.encode(x, y, colour), labels.encode(x, y, text="label:N")]
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def _scale(values: Sequence[float], needed: float | None) -> alt.Scale:
    """With room at the upper end, where labels are."""
    ends = [*values, *([] if needed is None else [needed])]
    span = max(ends) - min(ends) or max(ends) or 1.0
    return alt.Scale(domain=[max(0.0, min(ends) - 0.15 * span), max(ends) + 0.25 * span], nice=False)


def _needed(x: alt.X, y: alt.Y, needed: tuple[float | None, float | None]) -> Iterator[alt.Chart]:
    """Lines at what is asked for."""
    capacity, rate = needed
    if capacity is not None:
        at = alt.Chart(pl.DataFrame({"usable_pb": [capacity], "text": ["needed"]}))
        yield at.mark_rule(stroke=theme.CEILING, strokeDash=[4, 3]).encode(x)
        text = at.mark_text(align="left", baseline="top", dx=3, fontSize=10, color=theme.CEILING)
        yield text.encode(x, y=alt.value(0), text="text:N")
    if rate is not None:
        at = alt.Chart(pl.DataFrame({"rate": [rate], "text": ["needed"]}))
        yield at.mark_rule(stroke=theme.CEILING, strokeDash=[4, 3]).encode(y)
        text = at.mark_text(align="right", baseline="bottom", dy=-2, fontSize=10, color=theme.CEILING)
        yield text.encode(y, x=alt.value(WIDTH), text="text:N")

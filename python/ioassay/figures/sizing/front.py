"""The front of a search: each configuration by capacity and rate, its cost as a colour.

Not: which configurations are on it (`ioassay.sizing.search`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from ioassay.figures import theme
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative

WIDTH, HEIGHT = 420, 270

CHEAP, DEAR = theme.LIGHT_BLUE, theme.DARK_BLUE


def chart(
    data: pl.DataFrame, rate_title: str, cost_title: str, needed: tuple[float | None, float | None]
) -> Specification:
    """A point for each configuration.

    `data` has the columns usable_pb, rate (in the unit of `rate_title`), cost (in that of `cost_title`) and label.
    `needed`: capacity and rate that are asked for, in the same units; `None` where nothing is.
    """
    x = quantitative("usable_pb", title="Usable capacity (PB)", scale=_scale(data["usable_pb"].to_list(), needed[0]))
    y = quantitative("rate", title=rate_title, scale=_scale(data["rate"].to_list(), needed[1]))
    low, high = min(map(float, data["cost"])), max(map(float, data["cost"]))
    colour = quantitative(
        "cost",
        title=cost_title,
        scale={"domain": [low, high if high > low else low + 1], "range": [CHEAP, DEAR]},
        legend={"gradientLength": 120, "titleFontWeight": "normal", "titleLimit": 140, "titleFontSize": 11},
    )
    point = {"x": x, "y": y, "color": colour}
    label = {"x": x, "y": y, "text": nominal("label")}
    layers = [
        *_needed(x, y, needed),
        marks("point", data, point, filled=True, size=110, opacity=1, stroke=theme.INK, strokeWidth=0.6),
        marks("text", data, label, align="left", dx=9, fontSize=10.5, fontWeight="bold", color=theme.INK),
    ]
    return {"layer": layers, "width": WIDTH, "height": HEIGHT}


def _scale(values: Sequence[float], needed: float | None) -> Specification:
    """The scale of an axis, with room for labels at the upper end."""
    ends = [*values, *([] if needed is None else [needed])]
    span = max(ends) - min(ends) or max(ends) or 1.0
    return {"domain": [max(0.0, min(ends) - 0.15 * span), max(ends) + 0.25 * span], "nice": False}


def _needed(x: Specification, y: Specification, needed: tuple[float | None, float | None]) -> Iterator[Specification]:
    """Lines at what is asked for."""
    capacity, rate = needed
    line = {"stroke": theme.CEILING, "strokeDash": [4, 3]}
    word = {"fontSize": 10, "color": theme.CEILING}
    text = nominal("text")
    if capacity is not None:
        mark = [{"usable_pb": capacity, "text": "needed"}]
        yield marks("rule", mark, {"x": x}, **line)
        above = {"x": x, "y": {"value": 0}, "text": text}
        yield marks("text", mark, above, align="left", baseline="top", dx=3, **word)
    if rate is not None:
        mark = [{"rate": rate, "text": "needed"}]
        yield marks("rule", mark, {"y": y}, **line)
        right = {"x": {"value": WIDTH}, "y": y, "text": text}
        yield marks("text", mark, right, align="right", baseline="bottom", dy=-2, **word)

"""The sensitivity of a search's answer: for each figure the cost when it is lower and higher (a tornado chart).

Not: which figures, and how far (`ioassay.sizing.search`).
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ioassay.figures import theme
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative

WIDTH, ROW = 300, 30
_COLOURS = [theme.VERMILION, theme.BLUE]


def chart(data: pl.DataFrame, base: float, title: str, sides: Sequence[str]) -> Specification:
    """Two bars for each figure, from the cost of the answer to the cost that it then has.

    `data` has a row per figure and side, the largest effect first: figure, side (of `sides`, of which the lower is
    first), cost (null where the requirements can then not be met), label. `base` is the cost of the answer; `title`
    names it with its unit.
    """
    costs = [base, *(cost for cost in data["cost"] if cost is not None)]
    room = max(max(costs) - min(costs), 0.04 * base)
    scale = {"domain": [min(costs) - 0.1 * room, max(costs) + 0.1 * room], "zero": False, "nice": False}
    figures = data["figure"].unique(maintain_order=True).to_list()
    y = nominal("figure", sort=figures, title=None, axis={"labelLimit": 270, "ticks": False, "domain": False})
    row = {"y": y, "yOffset": nominal("side", sort=sides)}
    x = quantitative("cost", title=title, scale=scale, axis={"tickCount": 5})
    colour = nominal(
        "side",
        scale={"domain": sides, "range": _COLOURS[: len(sides)]},
        legend={"title": None, "orient": "bottom", "symbolType": "square"},
    )
    shown = data.with_columns(base=pl.lit(base))
    met, unmet = shown.filter(pl.col("cost").is_not_null()), shown.filter(pl.col("cost").is_null())
    base_line = {"x": quantitative("base", title=title, scale=scale)}
    label = {"x": {"value": WIDTH + 8}, **row, "text": nominal("label")}
    layers = [
        marks("bar", met, {"x": x, "x2": {"field": "base"}, **row, "color": colour}, height=10),
        marks("rule", [{"base": base}], base_line, stroke=theme.INK, strokeWidth=1.2),
        *(
            marks("text", rows, label, align="left", fontSize=10, color=ink)
            for rows, ink in ((met, theme.INK), (unmet, theme.VERMILION))
            if rows.height
        ),
    ]
    return {"layer": layers, "width": WIDTH, "height": ROW * len(figures)}

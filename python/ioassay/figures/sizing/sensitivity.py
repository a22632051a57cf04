"""What moves the answer of a search: for each figure the cost when it is lower and when it is higher (a tornado).

Not: which figures, and how far (`ioassay.sizing.search`).
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from ioassay.figures import theme

WIDTH, ROW = 300, 30
_COLOURS = [theme.VERMILION, theme.BLUE]


def chart(data: pl.DataFrame, base: float, title: str, sides: Sequence[str]) -> theme.Chart:
    """Two bars for each figure, from the cost of the answer to the cost that it then has.

    `data` has a row per figure and side, the largest effect first: figure, side (of `sides`, of which the lower is
    first), cost (null where the requirements can then not be met), label. `base` is the cost of the answer; `title`
    names it with its unit.
    """
    costs = [base, *(cost for cost in data["cost"] if cost is not None)]
    room = max(max(costs) - min(costs), 0.04 * base)
    scale = alt.Scale(domain=[min(costs) - 0.1 * room, max(costs) + 0.1 * room], zero=False, nice=False)
    figures = data["figure"].unique(maintain_order=True).to_list()
    y = alt.Y("figure:N", sort=figures, title=None, axis=alt.Axis(labelLimit=270, ticks=False, domain=False))
    offset = alt.YOffset("side:N", sort=list(sides))
    x = alt.X("cost:Q", title=title, scale=scale, axis=alt.Axis(tickCount=5))
    colour = alt.Color(
        "side:N",
        scale=alt.Scale(domain=list(sides), range=_COLOURS[: len(sides)]),
        legend=alt.Legend(title=None, orient="bottom", symbolType="square"),
    )
    shown = data.with_columns(base=pl.lit(base), at=pl.col("cost").fill_null(base))
    met, unmet = shown.filter(pl.col("cost").is_not_null()), shown.filter(pl.col("cost").is_null())
    layers: list[alt.Chart] = [
        alt.Chart(met).mark_bar(height=10).encode(x, alt.X2("base:Q"), y, offset, colour),
        alt.Chart(pl.DataFrame({"base": [base]}))
        .mark_rule(stroke=theme.INK, strokeWidth=1.2)
        .encode(alt.X("base:Q", title=title, scale=scale)),
    ]
    for rows, ink in ((met, theme.INK), (unmet, theme.VERMILION)):
        if rows.height:
            text = alt.Chart(rows).mark_text(align="left", fontSize=10, color=ink)
            layers.append(text.encode(y, offset, x=alt.value(WIDTH + 8), text="label:N"))
    return alt.layer(*layers).properties(width=WIDTH, height=ROW * len(figures))

"""The ceiling of each place on the path of an I/O: a bar per place, the lowest marked.

Not: the ceilings (`ioassay.sizing.rates`).
"""

from __future__ import annotations

import polars as pl

from ioassay.figures import theme
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative, values

WIDTH, ROW = 360, 21
CUT_OFF = 6
"""Bars longer than this multiple of the limit are cut off, so that the limiting ones stay visible."""
LETTER = 6
"""About the width of a letter of a label; panels begin at one place."""
LIMITS, OTHERS = "limits", "would carry more"
"""The roles of bars."""


def chart(data: pl.DataFrame) -> Specification:
    """A panel for each kind of I/O. `data` has a row per kind and place, in the order of the path.

    Columns: panel (its title, with the unit), place, rate (in that unit), label, role (`LIMITS` or `OTHERS`).
    """
    longest = max(len(place) for place in data["place"])
    panels = [_panel(part, str(title), longest) for (title,), part in data.group_by("panel", maintain_order=True)]
    return {"vconcat": panels, "spacing": 14, "resolve": {"scale": {"color": "shared"}}}


def _panel(data: pl.DataFrame, title: str, longest: int) -> Specification:
    cut = CUT_OFF * (data.select(pl.col("rate").min()).item() or 1.0)
    is_cut = pl.col("rate") > cut
    label = pl.when(is_cut).then(pl.col("label") + " (cut off)").otherwise("label")
    shown = data.with_columns(rate=pl.min_horizontal("rate", pl.lit(cut)), label=label)
    highest = shown.select(pl.col("rate").max()).item() or 1.0
    y = nominal(
        "place",
        sort=data["place"].to_list(),
        title=None,
        axis={"labelLimit": 230, "ticks": False, "domain": False, "minExtent": min(LETTER * longest, 230)},
    )
    x = quantitative("rate", title=title, scale={"domain": [0, 1.02 * highest]}, axis={"tickCount": 5})
    colour = nominal(
        "role",
        scale={"domain": [LIMITS, OTHERS], "range": [theme.VERMILION, theme.SKY]},
        legend={"title": None, "orient": "bottom", "symbolType": "square"},
    )
    text = {"x": x, "y": y, "text": nominal("label")}
    layers = [
        marks("bar", None, {"x": x, "y": y, "color": colour}, height=13),
        marks("text", None, text, align="left", dx=4, fontSize=10.5, color=theme.INK),
    ]
    return {"data": values(shown), "layer": layers, "width": WIDTH, "height": ROW * data.height}

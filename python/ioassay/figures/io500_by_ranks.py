"""The figures of tuning the IO500: what ior-easy, and the score with its two parts, do with more ranks per node."""

from __future__ import annotations

import altair as alt
import polars as pl

from ioassay.figures import theme

WIDTH, HEIGHT = 420, 250
PANEL_WIDTH, PANEL_HEIGHT = 170, 190

HEADROOM = 1.06
"""So that the highest point, and its ring, do not sit on the frame."""

QUANTITIES = ("Score", "Bandwidth (GiB/s)", "Metadata (kIOPS)")

MOST_ABOVE = 3.0
"""A ceiling higher than so many times the highest rate is left out: it would press the rates to the ground."""


def easy(data: pl.DataFrame, ceilings: pl.DataFrame, unit: str, ranks: int) -> theme.Chart:
    """The rates of ior-easy against ranks per node.

    `data` has a row for each rate and rank count, not none: series (`write` or `read`), ranks, median, low, high (null
    where unknown), in `unit`. `ceilings` has the column ceiling. `ranks` is ringed.
    """
    highest = _highest(data)
    drawn = ceilings.filter(pl.col("ceiling") <= MOST_ABOVE * highest)
    top = max([highest, *drawn["ceiling"]])
    scale = alt.Scale(domain=[0, HEADROOM * top], nice=True)
    names = list(dict.fromkeys(data["series"]))
    legend = alt.Legend(title=None, orient="bottom", direction="horizontal")
    colour = alt.Color(
        "series:N", scale=alt.Scale(domain=names, range=theme.SERIES_COLOURS[: len(names)]), legend=legend
    )
    shape = alt.Shape("series:N", scale=alt.Scale(domain=names, range=theme.SERIES_SHAPES[: len(names)]), legend=legend)
    return alt.layer(
        alt.Chart(drawn)
        .mark_rule(strokeWidth=1.2, strokeDash=[5, 3], color=theme.CEILING)
        .encode(alt.Y("ceiling:Q", scale=scale)),
        *_curves(data, f"ior-easy rate ({unit})", scale, colour, shape),
        _ring(data, ranks, f"ior-easy rate ({unit})", scale),
    ).properties(width=WIDTH, height=HEIGHT)


def scores(data: pl.DataFrame, best: int | None) -> theme.Chart:
    """Score, bandwidth and metadata beside one another, each against ranks per node.

    `data` has a row for each quantity and rank count: quantity (of `QUANTITIES`), ranks, median, low, high (null where
    unknown), in the unit of the quantity. `best` is ringed.
    """
    panels = [
        _panel(data.filter(quantity=quantity), quantity, colour, best)
        for quantity, colour in zip(QUANTITIES, theme.SERIES_COLOURS, strict=False)
    ]
    return alt.concat(*panels, columns=len(panels), spacing=14)


def _panel(data: pl.DataFrame, quantity: str, colour: str, best: int | None) -> theme.Chart:
    scale = alt.Scale(domain=[0, HEADROOM * _highest(data)], nice=True)
    own = alt.ColorValue(colour)
    return alt.layer(
        *_curves(data, quantity, scale, own, alt.ShapeValue("circle")), _ring(data, best, quantity, scale)
    ).properties(width=PANEL_WIDTH, height=PANEL_HEIGHT)


def _curves(
    data: pl.DataFrame,
    title: str,
    scale: alt.Scale,
    colour: alt.Color | alt.ColorValue,
    shape: alt.Shape | alt.ShapeValue,
) -> list[alt.Chart]:
    x = _x(data)
    y = alt.Y("median:Q", title=title, scale=scale, axis=alt.Axis(tickCount=5))
    known = data.filter(pl.col("low").is_not_null())
    return [
        alt.Chart(known)
        .mark_rule(strokeWidth=1.4, opacity=0.7)
        .encode(x, alt.Y("low:Q", title=title, scale=scale), alt.Y2("high:Q"), colour),
        alt.Chart(data).mark_line(strokeWidth=1.6).encode(x, y, colour),
        alt.Chart(data).mark_point(filled=True, size=46, opacity=1).encode(x, y, colour, shape),
    ]


def _ring(data: pl.DataFrame, ranks: int | None, title: str, scale: alt.Scale) -> alt.Chart:
    chosen = alt.Chart(data.filter(pl.col("ranks") == ranks))
    ring: alt.Chart = chosen.mark_point(shape="circle", size=230, stroke=theme.INK, strokeWidth=1.5)
    return ring.encode(_x(data), alt.Y("median:Q", title=title, scale=scale))


def _x(data: pl.DataFrame) -> alt.X:
    axis: alt.X = theme.sweep_axis("ranks", sorted(set(data["ranks"])))
    return axis.title("Ranks per node")


def _highest(data: pl.DataFrame) -> float:
    top = data.select(pl.max_horizontal("median", "high").max()).item()
    return float(top) if top else 1.0

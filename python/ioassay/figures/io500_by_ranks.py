"""The figures of tuning the IO500: ior-easy, and the score with its two parts, against ranks per node."""

from __future__ import annotations

import polars as pl

from ioassay.figures import theme
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative

WIDTH, HEIGHT = 420, 250
PANEL_WIDTH, PANEL_HEIGHT = 170, 190

HEADROOM = 1.06
"""Keeps the highest point and its ring off the frame."""

QUANTITIES = ("Score", "Bandwidth (GiB/s)", "Metadata (kIOPS)")

MOST_ABOVE = 3.0
"""A ceiling above this multiple of the highest rate is left out: it would flatten the rates."""


def easy(data: pl.DataFrame, ceilings: pl.DataFrame, unit: str, ranks: int) -> Specification:
    """The rates of ior-easy against ranks per node.

    `data` has a row for each rate and rank count, not none: series (`write` or `read`), ranks, median, low, high (null
    where unknown), in `unit`. `ceilings` has the column ceiling. `ranks` is ringed.
    """
    highest = _highest(data)
    drawn = ceilings.filter(pl.col("ceiling") <= MOST_ABOVE * highest)
    top = max([highest, *drawn["ceiling"]])
    scale = {"domain": [0, HEADROOM * top], "nice": True}
    names = list(dict.fromkeys(data["series"]))
    legend = {"title": None, "orient": "bottom", "direction": "horizontal"}
    colour, shape = (
        nominal("series", scale={"domain": names, "range": looks[: len(names)]}, legend=legend)
        for looks in (theme.SERIES_COLOURS, theme.SERIES_SHAPES)
    )
    ceiling = {"y": quantitative("ceiling", scale=scale)}
    layers = [
        marks("rule", drawn, ceiling, strokeWidth=1.2, strokeDash=[5, 3], color=theme.CEILING),
        *_curves(data, f"ior-easy rate ({unit})", scale, colour, shape),
        _ring(data, ranks, f"ior-easy rate ({unit})", scale),
    ]
    return {"layer": layers, "width": WIDTH, "height": HEIGHT}


def scores(data: pl.DataFrame, best: int | None) -> Specification:
    """Score, bandwidth and metadata beside one another, each against ranks per node.

    `data` has a row for each quantity and rank count: quantity (of `QUANTITIES`), ranks, median, low, high (null where
    unknown), in the unit of the quantity. `best` is ringed.
    """
    panels = [
        _panel(data.filter(quantity=quantity), quantity, colour, best)
        for quantity, colour in zip(QUANTITIES, theme.SERIES_COLOURS, strict=False)
    ]
    return {"concat": panels, "columns": len(panels), "spacing": 14}


def _panel(data: pl.DataFrame, quantity: str, colour: str, best: int | None) -> Specification:
    scale = {"domain": [0, HEADROOM * _highest(data)], "nice": True}
    layers = [
        *_curves(data, quantity, scale, {"value": colour}, {"value": "circle"}),
        _ring(data, best, quantity, scale),
    ]
    return {"layer": layers, "width": PANEL_WIDTH, "height": PANEL_HEIGHT}


def _curves(
    data: pl.DataFrame, title: str, scale: Specification, colour: Specification, shape: Specification
) -> list[Specification]:
    x = _x(data)
    interval = {"x": x, "y": quantitative("low", title=title, scale=scale), "y2": {"field": "high"}, "color": colour}
    y = quantitative("median", title=title, scale=scale, axis={"tickCount": 5})
    point = {"x": x, "y": y, "color": colour}
    return [
        marks("rule", data.drop_nulls("low"), interval, strokeWidth=1.4, opacity=0.7),
        marks("line", data, point, strokeWidth=1.6),
        marks("point", data, {**point, "shape": shape}, filled=True, size=46, opacity=1),
    ]


def _ring(data: pl.DataFrame, ranks: int | None, title: str, scale: Specification) -> Specification:
    place = {"x": _x(data), "y": quantitative("median", title=title, scale=scale)}
    chosen = data.filter(pl.col("ranks") == ranks)
    return marks("point", chosen, place, shape="circle", size=230, stroke=theme.INK, strokeWidth=1.5)


def _x(data: pl.DataFrame) -> Specification:
    return {**theme.sweep_axis("ranks", sorted(set(data["ranks"]))), "title": "Ranks per node"}


def _highest(data: pl.DataFrame) -> float:
    top = data.select(pl.max_horizontal("median", "high").max()).item()
    return float(top) if top else 1.0

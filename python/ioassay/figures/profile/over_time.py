"""Rates over time, a stepped line for each direction or operation: a step is the rate of its interval.

A band is a rate of which only a range is known.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from ioassay.figures import theme
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative

WIDTH, HEIGHT = 640, 190

COLOURS: Mapping[str, str] = {"read": theme.BLUE, "write": theme.VERMILION, "other": theme.CEILING}
"""Colours of lines that are the same in every figure."""


def chart(data: pl.DataFrame, step_s: float, title: str, bands: pl.DataFrame | None = None) -> Specification:
    """The figure. `data` has a row per step and line: start_s, line, rate in the unit of `title`. `bands`, in the same
    steps and unit, have lines with a range each: least_rate, most_rate. Both together are not empty.
    """
    lines = data.group_by("line").agg(pl.col("rate").sum()).sort("rate", "line", descending=True)["line"]
    names, colours = list(lines), _colours(lines)
    # Steps have an end too.
    every = [frame["start_s"] for frame in (data, bands) if frame is not None]
    end = max(pl.concat(every)) + step_s
    x = quantitative("start_s", title="Time (s)", scale={"domain": [0, end], "nice": False}, axis={"grid": False})

    def y(column: str) -> Specification:
        return quantitative(column, title=title, axis={"tickCount": 5}, scale={"domainMin": 0})

    layers = []
    if bands is not None and bands.height:
        directions = list(bands["line"].unique(maintain_order=True))
        names += [_BAND.format(direction) for direction in directions]
        colours += [_OF_BANDS[direction] for direction in directions]
        bands = bands.with_columns(line=pl.format(_BAND, "line"))
        colour = _colour(names, colours)
        band = {"x": x, "y": y("least_rate"), "y2": {"field": "most_rate"}, "color": colour}
        shown = _with_end(bands, end)
        layers.append(marks("area", shown, band, interpolate="step-after", opacity=0.25))
        for edge in ("least_rate", "most_rate"):  # a range of one value is a line
            line = {"x": x, "y": y(edge), "color": colour}
            layers.append(marks("line", shown, line, interpolate="step-after", strokeWidth=1, strokeDash=[2, 2]))
    step = {"x": x, "y": y("rate"), "color": _colour(names, colours)}
    layers.append(marks("line", _with_end(data, end), step, interpolate="step-after", strokeWidth=1.3))
    return {"layer": layers, "width": WIDTH, "height": HEIGHT}


_OF_BANDS: Mapping[str, str] = {"read": theme.SKY, "write": theme.ORANGE}

_BAND = "{} through maps, least to most"


def _colours(names: pl.Series) -> list[str]:
    taken = {COLOURS[name] for name in names if name in COLOURS}
    free = iter([colour for colour in theme.SERIES_COLOURS if colour not in taken])
    return [COLOURS[name] if name in COLOURS else next(free) for name in names]


def _colour(names: list[str], colours: list[str]) -> Specification:
    legend = {"title": None, "orient": "top", "direction": "horizontal", "symbolOpacity": 1}
    return nominal("line", scale={"domain": names, "range": colours}, legend=legend)


def _with_end(data: pl.DataFrame, end: float) -> pl.DataFrame:
    last = data.filter(pl.col("start_s") == pl.col("start_s").max()).with_columns(start_s=pl.lit(end))
    return pl.concat([data, last])

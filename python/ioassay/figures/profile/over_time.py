"""Rates over time, a line for each direction or operation. Steps, because each is what happened in its time.

A band is a rate of which only a range is known.
"""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import polars as pl

from ioassay.figures import theme

WIDTH, HEIGHT = 640, 190

COLOURS: Mapping[str, str] = {"read": theme.BLUE, "write": theme.VERMILION, "other": theme.CEILING}
"""Of lines that have the same colour in every figure."""


def chart(data: pl.DataFrame, step_s: float, title: str, bands: pl.DataFrame | None = None) -> theme.Chart:
    """The figure. `data` has a row per step and line: start_s, line, rate in the unit of `title`. `bands`, in the same
    steps and unit, have lines with a range each: least_rate, most_rate. Both together are not empty.
    """
    own = data.group_by("line").agg(pl.col("rate").sum()).sort("rate", "line", descending=True)["line"]
    names, colours = list(own), _colours(own)
    # Steps have an end too.
    every = [frame["start_s"] for frame in (data, bands) if frame is not None]
    end = max(pl.concat(every)) + step_s
    x = alt.X("start_s:Q", title="Time (s)", scale={"domain": [0, end], "nice": False}, axis={"grid": False})
    layers = []
    if bands is not None and bands.height:
        directions = list(bands["line"].unique(maintain_order=True))
        names += [_BAND.format(one) for one in directions]
        colours += [_OF_BANDS[one] for one in directions]
        bands = bands.with_columns(line=pl.format(_BAND, "line"))
        drawn_bands = alt.Chart(_with_end(bands, end)).encode(x, _colour(names, colours))
        least, most = (alt.Y(f"{one}_rate:Q", title=title, axis=_AXIS, scale=_SCALE) for one in ("least", "most"))
        layers.append(
            drawn_bands.mark_area(interpolate="step-after", opacity=0.25).encode(least, alt.Y2("most_rate:Q"))
        )
        # A range of one value is a line.
        edge = drawn_bands.mark_line(interpolate="step-after", strokeWidth=1, strokeDash=[2, 2])
        layers += [edge.encode(least), edge.encode(most)]
    lines = alt.Chart(_with_end(data, end)).mark_line(interpolate="step-after", strokeWidth=1.3)
    layers.append(lines.encode(x, alt.Y("rate:Q", title=title, axis=_AXIS, scale=_SCALE), _colour(names, colours)))
    drawn: theme.Chart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    return drawn


_OF_BANDS: Mapping[str, str] = {"read": theme.SKY, "write": theme.ORANGE}

_AXIS, _SCALE = alt.Axis(tickCount=5), alt.Scale(domainMin=0)

_BAND = "{} through maps, least to most"


def _colours(names: pl.Series) -> list[str]:
    taken = {COLOURS[name] for name in names if name in COLOURS}
    free = iter([colour for colour in theme.SERIES_COLOURS if colour not in taken])
    return [COLOURS[name] if name in COLOURS else next(free) for name in names]


def _colour(names: list[str], colours: list[str]) -> alt.Color:
    legend = alt.Legend(title=None, orient="top", direction="horizontal", symbolOpacity=1)
    return alt.Color("line:N", scale=alt.Scale(domain=names, range=colours), legend=legend)


def _with_end(data: pl.DataFrame, end: float) -> pl.DataFrame:
    last = data.filter(pl.col("start_s") == pl.col("start_s").max()).with_columns(start_s=pl.lit(end))
    return pl.concat([data, last])

"""A survey as a figure: rate against ranks, a line for each count of files, the saturation point ringed.

Lines rather than a heat map: where a curve bends is what a survey is done for, and a colour does not show it.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from ioassay.analysis.rate_units import Unit
from ioassay.analysis.saturation import Cell, Saturation
from ioassay.figures import theme

WIDTH, HEIGHT = 420, 250
HEADROOM = 1.04


def data(cells: Sequence[Cell], unit: Unit) -> pl.DataFrame:
    """What the figure shows, a row per point. Columns: objects, ranks, clients, median, lowest, highest in `unit`."""
    return pl.DataFrame(
        [
            {
                "objects": str(cell.files),
                "ranks": cell.ranks,
                "clients": cell.clients,
                "median": cell.median / unit.divisor,
                "lowest": cell.lowest / unit.divisor,
                "highest": cell.highest / unit.divisor,
            }
            for cell in cells
        ]
    )


def chart(data: pl.DataFrame, operation: str, unit: Unit, found: Saturation | None) -> theme.Chart:
    """The figure. `data` is what `data` returns, not empty."""
    objects = list(dict.fromkeys(data["objects"]))
    x = theme.sweep_axis("ranks", sorted(set(data["ranks"])))
    top = data["highest"].max()
    highest = top if isinstance(top, float) and top > 0 else 1.0
    title = f"{operation.capitalize()} rate ({unit.name})"
    scale = alt.Scale(domain=[0, HEADROOM * highest], nice=True)

    def y(column: str) -> alt.Y:
        return alt.Y(f"{column}:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6))

    legend = alt.Legend(title="Objects", orient="right")
    colours = [theme.SERIES_COLOURS[at % len(theme.SERIES_COLOURS)] for at in range(len(objects))]
    shapes = [theme.SERIES_SHAPES[at % len(theme.SERIES_SHAPES)] for at in range(len(objects))]
    colour = alt.Color("objects:N", scale=alt.Scale(domain=objects, range=colours), legend=legend)
    shape = alt.Shape("objects:N", scale=alt.Scale(domain=objects, range=shapes), legend=legend)
    base = alt.Chart(data)
    layers: list[alt.Chart] = [
        base.mark_rule(strokeWidth=1, opacity=0.6).encode(x, y("lowest"), alt.Y2("highest:Q"), colour),
        base.mark_line(strokeWidth=1.6).encode(x, y("median"), colour),
        base.mark_point(filled=True, size=44).encode(x, y("median"), colour, shape),
    ]
    if found is not None:
        ring = pl.DataFrame({"ranks": [found.point.ranks], "median": [found.point.median / unit.divisor]})
        layers.append(
            alt.Chart(ring)
            .mark_point(shape="circle", size=260, stroke=theme.INK, strokeWidth=1.6)
            .encode(x, y("median"))
        )
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)

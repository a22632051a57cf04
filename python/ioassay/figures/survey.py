"""A survey as a figure: rate against ranks, a line for each count of files, the saturation point ringed.

Lines rather than a heat map: where a curve bends is what a survey is done for, and a colour does not show it.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ioassay.analysis.saturation import Cell, Saturation
from ioassay.figures import theme
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative, values
from ioassay.text.rate_units import Unit

WIDTH, HEIGHT = 420, 250
HEADROOM = 1.04


def data(cells: Sequence[Cell], unit: Unit) -> pl.DataFrame:
    """The data of the figure, a row per point. Columns: objects, ranks, clients, median, lowest, highest in `unit`."""
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


def chart(data: pl.DataFrame, operation: str, unit: Unit, saturation: Saturation | None) -> Specification:
    """The figure. `data` is what `data` returns, not empty."""
    objects = list(dict.fromkeys(data["objects"]))
    x = theme.sweep_axis("ranks", sorted(set(data["ranks"])))
    top = data["highest"].max()
    highest = top if isinstance(top, float) and top > 0 else 1.0
    title = f"{operation.capitalize()} rate ({unit.name})"
    scale = {"domain": [0, HEADROOM * highest], "nice": True}

    def y(column: str) -> Specification:
        return quantitative(column, title=title, scale=scale, axis={"tickCount": 6})

    legend = {"title": "Objects", "orient": "right"}
    colours = [theme.SERIES_COLOURS[index % len(theme.SERIES_COLOURS)] for index in range(len(objects))]
    shapes = [theme.SERIES_SHAPES[index % len(theme.SERIES_SHAPES)] for index in range(len(objects))]
    colour = nominal("objects", scale={"domain": objects, "range": colours}, legend=legend)
    shape = nominal("objects", scale={"domain": objects, "range": shapes}, legend=legend)
    point = {"x": x, "y": y("median"), "color": colour}
    spread = {"x": x, "y": y("lowest"), "y2": {"field": "highest"}, "color": colour}
    layers = [
        marks("rule", None, spread, strokeWidth=1, opacity=0.6),
        marks("line", None, point, strokeWidth=1.6),
        marks("point", None, {**point, "shape": shape}, filled=True, size=44),
    ]
    if saturation is not None:
        ring = [{"ranks": saturation.point.ranks, "median": saturation.point.median / unit.divisor}]
        place = {"x": x, "y": y("median")}
        layers.append(marks("point", ring, place, shape="circle", size=260, stroke=theme.INK, strokeWidth=1.6))
    return {"data": values(data), "layer": layers, "width": WIDTH, "height": HEIGHT}

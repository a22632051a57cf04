"""Latency by operation: percentiles of each on a logarithmic axis, from the median to the slowest call."""

from __future__ import annotations

import polars as pl

from ioassay.figures import theme
from ioassay.figures.latency import LABELS, TICKS, decades
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative, values

WIDTH, ROW_HEIGHT = 520, 24


def data(operations: pl.DataFrame) -> pl.DataFrame:
    """The data of the figure, from `analysis.profile.totals.operations`: operation, percentile, latency_ns."""
    return (
        operations.unpivot(list(LABELS), index="operation", variable_name="percentile", value_name="latency_ns")
        .drop_nulls("latency_ns")
        .filter(pl.col("latency_ns") > 0)
        .with_columns(pl.col("percentile").replace(LABELS))
    )


def chart(data: pl.DataFrame) -> Specification:
    """The figure. `data` is not empty."""
    operations = list(dict.fromkeys(data["operation"]))
    powers = decades(data["latency_ns"])
    scale = {"type": "log", "domain": [powers[0], powers[-1]], "nice": False}
    x = quantitative("latency_ns", title="Latency", scale=scale, axis={"labelExpr": TICKS, "values": powers})
    y = nominal("operation", title=None, sort=operations, axis={"grid": True})
    names = list(LABELS.values())
    legend = {"title": None, "orient": "top", "direction": "horizontal"}
    colour, shape = (
        nominal("percentile", scale={"domain": names, "range": looks[: len(names)]}, legend=legend)
        for looks in (theme.SERIES_COLOURS, theme.SERIES_SHAPES)
    )
    ends = [
        {"op": "min", "field": "latency_ns", "as": "least"},
        {"op": "max", "field": "latency_ns", "as": "most"},
    ]
    span = {"x": quantitative("least", scale=scale), "x2": {"field": "most"}, "y": y}
    point = {"x": x, "y": y, "color": colour, "shape": shape}
    return {
        "data": values(data),
        "layer": [
            {
                "transform": [{"aggregate": ends, "groupby": ["operation"]}],
                **marks("rule", None, span, color=theme.GRID, strokeWidth=3),
            },
            marks("point", None, point, filled=True, size=46),
        ],
        "width": WIDTH,
        "height": max(60, ROW_HEIGHT * len(operations)),
    }

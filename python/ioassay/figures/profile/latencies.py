"""Latency by operation: percentiles of each on a logarithmic axis, from the median to the slowest call."""

from __future__ import annotations

import altair as alt
import polars as pl

from ioassay.figures import theme
from ioassay.figures.latency import LABELS, TICKS, decades

WIDTH, ROW_HEIGHT = 520, 24


def data(operations: pl.DataFrame) -> pl.DataFrame:
    """What the figure shows, of `analysis.profile.totals.operations`: operation, percentile, latency_ns."""
    return (
        operations.unpivot(list(LABELS), index="operation", variable_name="percentile", value_name="latency_ns")
        .drop_nulls("latency_ns")
        .filter(pl.col("latency_ns") > 0)
        .with_columns(pl.col("percentile").replace(LABELS))
    )


def chart(data: pl.DataFrame) -> theme.Chart:
    """The figure. `data` is not empty."""
    operations = list(dict.fromkeys(data["operation"]))
    powers = decades(data["latency_ns"])
    along = alt.Scale(type="log", domain=[powers[0], powers[-1]], nice=False)
    x = alt.X(
        "latency_ns:Q",
        title="Latency",
        scale=along,
        axis=alt.Axis(labelExpr=TICKS, values=powers),
    )
    y = alt.Y("operation:N", title=None, sort=operations, axis=alt.Axis(grid=True))
    names = list(LABELS.values())
    legend = alt.Legend(title=None, orient="top", direction="horizontal")
    scale = alt.Scale(domain=names, range=theme.SERIES_COLOURS[: len(names)])
    shapes = alt.Scale(domain=names, range=theme.SERIES_SHAPES[: len(names)])
    base = alt.Chart(data)
    drawn: theme.Chart = alt.layer(
        base.mark_rule(color=theme.GRID, strokeWidth=3)
        .encode(alt.X("least:Q", scale=along), alt.X2("most:Q"), y)
        .transform_aggregate(least="min(latency_ns)", most="max(latency_ns)", groupby=["operation"]),
        base.mark_point(filled=True, size=46).encode(
            x,
            y,
            alt.Color("percentile:N", scale=scale, legend=legend),
            alt.Shape("percentile:N", scale=shapes, legend=legend),
        ),
    ).properties(width=WIDTH, height=max(60, ROW_HEIGHT * len(operations)))
    return drawn

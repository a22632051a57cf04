"""Latency percentiles against the number of clients or ranks, phase beside phase, on a logarithmic axis.

Percentiles over the sweep rather than a distribution per phase: where a system saturates, its tail grows
before its rate falls, and that is what a storage engineer looks for. All panels share the axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import polars as pl

from ioassay.analysis import axes, series
from ioassay.analysis.axes import Axis, Value
from ioassay.analysis.latency import PERCENTILES, is_resolved
from ioassay.analysis.series import Series
from ioassay.figures import theme
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative, values

WIDTH, HEIGHT = 236, 220

LABELS = {"p50_ns": "median", "p90_ns": "90 %", "p99_ns": "99 %", "p99_9_ns": "99.9 %", "max_ns": "slowest"}
"""The label of each percentile, from the lowest to the highest."""

TICKS = (
    "datum.value >= 1e9 ? datum.value / 1e9 + ' s' : datum.value >= 1e6 ? datum.value / 1e6 + ' ms' : "
    "datum.value >= 1e3 ? datum.value / 1e3 + ' µs' : datum.value + ' ns'"
)
"""The labels of ticks on an axis of nanoseconds."""


def data(percentiles: pl.DataFrame, axis: Axis = "clients") -> pl.DataFrame:
    """The data of the figure, from `latency.by_sweep_point` of one workload: a row per percentile.

    Columns: series (its label), clients, ranks, that of `axis` where it is another, operations, percentile (one of
    `LABELS`), latency_ns. Percentiles that so few operations cannot tell from the maximum are left out.
    """
    place = axes.column(axis)
    percentiles = axes.with_column(percentiles, axis)
    rows = [
        {
            "series": series.label(Series(row["phase"], row["job"], row["operation"])),
            "clients": row["clients"],
            "ranks": row["ranks"],
            place: row[place],
            "operations": row["operations"],
            "percentile": LABELS[column],
            "latency_ns": row[column],
        }
        for row in percentiles.iter_rows(named=True)
        for column in PERCENTILES
        if is_resolved(row["operations"], column)
    ]
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        "series": pl.String,
        "clients": pl.Int64,
        "ranks": pl.Int64,
        place: percentiles.schema[place],
        "operations": pl.Int64,
        "percentile": pl.String,
        "latency_ns": pl.Int64,
    }
    return pl.DataFrame(rows, schema=schema)


def chart(
    data: pl.DataFrame, panels_of: Sequence[str], axis_of: Axis = "clients", show: Callable[[Value], str] = str
) -> Specification:
    """The figure. `data` is what `data` returns, not empty; a panel for each series of `panels_of` that it has;
    `show` writes a value on the axis.
    """
    names = list(reversed(LABELS.values()))  # as the lines lie: the slowest on top
    places = sorted(set(data[axes.column(axis_of)]))
    legend = {"title": None, "orient": "right", "symbolStrokeWidth": 1.6}
    colour, shape = (
        nominal("percentile", scale={"domain": names, "range": looks[: len(names)]}, legend=legend)
        for looks in (theme.SERIES_COLOURS, theme.SERIES_SHAPES)
    )
    powers = decades(data["latency_ns"])
    scale = {"type": "log", "domain": [powers[0], powers[-1]], "nice": False}
    axis = {"labelExpr": TICKS, "values": powers}
    x = theme.sweep_axis(axis_of, places, show)
    panels: list[Specification] = []
    for label in panels_of:
        rows = data.filter(pl.col("series") == label)
        if rows.is_empty():
            continue
        y = quantitative("latency_ns", title=None if len(panels) % 2 else "Latency", scale=scale, axis=axis)
        point = {"x": x, "y": y, "color": colour}
        layers = [
            marks("line", None, point, strokeWidth=1.4),
            marks("point", None, {**point, "shape": shape}, filled=True, size=34),
        ]
        title = label[:1].upper() + label[1:]
        panels.append({"title": title, "data": values(rows), "layer": layers, "width": WIDTH, "height": HEIGHT})
    return {"concat": panels, "columns": 2, "spacing": 24}


def decades(latencies_ns: pl.Series) -> list[int]:
    """The powers of ten from at or below the lowest to at or above the highest."""
    ascending = latencies_ns.sort()
    lowest, highest = max(1, ascending[0]), max(1, ascending[-1])
    first, last = math.floor(math.log10(lowest)), math.ceil(math.log10(highest))
    return [10**power for power in range(first, max(last, first + 1) + 1)]

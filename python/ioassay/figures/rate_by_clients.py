"""The figure of every scaling study: a rate against the number of clients.

A point per repetition, the medians joined; measurements that do not count are crosses off the line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

from ioassay.analysis import rates
from ioassay.analysis.rate_units import Unit
from ioassay.figures import theme

WIDTH, HEIGHT = 420, 250

HEADROOM = 1.04
"""So that the highest point, and a mark above it, do not sit on the frame."""


def data(points: pl.DataFrame, series: Sequence[tuple[str, str]], operation: str, unit: Unit) -> pl.DataFrame:
    """What the figure shows, one row per measurement, from `rates.points`.

    `series` holds (workload, title). Columns: series, clients, repetition, valid, rate (in `unit`), median (in
    `unit`, of the sweep point's valid repetitions; null where there is none), case, phase.
    """
    rows = points.filter((pl.col("operation") == operation) & pl.col("workload").is_in([name for name, _ in series]))
    medians = rates.medians(rows, unit.column).select("workload", "clients", pl.col("median") / unit.divisor)
    order = {name: at for at, (name, _) in enumerate(series)}
    return (
        rows.join(medians, on=["workload", "clients"], how="left")
        .with_columns(
            pl.col("workload").replace_strict(order, return_dtype=pl.Int64).alias("order"),
            pl.col("workload").replace_strict(dict(series), return_dtype=pl.String).alias("series"),
            (pl.col(unit.column) / unit.divisor).alias("rate"),
        )
        .sort("order", "clients", "repetition", "phase")
        .select("series", "clients", "repetition", "valid", "rate", "median", "case", "phase")
    )


def chart(data: pl.DataFrame, operation: str, unit: Unit, marks: Mapping[tuple[str, int], str]) -> theme.Chart:
    """The figure. `data` is what `data` returns, not empty; `marks` are set above a (series, clients)."""
    titles = list(dict.fromkeys(data["series"]))
    clients = sorted(set(data["clients"]))
    x = theme.clients_axis(clients)
    axis = alt.Axis(tickCount=6)
    scale = alt.Scale(domain=[0, HEADROOM * _highest(data["rate"])], nice=True)
    y_title = f"{operation.capitalize()} rate ({unit.name})"
    legend = alt.Legend(title=None, orient="bottom", direction="vertical") if len(titles) > 1 else None
    colour = alt.Color(
        "series:N", scale=alt.Scale(domain=titles, range=_cycled(theme.SERIES_COLOURS, len(titles))), legend=legend
    )
    shape = alt.Shape(
        "series:N", scale=alt.Scale(domain=titles, range=_cycled(theme.SERIES_SHAPES, len(titles))), legend=legend
    )
    medians = data.filter(pl.col("median").is_not_null()).unique(["series", "clients"], maintain_order=True)
    top = pl.DataFrame(
        [
            {"series": series, "clients": clients, "rate": rate, "mark": marks[series, clients]}
            for series, clients, rate in data.group_by("series", "clients", maintain_order=True)
            .agg(pl.col("rate").max())
            .iter_rows()
            if marks.get((series, clients))
        ],
        schema={"series": pl.String, "clients": pl.Int64, "rate": pl.Float64, "mark": pl.String},
    )
    y = alt.Y("rate:Q", title=y_title, scale=scale, axis=axis)
    layers: list[alt.Chart] = [
        alt.Chart(medians)
        .mark_line(strokeWidth=1.8)
        .encode(x, alt.Y("median:Q", title=y_title, scale=scale, axis=axis), colour),
        alt.Chart(data.filter("valid")).mark_point(filled=True, size=46, opacity=0.85).encode(x, y, colour, shape),
        alt.Chart(data.filter(~pl.col("valid")))
        .mark_point(shape="M-1,-1L1,1M1,-1L-1,1", size=90, stroke=theme.INVALID, strokeWidth=1.8)
        .encode(x, y),
        alt.Chart(top)
        .mark_text(dy=-11, fontSize=10, fontStyle="italic", color=theme.INK)
        .encode(x, y, alt.Text("mark:N")),
    ]
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def _highest(rates: pl.Series) -> float:
    highest = rates.max()
    return highest if isinstance(highest, float) and highest > 0 else 1.0


def _cycled(values: list[str], count: int) -> list[str]:
    return [values[at % len(values)] for at in range(count)]

"""The figure of every sweep: a rate against the number of clients or ranks, or against another axis.

A point per repetition, the medians joined, the law that they follow dotted; measurements that do not count are crosses
off the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl

from ioassay.analysis import axes, rates
from ioassay.analysis.axes import Axis, Value, Values
from ioassay.analysis.ceilings import Limit
from ioassay.analysis.scalability import Sweep
from ioassay.figures import theme
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative
from ioassay.store.document import FigureEntry
from ioassay.store.measurement import KEY, POINT, Measurement
from ioassay.text.rate_units import UNITS, Unit

WIDTH, HEIGHT = 420, 250

MOST_ABOVE = 3.0
"""Ceilings above this multiple of the highest rate are left out: they would flatten the rates."""

LAW_POINTS = 33
"""Places at which a law is computed: enough for a smooth line at this width."""

MOST_DOTS = 40
"""Repetitions of a point that are drawn; more would be one dot."""

NAME_GAP = 6
"""Pixels between the frame and the name of a ceiling."""

HEADROOM = 1.04
"""Keeps the highest point off the frame."""

FLAG = "!"
"""The mark above a point whose doubts change its meaning."""

FLAG_HEIGHT = 0.05
"""The share of the frame that a flag takes: flags that are closer become one."""


def data(
    points: pl.DataFrame,
    entry: FigureEntry,
    titles: Mapping[str, str],
    axis: Axis = "clients",
    show: Callable[[Values], str] = str,
) -> pl.DataFrame:
    """The data of the figure, a row per measurement, from `rates.points`.

    `titles` names every workload, `show` values on other axes than `axis`. A workload has a line for each series that
    the entry asks for, for each combination of these values, and for each count of files where there are several at
    one place. Columns: series, clients, ranks, that of `axis` where it is another, repetition, valid, rate (in the
    entry's unit), median (in that unit, of the sweep point's valid repetitions; null where there is none), and
    those of `measurement.KEY`.
    """
    unit = UNITS[entry.unit]
    parts = [
        _line_data(
            axes.with_column(part, axis), ", ".join(filter(None, (titles[name], show(values) if values else ""))), axis
        )
        for name in entry.workloads
        for values, part in axes.parts(rates.of(points, name, entry.operation, entry.phase), axis)
    ]
    rows = pl.concat(parts)
    medians = rates.medians(rows, unit.column).select(*POINT, pl.col("median") / unit.divisor)
    return (
        _at_most(rows, unit.column)
        .join(medians, on=list(POINT), how="left", maintain_order="left")
        .with_columns((pl.col(unit.column) / unit.divisor).alias("rate"))
        .select("series", *_places(axis), "repetition", "valid", "rate", "median", *KEY)
    )


def _places(axis: Axis) -> list[str]:
    return [*axes.COUNTED, *([] if axis in axes.COUNTED else [axes.column(axis)])]


def _at_most(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """At most `MOST_DOTS` repetitions of each point, at equal steps from the lowest to the highest."""
    place, count = pl.col(column).rank("ordinal").over(*POINT, "series") - 1, pl.len().over(*POINT, "series")
    step = (count - 1) / (MOST_DOTS - 1)
    nearest = ((place / step).round() * step).round()
    return rows.filter((count <= MOST_DOTS) | (place == nearest))


def ceilings(data: pl.DataFrame, limits: Mapping[Measurement, Limit], unit: Unit, axis: Axis) -> pl.DataFrame:
    """The lowest ceiling at each place on the axis, of what `data` returns. Empty where there is none.

    Columns: that of `axis`, ceiling (in `unit`), name. Of IOPS it is the ceiling of their bytes. Where measurements of
    one place have several ceilings, it is the highest of these: each of them lies below that.
    """
    place = axes.column(axis)
    rows = [
        {place: row[place], "ceiling": row["rate"] / limit.share, "name": f"network: {limit.ceiling.name}"}
        for row in data.iter_rows(named=True)
        if (limit := limits.get(Measurement.of(row)))
    ]
    schema: dict[str, pl.DataType | type[pl.DataType]] = {
        place: data.schema[place],
        "ceiling": pl.Float64,
        "name": pl.String,
    }
    return pl.DataFrame(rows, schema=schema).sort(place, "ceiling").unique(place, keep="last", maintain_order=True)


def drawn(ceilings: pl.DataFrame, data: pl.DataFrame) -> pl.DataFrame:
    """The `ceilings` that are low enough to be drawn."""
    return ceilings.filter(pl.col("ceiling") <= MOST_ABOVE * _highest(data["rate"]))


def laws(data: pl.DataFrame, sweeps: Iterable[Sweep], unit: Unit) -> pl.DataFrame:
    """The Universal Scalability Law of each line of `data` that follows it, between its first and its last point.

    Columns: series, at (on the axis; any number between), law (in `unit`).
    """
    import numpy as np  # noqa: PLC0415

    lines = dict(zip(data.select(*KEY).iter_rows(), data["series"], strict=True))
    rows = [
        {"series": series, "at": value, "law": sweep.law.law.rate(value) / unit.divisor}
        for sweep in sweeps
        if sweep.law is not None and sweep.column == unit.column and (series := lines.get(sweep.rests_on[0]))
        for value in np.geomspace(sweep.medians[0][0], sweep.medians[-1][0], LAW_POINTS).tolist()
    ]
    return pl.DataFrame(rows, schema={"series": pl.String, "at": pl.Float64, "law": pl.Float64})


def _line_data(rows: pl.DataFrame, title: str, axis: Axis) -> pl.DataFrame:
    """The rows of one workload with the name of the line that each belongs to."""
    several_series = rows.select("phase", "job").n_unique() > 1
    place = ["phase", "job", *_places(axis)]
    several_files = rows.select(*place, "files").n_unique() > rows.select(*place).n_unique()
    name = [pl.lit(title)]
    if several_series:
        same = pl.col("phase") == pl.col("job")
        name += [pl.lit(", "), pl.when(same).then("phase").otherwise(pl.concat_str("phase", pl.lit(", "), "job"))]
    if axis not in axes.COUNTED and (counted := _distinguishing_axis(rows)):
        noun = counted.removesuffix("s")
        plural = pl.when(pl.col(counted) == 1).then(pl.lit("")).otherwise(pl.lit("s"))
        name += [pl.lit(", "), pl.col(counted).cast(pl.String), pl.lit(f" {noun}"), plural]
    if several_files:
        name += [pl.lit(", "), pl.col("files").cast(pl.String), pl.lit(" objects")]
    return rows.with_columns(pl.concat_str(name).alias("series")).sort(
        "phase", "job", "files" if several_files else "clients", *_places(axis), "repetition"
    )


def _distinguishing_axis(rows: pl.DataFrame) -> Axis | None:
    """The axis that distinguishes the rows: clients, else ranks; `None` where neither differs."""
    clients, ranks = (rows[counted].n_unique() for counted in axes.COUNTED)
    if max(clients, ranks) == 1:
        return None
    return "clients" if rows.select(axes.COUNTED).n_unique() == clients else "ranks"


def chart(
    data: pl.DataFrame,
    operation: str,
    unit: Unit,
    doubts: Mapping[tuple[str, Value], str],
    axis_of: Axis = "clients",
    *,
    show: Callable[[Value], str] = str,
    ceilings: pl.DataFrame | None = None,
    laws: pl.DataFrame | None = None,
    levels: Mapping[str, float] | None = None,
    bands: pl.DataFrame | None = None,
) -> Specification:
    """The figure. `data` is what `data` returns, not empty; a (series, value on the axis) of `doubts` has a `FLAG`,
    with these words at the pointer.

    `show` writes a value on the axis; `ceilings` is what `drawn` returns, `laws` what the function of that name does.
    `levels` are rates in `unit` of other series, of which no more is known than this. `bands` has what predictions
    allow: columns series, that of the axis, low and high (in `unit`).
    """
    levels = levels or {}
    titles = list(dict.fromkeys([*data["series"], *levels]))
    axis_column = axes.column(axis_of)
    x = theme.sweep_axis(axis_of, sorted(set(data[axis_column])), show)
    shown = [*data["rate"], *levels.values(), *([] if ceilings is None else ceilings["ceiling"])]
    shown += [] if bands is None else [*bands["high"]]
    scale = {"domain": [0, HEADROOM * _highest(pl.Series(shown, dtype=pl.Float64))], "nice": True}

    def y(column: str) -> Specification:
        title = f"{operation.capitalize()} rate ({unit.name})"
        return quantitative(column, title=title, scale=scale, axis={"tickCount": 6})

    legend: Specification = {"title": None, "orient": "bottom", "direction": "vertical"}
    if bands is not None:
        legend["symbolOpacity"] = 1  # symbols of a legend take the opacity of the palest layer
    several = len(titles) > 1
    colour, shape = (
        nominal(
            "series",
            scale={"domain": titles, "range": _cycled(looks, len(titles))},
            legend=legend if several else None,
        )
        for looks in (theme.SERIES_COLOURS, theme.SERIES_SHAPES)
    )
    medians = data.filter(pl.col("median").is_not_null()).unique(["series", axis_column], maintain_order=True)
    is_ordered = data.schema[axis_column] != pl.String
    layers: list[Specification] = []
    if levels:
        rows = [{"series": series, "level": level} for series, level in levels.items()]
        level = {"y": y("level"), "color": colour}
        layers += [marks("rule", rows, level, strokeWidth=1.4, strokeDash=[6, 3])]
    if bands is not None:
        band = {"x": x, "y": y("low"), "y2": {"field": "high"}, "color": colour}
        layers += [marks("area", bands, band, opacity=0.14)] if is_ordered else []
        layers += [marks("rule", bands, band, strokeWidth=5, opacity=0.3)]  # also of a single point, without an area
    if laws is not None and not laws.is_empty():
        law = {"x": x, "y": y("law"), "color": colour}
        layers += [
            marks("line", laws.rename({"at": axis_column}), law, strokeWidth=1.1, strokeDash=[1.5, 2.5], opacity=0.9)
        ]
    if ceilings is not None and not ceilings.is_empty():
        layers += _ceiling_layers(ceilings, x, y("ceiling"))
    median = {"x": x, "y": y("median"), "color": colour}
    point = {"x": x, "y": y("rate")}
    repetition = {**point, "color": colour, "shape": shape}
    cross = {"shape": "M-1,-1L1,1M1,-1L-1,1", "size": 90, "stroke": theme.INVALID, "strokeWidth": 1.8}
    flag = {"text": FLAG, "dy": -10, "fontSize": 13, "fontWeight": "bold", "color": theme.VERMILION}
    layers += [
        marks("line", medians, median, strokeWidth=1.8)
        if is_ordered
        else marks("tick", medians, median, thickness=1.8),
        # A page switches them off by this name.
        {
            "name": "repetitions",
            **marks("point", data.filter("valid"), repetition, filled=True, size=46, opacity=0.85),
        },
        {"name": "invalid", **marks("point", data.filter(~pl.col("valid")), point, **cross)},
        marks("text", _flags(data, axis_column, doubts), {**point, "description": {"field": "doubts"}}, **flag),
    ]
    return {"layer": layers, "width": WIDTH, "height": HEIGHT}


def _flags(data: pl.DataFrame, column: str, doubts: Mapping[tuple[str, Value], str]) -> pl.DataFrame:
    """A row for each flag: its place on the axis, its rate, its words. Flags that would overlap are one."""
    several = data["series"].n_unique() > 1
    rows: list[dict[str, Any]] = []
    highest = data.group_by("series", column, maintain_order=True).agg(pl.col("rate").max())
    for series, place, rate in highest.sort(column, "rate", maintain_order=True).iter_rows():
        if not (doubt := doubts.get((series, place))):
            continue
        words = f"{series}: {doubt}" if several else doubt
        last = rows[-1] if rows and rows[-1][column] == place else None
        if last is not None and rate - last["rate"] < FLAG_HEIGHT * _highest(data["rate"]):
            last["doubts"] += f"; {words}"
        else:
            rows.append({column: place, "rate": rate, "doubts": words})
    return pl.DataFrame(rows, schema={column: data.schema[column], "rate": pl.Float64, "doubts": pl.String})


def _ceiling_layers(ceilings: pl.DataFrame, x: Specification, y: Specification) -> list[Specification]:
    """A dashed line with a stroke at each place where the ceiling is known; the name of the last beside the frame."""
    known = {"x": x, "y": y}
    name = {"x": {"value": WIDTH + NAME_GAP}, "y": y, "text": nominal("name")}
    stroke = {"shape": "stroke", "size": 130, "strokeWidth": 1.6, "stroke": theme.CEILING}
    return [
        marks("line", ceilings, known, strokeWidth=1.2, strokeDash=[5, 3], color=theme.CEILING),
        {"name": "ceiling", **marks("point", ceilings, known, **stroke)},
        marks("text", ceilings.tail(1), name, align="left", fontSize=10, color=theme.CEILING),
    ]


def _highest(rates: pl.Series) -> float:
    highest = rates.max()
    return highest if isinstance(highest, float) and highest > 0 else 1.0


def _cycled(values: list[str], count: int) -> list[str]:
    return [values[index % len(values)] for index in range(count)]

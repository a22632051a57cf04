"""The clients' rate and the rates of servers and devices in the same seconds, stacked on one time axis.

Behind the lines stand the phases, pale: what the clients write in the colour of writes, what they read in that of
reads. Panels of hosts share their scale, so that servers compare at a glance.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from ioassay.analysis.watch.timeline import RunTimeline
from ioassay.figures import theme
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative
from ioassay.text.rate_units import Unit, suited

WIDTH, HEIGHT = 600, 90

_LINES: Final = {
    "write": "writes",
    "read": "reads",
    "disk_write_bytes": "writes",
    "disk_read_bytes": "reads",
    "received_bytes": "network in",
    "sent_bytes": "network out",
}
"""The label of each column."""

_COLOURS: Final = {
    "writes": theme.VERMILION,
    "reads": theme.BLUE,
    "network in": theme.GREEN,
    "network out": theme.PURPLE,
}
_DASHES: Final = {"writes": [1, 0], "reads": [1, 0], "network in": [3, 2], "network out": [3, 2]}

_PHASES: Final = {"write": theme.PALE_VERMILION, "read": theme.PALE_BLUE, "other": theme.SHADE}

_LEGEND: Final = {"title": None, "orient": "bottom", "direction": "horizontal"}


def chart(line: RunTimeline) -> Specification:
    unit = _unit(max(_highest(line.clients), _highest(line.hosts), _highest(line.counted)))
    shown = [("Clients", line.clients, _highest(line.clients))]
    for every, what in ((line.hosts, "disks and network"), (line.counted, "counters of the file system")):
        hosts = every.partition_by("host", maintain_order=True, as_dict=True)
        shown += [
            (f"{host}: {what}", host_rates.drop("host"), _highest(every)) for (host,), host_rates in hosts.items()
        ]
    panels = [
        _panel(line, rates, title, unit, highest / unit.divisor, is_last=number == len(shown))
        for number, (title, rates, highest) in enumerate(shown, start=1)
    ]
    return {"vconcat": panels, "spacing": 8}


def data(line: RunTimeline) -> pl.DataFrame:
    """The data of the figure: a row per step, of the clients (host empty) and of each host; rates in bytes/s."""
    clients = line.clients.select(
        pl.lit("").alias("host"),
        "start_s",
        pl.col("write").alias("client_write_bytes_per_s"),
        pl.col("read").alias("client_read_bytes_per_s"),
    )
    counted = line.counted.rename({direction: f"counted_{direction}_bytes_per_s" for direction in ("write", "read")})
    return pl.concat([clients, line.hosts.rename(_per_s), counted], how="diagonal").with_columns(
        pl.col(pl.Float64).round(0).cast(pl.Int64)
    )


def _per_s(name: str) -> str:
    return f"{name}_per_s" if name.endswith("_bytes") else name


def _panel(
    line: RunTimeline, rates: pl.DataFrame, title: str, unit: Unit, highest: float, *, is_last: bool
) -> Specification:
    time = quantitative(
        "start_s",
        title="Time since the first phase began (s)" if is_last else None,
        scale={"domain": [0, line.end_s], "nice": False},
        axis={"grid": False, "labels": is_last, "labelFlush": False},
    )
    moves = nominal("moves", scale={"domain": [*_PHASES], "range": [*_PHASES.values()]}, legend=None)
    rate = quantitative(
        "rate",
        title=unit.name,
        axis={"tickCount": 3},
        scale={"domain": [0, 1.03 * (highest or 1.0)], "nice": True},
    )
    colour = nominal(
        "line",
        scale={"domain": [*_COLOURS], "range": [*_COLOURS.values()]},
        legend=_LEGEND if is_last else None,
    )
    dash = nominal("line", scale={"domain": [*_DASHES], "range": [*_DASHES.values()]}, legend=None)
    phase = {"x": time, "x2": {"field": "end_s"}, "color": moves}
    step = {"x": time, "y": rate, "color": colour, "strokeDash": dash}
    layers = [
        marks("rect", line.phases, phase),
        marks("line", _stairs(rates, line.step_s, unit), step, interpolate="step-after", strokeWidth=1.3),
    ]
    independent_colours = {"scale": {"color": "independent"}}
    return {"title": title, "layer": layers, "resolve": independent_colours, "width": WIDTH, "height": HEIGHT}


def _stairs(rates: pl.DataFrame, step_s: int, unit: Unit) -> pl.DataFrame:
    """A row per step and line, and one at the end of the last step, so that stairs cover it too."""
    known = [column for column in _LINES if column in rates.columns and rates[column].null_count() < rates.height]
    end = rates.tail(1).with_columns(pl.col("start_s") + step_s)
    return (
        pl.concat([rates, end])
        .unpivot(on=known, index="start_s", variable_name="line", value_name="rate")
        .with_columns(pl.col("line").replace_strict(_LINES), pl.col("rate") / unit.divisor)
    )


def _highest(rates: pl.DataFrame) -> float:
    numbers = rates.select(pl.max_horizontal(pl.col(pl.Float64).max())).item() if rates.height else None
    return float(numbers or 0.0)


def _unit(highest: float) -> Unit:
    return suited("rate_bytes_per_s", "read", [highest])

"""Two profiles drawn over one another: the reference in grey below, the other in colour above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from ioassay.figures import theme
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative

WIDTH, HEIGHT = 640, 130
SIZES_WIDTH, SIZES_HEIGHT = 300, 170

_BYTES = (
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '~g') + ' GiB' : "
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~g') + ' MiB' : "
    "datum.value >= 1024 ? format(datum.value / 1024, '~g') + ' KiB' : datum.value + ' B'"
)
"""The label of a size on an axis."""


class Panel(NamedTuple):
    """A part of a figure: its title, and its rows, of which none are missing."""

    title: str
    data: pl.DataFrame
    """series (one of two names), and start_s and rate, or size_bytes and share."""


def over_time(panels: Sequence[Panel], names: Sequence[str]) -> Specification:
    """Rates over time, a panel below the other. `names` are those of the reference and of the other."""
    end = max(float(panel.data["start_s"].max()) for panel in panels)  # type: ignore[arg-type]
    drawn = [
        marks(
            "line",
            panel.data,
            {
                "x": quantitative(
                    "start_s",
                    title="Time since the first I/O (s)" if panel is panels[-1] else None,
                    scale={"domain": [0, end], "nice": False},
                    axis={"grid": False},
                ),
                "y": quantitative("rate", title=panel.title, axis={"tickCount": 4}, scale={"domainMin": 0}),
                **_series(names),
            },
            interpolate="step-after",
            strokeWidth=1.5,
        )
        for panel in panels
    ]
    return {"vconcat": [{**panel, "width": WIDTH, "height": HEIGHT} for panel in drawn], "spacing": 14}


def sizes(panels: Sequence[Panel], names: Sequence[str]) -> Specification:
    """Cumulative shares of sizes, the panels beside one another."""
    every = pl.concat(panel.data for panel in panels)["size_bytes"]
    least, most = float(every.min()) / 2, float(every.max()) * 2  # type: ignore[arg-type]
    ticks = [float(4**power) for power in range(20) if least <= 4**power <= most]
    drawn = [
        marks(
            "line",
            _whole(panel.data, least, most),
            {
                "x": quantitative(
                    "size_bytes",
                    title="Size of a request",
                    scale={"type": "log", "base": 2, "domain": [least, most], "nice": False},
                    axis={"labelExpr": _BYTES, "values": ticks, "grid": False, "labelOverlap": True},
                ),
                "y": quantitative(
                    "share",
                    title="Share of smaller requests" if panel is panels[0] else None,
                    scale={"domain": [0, 1]},
                    axis={"tickCount": 4, "format": "%"},
                ),
                **_series(names),
            },
            interpolate="step-after",
            strokeWidth=1.5,
        )
        for panel in panels
    ]
    titled = [
        {"title": panel.title, **line, "width": SIZES_WIDTH, "height": SIZES_HEIGHT}
        for panel, line in zip(panels, drawn, strict=True)
    ]
    return {"concat": titled, "columns": 2, "spacing": 24}


def _whole(data: pl.DataFrame, least: float, most: float) -> pl.DataFrame:
    """The data with a row at both ends of the axis for each series."""
    names = data.select("series").unique(maintain_order=True)
    ends = [
        names.select(size_bytes=pl.lit(end), share=pl.lit(share), series="series")
        for end, share in ((least, 0.0), (most, 1.0))
    ]
    return pl.concat([ends[0], data, ends[1]])


def _series(names: Sequence[str]) -> Specification:
    """The colour of each series, with dashes for grey printers."""
    legend = {"title": None, "orient": "top", "direction": "horizontal"}
    looks = {"color": [theme.CEILING, theme.VERMILION], "strokeDash": [[4, 2], [1, 0]]}
    return {
        channel: nominal("series", scale={"domain": names, "range": look}, legend=legend)
        for channel, look in looks.items()
    }

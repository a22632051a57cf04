"""Two profiles drawn over one another: the reference in grey below, the other in colour above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import altair as alt
import polars as pl

from ioassay.figures import theme

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


def over_time(panels: Sequence[Panel], names: Sequence[str]) -> theme.Chart:
    """Rates over time, a panel below the other. `names` are those of the reference and of the other."""
    end = max(float(panel.data["start_s"].max()) for panel in panels)  # type: ignore[arg-type]
    drawn = [
        alt.Chart(panel.data)
        .mark_line(interpolate="step-after", strokeWidth=1.5)
        .encode(
            alt.X(
                "start_s:Q",
                title="Time since the first I/O (s)" if panel is panels[-1] else None,
                scale={"domain": [0, end], "nice": False},
                axis={"grid": False},
            ),
            alt.Y("rate:Q", title=panel.title, axis={"tickCount": 4}, scale={"domainMin": 0}),
            *_series(names),
        )
        .properties(width=WIDTH, height=HEIGHT)
        for panel in panels
    ]
    whole: theme.Chart = alt.vconcat(*drawn, spacing=14)
    return whole


def sizes(panels: Sequence[Panel], names: Sequence[str]) -> theme.Chart:
    """Cumulative shares of sizes, the panels beside one another."""
    every = pl.concat(panel.data for panel in panels)["size_bytes"]
    least, most = float(every.min()) / 2, float(every.max()) * 2  # type: ignore[arg-type]
    ticks = [float(4**power) for power in range(20) if least <= 4**power <= most]
    drawn = [
        alt.Chart(_whole(panel.data, least, most), title=panel.title)
        .mark_line(interpolate="step-after", strokeWidth=1.5)
        .encode(
            alt.X(
                "size_bytes:Q",
                title="Size of a request",
                scale={"type": "log", "base": 2, "domain": [least, most], "nice": False},
                axis=alt.Axis(labelExpr=_BYTES, values=ticks, grid=False, labelOverlap=True),
            ),
            alt.Y(
                "share:Q",
                title="Share of smaller requests" if panel is panels[0] else None,
                scale={"domain": [0, 1]},
                axis={"tickCount": 4, "format": "%"},
            ),
            *_series(names),
        )
        .properties(width=SIZES_WIDTH, height=SIZES_HEIGHT)
        for panel in panels
    ]
    whole: theme.Chart = alt.concat(*drawn, columns=2, spacing=24)
    return whole


def _whole(data: pl.DataFrame, least: float, most: float) -> pl.DataFrame:
    """With a row at both ends of the axis for each series."""
    names = data.select("series").unique(maintain_order=True)
    ends = [
        names.select(size_bytes=pl.lit(at), share=pl.lit(share), series="series")
        for at, share in ((least, 0.0), (most, 1.0))
    ]
    return pl.concat([ends[0], data, ends[1]])


def _series(names: Sequence[str]) -> tuple[alt.Color, alt.StrokeDash]:
    """The colour of each, and dashes for those who print in grey."""
    legend = alt.Legend(title=None, orient="top", direction="horizontal")
    return (
        alt.Color(
            "series:N", scale=alt.Scale(domain=list(names), range=[theme.CEILING, theme.VERMILION]), legend=legend
        ),
        alt.StrokeDash("series:N", scale=alt.Scale(domain=list(names), range=[[4, 2], [1, 0]]), legend=legend),
    )

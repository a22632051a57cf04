"""Processes over time: the bytes that each moved, and the share of its time in I/O. Darker is more."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ioassay.figures import theme
from ioassay.figures.vega_lite import Specification, marks, quantitative
from ioassay.text.rate_units import Unit

WIDTH, ROW_HEIGHT, LEAST_HEIGHT, MOST_HEIGHT = 560, 12, 60, 260


def chart(data: pl.DataFrame, step_s: float, end_s: float, unit: Unit, *, rows: int, title: str) -> Specification:
    """The figure, to `end_s`, without the panel of what is unknown everywhere. `data` has a row per cell, not none:
    row, start_s, bytes_per_s, busy; `title` says what a row is.
    """
    cells = data.with_columns(
        end_s=pl.col("start_s") + step_s, until=pl.col("row") + 1, rate=pl.col("bytes_per_s") / unit.divisor
    )
    end = max(end_s, cells["end_s"].max())  # type: ignore[type-var]
    height = min(MOST_HEIGHT, max(LEAST_HEIGHT, rows * ROW_HEIGHT))

    def panel(column: str, legend: str, colours: Sequence[str]) -> Specification:
        cell = {
            "x": quantitative(
                "start_s", title="Time (s)", scale={"domain": [0, end], "nice": False}, axis={"grid": False}
            ),
            "x2": {"field": "end_s"},
            "y": quantitative(
                "row",
                title=title,
                scale={"domain": [rows, 0], "nice": False},
                axis={"grid": False, "labels": False, "ticks": False},
            ),
            "y2": {"field": "until"},
            "color": quantitative(
                column,
                scale={"range": colours, "domainMin": 0},
                legend={"title": None, "gradientLength": height * 0.8, "tickCount": 4},
            ),
        }
        positive = cells.filter(pl.col(column) > 0)
        return {"title": legend, **marks("rect", positive, cell), "width": WIDTH, "height": height}

    panels = (
        ("rate", f"Bytes moved ({unit.name})", (theme.PALE_BLUE, theme.BLUE)),
        ("busy", "Time in calls, per second of time and process (s/s)", (theme.PALE_VERMILION, theme.VERMILION)),
    )
    known = [panel(*arguments) for arguments in panels if cells[arguments[0]].count()]
    return {"vconcat": known, "spacing": 18, "resolve": {"scale": {"color": "independent"}}}

"""The look that all figures share: colours, shapes, fonts, sizes. Made for print first.

Colours are Okabe and Ito's ("Color Universal Design", 2008), which people with any colour vision distinguish;
series differ in shape as well, for grey printers. Yellow is left out: it vanishes on white paper.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ioassay.analysis import axes
from ioassay.analysis.axes import Axis, Value
from ioassay.figures.vega_lite import Specification, nominal, quantitative

BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
ORANGE = "#E69F00"
SKY = "#56B4E9"
BLACK = "#000000"

PALE_BLUE = "#deebf7"
PALE_VERMILION = "#fee6ce"
"""The pale ends of scales that reach the full colour."""

LIGHT_BLUE = "#9ecae1"
DARK_BLUE = "#08306b"
"""The ends of a scale whose colours are all seen on a point."""

BOX_BLUE = "#d3e5f3"
BOX_SKY = "#bcdcf2"
BOX_GREEN = "#a5dccb"
BOX_PURPLE = "#e3b7cf"
BOX_ORANGE = "#f6d79a"
BOX_GREY = "#dcdcdc"
SHADE = "#eeeeee"
"""Areas on which a text in `INK` can be read, and the palest behind lines."""

SERIES_COLOURS = [BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK]
SERIES_SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right"]

INVALID = "#555555"
CEILING = "#777777"
INK = "#222222"
FAINT = "#666666"
LINE = "#888888"
PALE_LINE = "#bbbbbb"
GRID = "#dddddd"
PAPER = "white"

ON_DARK = {
    BLUE: "#4aa8e0",
    VERMILION: "#ff8534",
    GREEN: "#2cc295",
    PURPLE: "#e0a0c3",
    ORANGE: "#f0b63c",
    SKY: "#9bd5f8",
    BLACK: "#f2f2f0",
    INVALID: "#b5b5b2",
    CEILING: "#a0a09c",
    INK: "#dededb",
    LINE: "#7c7c78",
    GRID: "#363634",
    PAPER: "#171716",
    FAINT: "#a5a5a1",
    PALE_LINE: "#5c5c58",
    PALE_BLUE: "#1d3244",
    PALE_VERMILION: "#4a3018",
    BOX_BLUE: "#1d3a52",
    BOX_SKY: "#1f4a6b",
    BOX_GREEN: "#1b4f41",
    BOX_PURPLE: "#573048",
    BOX_ORANGE: "#574318",
    BOX_GREY: "#434340",
    SHADE: "#2a2a28",
}
"""What a page that is shown on black has in place of these: as far apart; lines light enough for 1 pixel, areas dark
enough for light text."""

# The SVG renderer measures text with the Liberation Sans that it brings along; its metrics are Arial's and
# Helvetica's, so labels fit wherever the page is read.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"

SLACK = 22
"""Pixels at the right, for readers whose only font is wider than those (DejaVu Sans)."""

_AXIS: dict[str, Any] = {
    "labelFontSize": 11,
    "titleFontSize": 11.5,
    "titleFontWeight": "normal",
    "titlePadding": 7,
    "labelColor": INK,
    "titleColor": INK,
    "domainColor": LINE,
    "tickColor": LINE,
    "gridColor": GRID,
    "gridWidth": 0.6,
}

_LEGEND: dict[str, Any] = {
    "labelColor": INK,
    "titleColor": INK,
    "labelFontSize": 11,
    "labelLimit": 420,
    "symbolSize": 60,
}

CONFIG: dict[str, Any] = {
    "font": FONT,
    "background": PAPER,
    "padding": {"left": 6, "top": 6, "bottom": 6, "right": SLACK},
    "axis": _AXIS,
    "legend": _LEGEND,
    "view": {"stroke": None},
    "title": {"fontSize": 11.5, "fontWeight": "bold", "color": INK, "anchor": "start", "offset": 6},
}
"""The look as Vega-Lite's `config`. `render` adds it to every figure."""


def sweep_axis(axis: Axis, values: Sequence[Value], show: Callable[[Value], str] = str) -> Specification:
    """The axis of a sweep: logarithmic, with a tick at every swept value and nowhere else; of words one beside another.

    `show` writes a value with its unit.
    """
    title = axis[:1].upper() + axis[1:]
    numbers = [value for value in values if isinstance(value, int)]
    if len(numbers) < len(values):
        return nominal(
            axes.column(axis),
            title=title,
            sort=[str(value) for value in values],
            axis={"labelAngle": 0, "grid": False},
        )
    low, high = min(numbers), max(numbers)
    labels = {str(value): show(value) for value in numbers}
    return quantitative(
        axes.column(axis),
        title=title,
        # Room on both sides, so that no point sits on the frame; it also gives a sweep of one value a width. A
        # logarithmic scale has no 0.
        scale={"type": "log", "base": 2, "domain": [low / 1.15, high * 1.15], "nice": False}
        if low > 0
        else {"type": "symlog", "domain": [low, high * 1.15], "nice": False},
        axis={
            "values": numbers,
            "labelExpr": f"({json.dumps(labels)})[toString(datum.value)]",
            "grid": False,
            "labelOverlap": False,
        },
    )

"""Racks from the front, as they are built: units numbered from the floor, a box per component, free units dashed.

Not: what stands where (`ioassay.sizing.packing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from ioassay.figures import theme
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative

Kind = Literal["drives", "servers", "metadata", "network", "other", "free"]

COLOURS: Mapping[Kind, str] = {
    "drives": theme.BOX_SKY,
    "servers": theme.BOX_GREEN,
    "metadata": theme.BOX_PURPLE,
    "network": theme.BOX_ORANGE,
    "other": theme.BOX_GREY,
    "free": theme.PAPER,
}

UNIT = 10
"""Height of a rack unit."""
BODY, NUMBERS, BRACKET = 104, 20, 24
"""Widths of a rack, of the numbers at its left, and of the bracket with the names of bricks at its right."""
GAP = 16
MOST_RACKS = 4
"""Racks of a figure: as many as a page has room for side by side."""
PITCH = NUMBERS + BODY + BRACKET + GAP
TITLE = 18
LETTER = 5.2
"""About the width of a letter in a box."""
LEAST_LETTERS = 10
"""Shortest form of a shortened name, in characters."""


@dataclass(frozen=True)
class Box:
    """A component, or free units."""

    low: int
    """The lowest unit, counted from 1."""
    units: int
    kind: Kind
    label: str


@dataclass(frozen=True)
class Group:
    """Bricks of a kind, each of the same height, that stand one above the other."""

    low: int
    units: int
    count: int
    label: str


@dataclass(frozen=True)
class Rack:
    """A rack, or several alike."""

    title: str
    units: int
    boxes: tuple[Box, ...]
    groups: tuple[Group, ...]


def data(racks: Sequence[Rack]) -> pl.DataFrame:
    """The data of the figure, a row per component. Columns: rack, lowest_unit, units, kind, component."""
    return pl.DataFrame(
        [(rack.title, box.low, box.units, box.kind, box.label) for rack in racks for box in rack.boxes],
        schema={
            "rack": pl.String,
            "lowest_unit": pl.Int64,
            "units": pl.Int64,
            "kind": pl.String,
            "component": pl.String,
        },
        orient="row",
    )


def chart(racks: Sequence[Rack]) -> Specification:
    """The drawing of 1 to `MOST_RACKS` racks."""
    return _Drawing(racks).chart()


class _Drawing:
    """Racks with their places, in pixels from the left and from the top."""

    def __init__(self, racks: Sequence[Rack]) -> None:
        self._floor = TITLE + UNIT * max(rack.units for rack in racks)  # they all stand on it
        self._placed = [(rack, index * PITCH + NUMBERS) for index, rack in enumerate(racks)]
        self._width, self._height = len(racks) * PITCH - GAP, self._floor + 1

    def chart(self) -> Specification:
        layers = [
            self._boxes(),
            self._frames(),
            self._texts(self._labels(), fontSize=9),
            self._texts(self._numbers(), fontSize=7, align="right", color=theme.FAINT),
            self._texts(self._titles(), fontSize=10.5, fontWeight="bold", align="left"),
            *self._brackets(),
        ]
        return {"layer": layers, "width": self._width, "height": self._height}

    def _boxes(self) -> Specification:
        present = [kind for kind in COLOURS if any(box.kind == kind for rack, _ in self._placed for box in rack.boxes)]
        rows = [
            {**self._area(left, box.low, box.units), "kind": box.kind}
            for rack, left in self._placed
            for box in rack.boxes
        ]
        colour = nominal(
            "kind",
            scale={"domain": present, "range": [COLOURS[kind] for kind in present]},
            legend={
                "title": None,
                "orient": "bottom",
                "symbolType": "square",
                "symbolStrokeColor": theme.CEILING,
                "offset": 8,
            },
        )
        return marks("rect", rows, {**self._rectangle(), "color": colour}, stroke=theme.CEILING, strokeWidth=0.7)

    def _frames(self) -> Specification:
        """The outlines of racks, and of each brick."""
        rows = [
            self._area(left, low, units)
            for rack, left in self._placed
            for low, units in ((1, rack.units), *(brick for group in rack.groups for brick in _bricks(group)))
        ]
        return marks("rect", rows, self._rectangle(), fill=None, stroke=theme.INK, strokeWidth=1.3)

    def _rectangle(self) -> Specification:
        return {"x": self._x("x"), "x2": {"field": "x2"}, "y": self._y("y"), "y2": {"field": "y2"}}

    def _area(self, left: float, low: int, units: int) -> dict[str, object]:
        bottom = self._floor - UNIT * (low - 1)
        return {"x": left, "x2": left + BODY, "y": bottom, "y2": bottom - UNIT * units}

    def _labels(self) -> Iterator[dict[str, object]]:
        for rack, left in self._placed:
            for box in rack.boxes:
                room = int((BODY - 4) / LETTER)
                y = self._floor - UNIT * (box.low - 1 + box.units / 2)
                yield {"x": left + BODY / 2, "y": y, "text": _shortened(box.label, room)}

    def _numbers(self) -> Iterator[dict[str, object]]:
        for rack, left in self._placed:
            for unit in range(1, rack.units + 1):
                yield {"x": left - 4, "y": self._floor - UNIT * (unit - 0.5), "text": str(unit)}

    def _titles(self) -> Iterator[dict[str, object]]:
        for rack, left in self._placed:
            yield {"x": left, "y": self._floor - UNIT * rack.units - 9, "text": rack.title}

    def _brackets(self) -> Iterator[Specification]:
        """At the right of the bricks of a kind a line, and along it their name."""
        lines: list[dict[str, object]] = []
        names: list[dict[str, object]] = []
        for rack, left in self._placed:
            for group in rack.groups:
                bottom, top = self._floor - UNIT * (group.low - 1), self._floor - UNIT * (group.low - 1 + group.units)
                room = int((bottom - top) / LETTER)
                if room < min(len(group.label), LEAST_LETTERS):
                    continue
                text = _shortened(group.label, room)
                lines.append({"x": left + BODY + 5, "y": bottom - 2, "y2": top + 2})
                names.append({"x": left + BODY + 14, "y": (bottom + top) / 2, "text": text})
        if lines:
            line = {"x": self._x("x"), "y": self._y("y"), "y2": {"field": "y2"}}
            yield marks("rule", lines, line, stroke=theme.CEILING, strokeWidth=1)
            yield self._texts(names, fontSize=9, angle=270, color=theme.INK)

    def _texts(self, rows: Iterable[Mapping[str, object]], **look: object) -> Specification:
        text = {"x": self._x("x"), "y": self._y("y"), "text": nominal("text")}
        return marks("text", rows, text, **({"color": theme.INK, "baseline": "middle"} | look))

    def _x(self, field: str) -> Specification:
        return quantitative(field, axis=None, scale={"domain": [0, self._width], "nice": False})

    def _y(self, field: str) -> Specification:
        return quantitative(field, axis=None, scale={"domain": [0, self._height], "nice": False, "reverse": True})


def _bricks(group: Group) -> Iterator[tuple[int, int]]:
    """The lowest unit and the height of each."""
    units = group.units // group.count
    return ((group.low + index * units, units) for index in range(group.count))


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"

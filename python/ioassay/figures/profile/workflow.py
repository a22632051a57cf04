"""The workflow: steps as boxes, from the first at the top to the last; arrows are the files between them.

An arrow that skips rows runs between the boxes of these rows; one to an earlier step, or to one beside it, runs around
them at the right. Not: what the steps are (`analysis.profile.workflow`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ioassay.figures import theme
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative

WIDTH = 640
BOX_HEIGHT, ROW = 34, 86
"""Heights of a box, and from the top of a row of boxes to the next."""
MOST_BOX_WIDTH, GAP = 150, 16
LANE = 14
"""Width of an arrow that passes between boxes."""
AROUND = 26
"""Distance from the boxes to the first arrow that runs around them, and between such arrows."""
MOST_IN_A_ROW = 5
"""Boxes side by side: more leave their names no room."""
LETTER = 5.6
"""About the width of a letter in a box."""
LABEL_HEIGHT = 11
LEAST_LINE, MOST_LINE = 1.0, 6.0
_SWEEPS, _SAMPLES = 8, 10

MOST_POINTS = 4000
"""The most points of all arrows together: more would be unreadable."""

KEPT, REMOVED = "files kept", "all files removed in the end"


@dataclass(frozen=True)
class Box:
    """A step."""

    row: int
    name: str
    detail: str


@dataclass(frozen=True)
class Arrow:
    """Files from a box to another one, by their places in the list of boxes."""

    begin: int
    end: int
    weight: float
    """The width of the line grows with it."""
    label: str
    is_removed: bool


@dataclass
class _Place:
    """A box or a lane in a row."""

    box: int | None
    width: float
    x: float = 0.0
    """The centre."""
    above: list[_Place] = field(default_factory=list)
    below: list[_Place] = field(default_factory=list)


Point = tuple[float, float]


def weightiest(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> list[Arrow]:
    """The thickest arrows that a figure has room for."""
    shown: list[Arrow] = []
    points = 0
    for arrow in sorted(arrows, key=lambda arrow: -arrow.weight):
        points += max(1, abs(boxes[arrow.end].row - boxes[arrow.begin].row)) * (_SAMPLES + 1)
        if shown and points > MOST_POINTS:
            break
        shown.append(arrow)
    return shown


def chart(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> Specification:
    return _Drawing(boxes, arrows).chart()


class _Drawing:
    """Boxes and arrows with their places, in pixels from the left and from the top."""

    def __init__(self, boxes: Sequence[Box], arrows: Sequence[Arrow]) -> None:
        self._boxes, self._arrows = boxes, arrows
        self._rows: list[list[_Place]] = [[] for _ in range(1 + max(box.row for box in boxes))]
        forward = [arrow for arrow in arrows if boxes[arrow.begin].row < boxes[arrow.end].row]
        around = [arrow for arrow in arrows if boxes[arrow.begin].row >= boxes[arrow.end].row]
        self._right = WIDTH - (AROUND * (1 + min(len(around), 4)) if around else 0)
        most = max(sum(box.row == row for box in boxes) for row in range(len(self._rows)))
        self._box_width = min(MOST_BOX_WIDTH, (self._right - GAP * (most - 1)) / most - LANE)
        self._placed = [_Place(index, self._box_width) for index in range(len(boxes))]
        for place, box in zip(self._placed, boxes, strict=True):
            self._rows[box.row].append(place)
        self._ways = {id(arrow): self._way(arrow) for arrow in forward}
        self._arrange()
        self._height = ROW * (len(self._rows) - 1) + BOX_HEIGHT + 2
        self._lines = [
            *((arrow, self._forward(arrow, forward)) for arrow in forward),
            *((arrow, self._around(arrow, index)) for index, arrow in enumerate(around)),
        ]

    def chart(self) -> Specification:
        layers = [
            self._curves(),
            self._heads(),
            self._frames(),
            self._texts(self._names(), fontSize=10.5, fontWeight="bold"),
            self._texts(self._details(), fontSize=9, color=theme.FAINT),
            self._texts(self._labels(), fontSize=9, align="left", stroke=theme.PAPER, strokeWidth=3),
            self._texts(self._labels(), fontSize=9, align="left"),
        ]
        return {"layer": layers, "width": WIDTH, "height": self._height}

    def _way(self, arrow: Arrow) -> list[_Place]:
        """The places that an arrow goes through: its boxes, and a lane in each row between them."""
        first, last = self._boxes[arrow.begin].row, self._boxes[arrow.end].row
        route = [self._placed[arrow.begin]]
        for row in range(first + 1, last):
            route.append(_Place(None, LANE))
            self._rows[row].append(route[-1])
        route.append(self._placed[arrow.end])
        for upper, lower in pairwise(route):
            upper.below.append(lower)
            lower.above.append(upper)
        return route

    def _arrange(self) -> None:
        """Orders each row by where its neighbours are, so that few arrows cross, and gives each place its x."""
        for row in self._rows:
            lanes = [place for place in row if place.box is None]
            room = self._right - (self._box_width + GAP) * (len(row) - len(lanes)) - GAP
            for place in lanes:
                place.width = max(0, min(LANE, room / len(lanes)))
            self._spread(row)
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            for row in self._rows if down else reversed(self._rows):
                wanted = {id(place): _mean(place.above if down else place.below, place.x) for place in row}
                row.sort(key=lambda place: wanted[id(place)])
                self._spread(row)

    def _spread(self, row: Sequence[_Place]) -> None:
        """Places lanes beside each other and beside boxes; the sides of the boxes share the free space."""
        free = self._right - sum(place.width for place in row)
        gap = free / (2 * max(1, sum(place.box is not None for place in row)))
        x = 0.0
        for place in row:
            side = gap if place.box is not None else 0
            place.x = x + side + place.width / 2
            x += place.width + 2 * side

    def _top(self, row: int) -> float:
        return 1 + ROW * row

    def _forward(self, arrow: Arrow, every: Sequence[Arrow]) -> list[Point]:
        """A smooth line from the bottom of a box to the top of another, through its lanes."""
        route = self._ways[id(arrow)]
        first = self._boxes[arrow.begin].row
        corners = [(self._port(arrow, every, is_begin=True), self._top(first) + BOX_HEIGHT)]
        for number, place in enumerate(route[1:-1], start=first + 1):
            corners += [(place.x, self._top(number)), (place.x, self._top(number) + BOX_HEIGHT)]
        corners.append((self._port(arrow, every, is_begin=False), self._top(self._boxes[arrow.end].row) - 4))
        points: list[Point] = []
        for index in range(0, len(corners), 2):
            points += _curve(corners[index], corners[index + 1])
        return points

    def _port(self, arrow: Arrow, every: Sequence[Arrow], *, is_begin: bool) -> float:
        """The position at which an arrow leaves or enters its box, beside the others, in their order."""
        box = arrow.begin if is_begin else arrow.end
        if is_begin:
            others = sorted(
                (self._ways[id(other_arrow)][1].x, index)
                for index, other_arrow in enumerate(every)
                if other_arrow.begin == box
            )
        else:
            others = sorted(
                (self._ways[id(other_arrow)][-2].x, index)
                for index, other_arrow in enumerate(every)
                if other_arrow.end == box
            )
        rank = next(index for index, (_, other) in enumerate(others) if every[other] is arrow)
        return self._placed[box].x + self._box_width * ((rank + 1) / (len(others) + 1) - 0.5)

    def _around(self, arrow: Arrow, index: int) -> list[Point]:
        """A line from the right side of a box, around all boxes, to the right side of another."""
        half = self._box_width / 2
        lane = self._right + AROUND * (index % 4 + 0.5)
        begin, end = (
            (self._placed[box].x + half + 1, self._top(self._boxes[box].row) + BOX_HEIGHT * part)
            for box, part in ((arrow.begin, 0.7), (arrow.end, 0.3))
        )
        level = end[1] - begin[1]
        return [
            begin, (lane - 8, begin[1]), (lane, begin[1] + (8 if level > 0 else -8)),
            (lane, end[1] + (-8 if level > 0 else 8)), (lane - 8, end[1]), (end[0] + 5, end[1]),
        ]  # fmt: skip

    def _curves(self) -> Specification:
        most = max(arrow.weight for arrow in self._arrows) or 1
        rows = [
            {"arrow": number, "at": index, "x": x, "y": y, "files": REMOVED if arrow.is_removed else KEPT}
            | {"width": LEAST_LINE + (MOST_LINE - LEAST_LINE) * (arrow.weight / most) ** 0.5}
            for number, (arrow, points) in enumerate(self._lines)
            for index, (x, y) in enumerate(points)
        ]
        point = {
            "x": self._x("x"),
            "y": self._y("y"),
            "detail": nominal("arrow"),
            "order": quantitative("at"),
            "strokeWidth": quantitative("width", scale=None),
            "color": self._colour(),
        }
        return marks("line", rows, point, strokeCap="butt", opacity=0.75)

    def _colour(self) -> Specification:
        present = [
            word for word in (KEPT, REMOVED) if any(arrow.is_removed == (word == REMOVED) for arrow in self._arrows)
        ]
        colours = {KEPT: theme.BLUE, REMOVED: theme.VERMILION}
        scale = {"domain": present, "range": [colours[word] for word in present]}
        return nominal("files", scale=scale, legend={"title": None, "orient": "bottom", "offset": 8})

    def _heads(self) -> Specification:
        rows = []
        for arrow, points in self._lines:
            is_forward = id(arrow) in self._ways
            x, y = points[-1]
            angle = 180 if is_forward else 270
            rows.append({"x": x, "y": y, "angle": angle, "files": REMOVED if arrow.is_removed else KEPT})
        head = {
            "x": self._x("x"),
            "y": self._y("y"),
            "angle": quantitative("angle", scale=None),
            "color": self._colour(),
        }
        return marks("point", rows, head, shape="triangle", filled=True, size=70, opacity=1)

    def _frames(self) -> Specification:
        half = self._box_width / 2
        rows = [
            {"x": place.x - half, "x2": place.x + half, "y": self._top(box.row), "y2": self._top(box.row) + BOX_HEIGHT}
            for place, box in zip(self._placed, self._boxes, strict=True)
        ]
        area = {"x": self._x("x"), "x2": {"field": "x2"}, "y": self._y("y"), "y2": {"field": "y2"}}
        return marks("rect", rows, area, fill=theme.BOX_BLUE, stroke=theme.CEILING, strokeWidth=0.8, cornerRadius=3)

    def _names(self) -> Iterator[Mapping[str, object]]:
        room = int((self._box_width - 6) / LETTER)
        for place, box in zip(self._placed, self._boxes, strict=True):
            yield {"x": place.x, "y": self._top(box.row) + 12, "text": _shortened(box.name, room)}

    def _details(self) -> Iterator[Mapping[str, object]]:
        room = int((self._box_width - 6) / (LETTER - 0.8))
        for place, box in zip(self._placed, self._boxes, strict=True):
            yield {"x": place.x, "y": self._top(box.row) + 25, "text": _shortened(box.detail, room)}

    def _labels(self) -> Iterator[Mapping[str, object]]:
        """Labels beside the arrows, the thickest first; one that would overlap another is left out."""
        taken: list[tuple[float, float, float]] = []
        for arrow, points in sorted(self._lines, key=lambda line: -line[0].weight):
            width = len(arrow.label) * (LETTER - 0.6)
            if id(arrow) in self._ways:
                x, y = points[_SAMPLES // 2]
                x += 6
            else:
                x, y = points[2][0] + 4, (points[2][1] + points[3][1]) / 2
            x = min(x, WIDTH - width)
            if all(abs(y - other) >= LABEL_HEIGHT or x >= right or x + width <= left for left, right, other in taken):
                taken.append((x, x + width, y))
                yield {"x": x, "y": y, "text": arrow.label}

    def _texts(self, rows: Iterator[Mapping[str, object]], **look: object) -> Specification:
        text = {"x": self._x("x"), "y": self._y("y"), "text": nominal("text")}
        return marks("text", rows, text, **({"color": theme.INK, "baseline": "middle"} | look))

    def _x(self, field: str) -> Specification:
        return quantitative(field, axis=None, scale={"domain": [0, WIDTH], "nice": False})

    def _y(self, field: str) -> Specification:
        return quantitative(field, axis=None, scale={"domain": [0, self._height], "nice": False, "reverse": True})


def _mean(places: Sequence[_Place], otherwise: float) -> float:
    return sum(place.x for place in places) / len(places) if places else otherwise


def _curve(begin: Point, end: Point) -> list[Point]:
    """A line that leaves and arrives vertically."""
    (x0, y0), (x1, y1) = begin, end
    middle = (y0 + y1) / 2
    points = []
    for index in range(_SAMPLES + 1):
        t = index / _SAMPLES
        weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
        points.append(
            (
                sum(w * x for w, x in zip(weights, (x0, x0, x1, x1), strict=True)),
                sum(w * y for w, y in zip(weights, (y0, middle, middle, y1), strict=True)),
            )
        )
    return points


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"

"""The path of an I/O: a row for each layer, a box for each request over the part of the file that it carries.

A red cut marks where a layer splits requests. On a RAID with parity, segments that are written and segments that must
be read first have different colours, and parity is at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from ioassay.figures import theme
from ioassay.figures.picture import Picture, draw
from ioassay.figures.vega_lite import Specification, marks, nominal, quantitative
from ioassay.tuning.path.rows import Box, Row, What

WIDTH = 350
"""Width of the part of the file, in pixels."""
ROW = 41
BOX = 24
STRIPE_BOX = 20
HOST = 20
"""Heights of a row, of its boxes, of the name of a host."""
LEFT, RIGHT = 12, 10
"""Pixels between the boxes and the words beside them."""
PARITY = 22
"""Width of a parity segment."""
LETTER = 6.1
"""About the width of a letter of a label."""
LINE = 12.5
MOST_LETTERS = 31
"""Longest line at the right, in characters."""

COLOURS: dict[What, str] = {
    "request": theme.BOX_BLUE,
    "written": theme.SKY,
    "read first": theme.PALE_VERMILION,
    "read and written": theme.BOX_PURPLE,
    "parity": theme.BOX_GREEN,
}
HATCHED = ("read first", "read and written")

_UNITS = ((4 << 20, "MiB", 1 << 20), (16 << 10, "KiB", 1 << 10), (0, "bytes", 1))


def data(rows: Sequence[Row]) -> pl.DataFrame:
    """The data of the figure, a row per box. Columns: layer, subject, what, start_bytes, end_bytes, label."""
    return pl.DataFrame(
        [
            {
                "layer": row.name,
                "subject": row.subject,
                "what": box.what,
                "start_bytes": box.start_bytes,
                "end_bytes": box.end_bytes,
                "label": box.label,
            }
            for row in rows
            for box in row.boxes
        ],
        schema={
            "layer": pl.String,
            "subject": pl.String,
            "what": pl.String,
            "start_bytes": pl.Int64,
            "end_bytes": pl.Int64,
            "label": pl.String,
        },
    )


def picture(rows: Sequence[Row], identifier: str, title: str) -> Picture:
    """The figure as a picture with its words; `identifier` begins with `io-path-`."""
    splits = [row for row in rows if row.cause]
    causes = "; ".join(f"{row.name} {row.subject}: {row.sizes}, split by {row.cause}" for row in splits)
    return draw(
        chart(rows),
        identifier,
        title=title,
        data=data(rows),
        caption="Each box is a request, at the offset of the file that it carries. "
        + ("A red line is a split. " if splits else "")
        + ("Hatched segments are read before the RAID can write. " if _has_reads(rows) else "")
        + "Sizes are the largest that the settings allow"
        + (", with those that were measured beside them." if any(row.measured for row in rows) else "."),
        description=f"Requests on {len(rows)} layers from the application to the disk. {causes or 'None is split'}.",
    )


def _has_reads(rows: Sequence[Row]) -> bool:
    return any(box.what in HATCHED for row in rows for box in row.boxes)


def chart(rows: Sequence[Row]) -> Specification:
    """The figure of `ioassay.tuning.path.rows.rows`, of which there is at least one."""
    return _Drawing(rows).chart()


class _Drawing:
    """Rows with their places, in pixels from the top and from the start of the file's part."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        everything = [box for row in rows for box in (*row.boxes, *row.segments)]
        self._low = min(box.start_bytes for box in everything)
        self._high = max(box.end_bytes for box in everything)
        self._tops: list[float] = []
        self._hosts: list[tuple[float, str]] = []
        top, host = 0.0, ""
        has_several = len({row.host for row in rows if row.host}) > 1
        self._heights: list[float] = []
        self._words_of = [list(self._lines(row)) for row in rows]
        for row, words in zip(rows, self._words_of, strict=True):
            if has_several and row.host and row.host != host:
                host = row.host
                self._hosts.append((top, host))
                top += HOST
            self._tops.append(top)
            self._heights.append(max(ROW, LINE * len(words) + 8))
            top += self._heights[-1]
        self._height = top
        parities = max((len(row.parity) for row in rows), default=0)
        self._right = WIDTH + (LEFT + parities * PARITY if parities else 0) + RIGHT

    def chart(self) -> Specification:
        layers = [
            *self._boxes(),
            *self._hatching(),
            *self._labels(),
            *self._cuts(),
            *self._names(),
            *self._words(),
            *self._host_names(),
        ]
        return {"layer": layers, "width": WIDTH, "height": self._height}

    def _place(self, offset_bytes: float) -> float:
        return (offset_bytes - self._low) / (self._high - self._low) * WIDTH

    def _x(self, field: str) -> Specification:
        """A horizontal axis in pixels, labelled with offsets in the file."""
        size = self._high - self._low
        _, unit, factor = next(scale for scale in _UNITS if size >= scale[0])
        ticks = _ticks(self._low, self._high)
        labels = {f"{self._place(tick):.2f}": f"{tick / factor:g}" for tick in ticks}
        values = [float(place) for place in labels]
        expression = "{" + ",".join(f"'{float(place):g}':'{label}'" for place, label in labels.items()) + "}"
        return quantitative(
            field,
            title=f"Offset in the file ({unit})",
            scale={"domain": [0, WIDTH], "nice": False},
            axis={
                "values": values,
                "grid": False,
                "labelFlush": False,
                "labelExpr": f"({expression})[toString(datum.value)]",
            },
        )

    def _y(self, field: str) -> Specification:
        return quantitative(field, axis=None, scale={"domain": [0, self._height], "nice": False, "reverse": True})

    def _area(self) -> Specification:
        """The encoding of a rectangle or a slanting line."""
        return {"x": self._x("x"), "x2": {"field": "x2"}, "y": self._y("y"), "y2": {"field": "y2"}}

    def _middle(self, index: int) -> float:
        return self._tops[index] + self._heights[index] / 2

    def _boxes(self) -> Iterator[Specification]:
        outlines = [self._box(index, box) for index, row in enumerate(self._rows) for box in row.segments]
        if outlines:
            yield marks("rect", outlines, self._area(), fill=theme.PAPER, stroke=theme.PALE_LINE, strokeWidth=0.8)
        filled = [self._box(index, box) for index, row in enumerate(self._rows) for box in row.boxes]
        filled += [
            {**self._parity(index, place), "what": "parity"}
            for index, row in enumerate(self._rows)
            for place in range(len(row.parity))
        ]
        present = [what for what in COLOURS if any(box["what"] == what for box in filled)]
        scale = {"domain": present, "range": [COLOURS[what] for what in present]}
        legend = {"title": None, "orient": "bottom", "symbolType": "square", "symbolStrokeWidth": 0, "offset": 4}
        colour = nominal("what", scale=scale, legend=legend if len(present) > 1 else None)
        yield marks("rect", filled, {**self._area(), "color": colour}, stroke=theme.BLUE, strokeWidth=0.8)

    def _box(self, index: int, box: Box) -> dict[str, object]:
        half = (STRIPE_BOX if self._rows[index].segments else BOX) / 2
        middle = self._middle(index)
        return {
            "x": self._place(box.start_bytes),
            "x2": self._place(box.end_bytes),
            "y": middle - half,
            "y2": middle + half,
            "what": box.what,
        }

    def _parity(self, index: int, place: int) -> dict[str, object]:
        left, middle = WIDTH + LEFT + place * PARITY, self._middle(index)
        return {"x": left, "x2": left + PARITY - 3, "y": middle - STRIPE_BOX / 2, "y2": middle + STRIPE_BOX / 2}

    def _hatching(self) -> Iterator[Specification]:
        """Hatching over the segments that are read first."""
        areas = [
            self._box(index, box) for index, row in enumerate(self._rows) for box in row.boxes if box.what in HATCHED
        ]
        areas += [
            self._parity(index, place)
            for index, row in enumerate(self._rows)
            for place, parity in enumerate(row.parity)
            if parity.is_read
        ]
        lines = [line for area in areas for line in _hatched(area)]
        if lines:
            yield marks("rule", lines, self._area(), stroke=theme.VERMILION, strokeWidth=0.7, opacity=0.75)

    def _labels(self) -> Iterator[Specification]:
        """Within boxes that have room for them; on hatching over a patch of white."""
        labels: list[dict[str, object]] = []
        patches: list[dict[str, object]] = []
        for index, row in enumerate(self._rows):
            covered = {box.label for box in row.boxes} if row.segments else set()
            plain = [box for box in row.segments if box.label not in covered]
            for box in (*row.boxes, *plain):
                if self._has_room(box, is_segment=bool(row.segments)):
                    x = (self._place(box.start_bytes) + self._place(box.end_bytes)) / 2
                    is_hatched = box.what in HATCHED
                    labels.append({"x": x, "y": self._middle(index), "text": box.label, "is_read": is_hatched})
            for place, parity in enumerate(row.parity):
                x = WIDTH + LEFT + place * PARITY + (PARITY - 3) / 2
                labels.append({"x": x, "y": self._middle(index), "text": parity.label, "is_read": parity.is_read})
        for label in labels:
            if label.pop("is_read"):
                x, y, half = float(str(label["x"])), float(str(label["y"])), LETTER * len(str(label["text"])) / 2 + 1.5
                patches.append({"x": x - half, "x2": x + half, "y": y - 6.5, "y2": y + 6.5})
        if patches:
            yield marks("rect", patches, self._area(), fill=theme.PAPER, opacity=0.85)
        if labels:
            text = {"x": self._x("x"), "y": self._y("y"), "text": nominal("text")}
            yield marks("text", labels, text, fontSize=10.5, color=theme.INK)

    def _has_room(self, box: Box, *, is_segment: bool = False) -> bool:
        """Whether the label fits into the box; a segment must leave some hatching visible."""
        return LETTER * len(box.label) + (10 if is_segment else 4) <= self._place(box.end_bytes) - self._place(
            box.start_bytes
        )

    def _cuts(self) -> Iterator[Specification]:
        cuts = [
            {"x": self._place(cut), "y": self._middle(index) - BOX / 2 - 4, "y2": self._middle(index) + BOX / 2 + 4}
            for index, row in enumerate(self._rows)
            for cut in row.cuts
        ]
        if cuts:
            # Many cuts side by side would be one red area.
            width = 2.2 if len(cuts) <= 32 else 1.0
            place = {"x": self._x("x"), "y": self._y("y"), "y2": {"field": "y2"}}
            yield marks("rule", cuts, place, stroke=theme.VERMILION, strokeWidth=width)

    def _names(self) -> Iterator[Specification]:
        """At the left: the layer, and below it the device."""
        names = [
            {"y": self._middle(index) - (LINE / 2 if row.subject else 0), "text": row.name}
            for index, row in enumerate(self._rows)
        ]
        subjects = [
            {"y": self._middle(index) + LINE / 2, "text": _shortened(row.subject, 26)}
            for index, row in enumerate(self._rows)
            if row.subject
        ]
        yield self._beside(names, -LEFT, align="right", fontSize=11, fontWeight="bold", color=theme.INK)
        if subjects:
            yield self._beside(subjects, -LEFT, align="right", fontSize=10, color=theme.FAINT)

    def _words(self) -> Iterator[Specification]:
        """At the right: sizes that have no room in the boxes, the cause of a split, what was measured."""
        lines_by_colour: dict[str, list[dict[str, object]]] = {}
        for index in range(len(self._rows)):
            lines = self._words_of[index]
            top = self._middle(index) - (len(lines) - 1) * LINE / 2
            for place, (colour, text) in enumerate(lines):
                lines_by_colour.setdefault(colour, []).append({"y": top + place * LINE, "text": text})
        for colour, rows in lines_by_colour.items():
            yield self._beside(rows, self._right, align="left", fontSize=10.5, color=colour)

    def _lines(self, row: Row) -> Iterator[tuple[str, str]]:
        says_sizes = all(self._has_room(box) and box.label in row.sizes for box in row.boxes)
        shows_sizes = not row.segments and not says_sizes
        if shows_sizes:
            yield theme.INK, row.sizes
        if row.cause:
            yield from ((theme.VERMILION, line) for line in _wrapped(f"split: {row.cause}", 4))
        if row.problem:
            yield theme.VERMILION, row.problem
        if row.note:
            is_fine = row.note.startswith("full stripe")
            yield from ((theme.GREEN if is_fine else theme.VERMILION, line) for line in _wrapped(row.note, 3))
        if row.measured:
            yield theme.BLUE, _shortened(f"measured: {row.measured}", MOST_LETTERS)

    def _host_names(self) -> Iterator[Specification]:
        if not self._hosts:
            return
        names = [{"y": top + HOST / 2 + 2, "text": host} for top, host in self._hosts]
        yield self._beside(names, -LEFT, align="right", fontSize=10.5, fontStyle="italic", color=theme.BLUE)
        lines = [{"y": top + HOST / 2 + 2} for top, _ in self._hosts]
        line = {"x": {"value": 0}, "x2": {"value": WIDTH}, "y": self._y("y")}
        yield marks("rule", lines, line, stroke=theme.GRID, strokeWidth=1)

    def _beside(self, rows: Sequence[Mapping[str, object]], x: float, **look: object) -> Specification:
        return marks("text", rows, {"x": {"value": x}, "y": self._y("y"), "text": nominal("text")}, **look)


def _hatched(area: dict[str, object], step: float = 5.0) -> Iterator[dict[str, object]]:
    """Diagonals within a rectangle, as rules; they begin at multiples of `step` of the picture."""
    x, x2, y, y2 = (float(str(area[name])) for name in ("x", "x2", "y", "y2"))
    height = y2 - y
    start = (x - height) // step * step
    while start < x2:
        # From the bottom at `start` to the top at `start + height`.
        left, right = max(start, x), min(start + height, x2)
        if left < right:
            yield {"x": left, "x2": right, "y": y2 - (left - start), "y2": y2 - (right - start)}
        start += step


def _ticks(low: int, high: int) -> list[int]:
    """Multiples of a power of two, at most nine, or of thirds where the size is no power of two."""
    size = high - low
    step = 1
    while size / step > 8:
        step *= 2
    first = -(-low // step) * step
    return list(range(first, high + 1, step))


def _wrapped(text: str, most_lines: int) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > MOST_LETTERS and len(lines) < most_lines:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return [_shortened(line, MOST_LETTERS + 6) for line in lines]


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"

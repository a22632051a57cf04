"""A figure that was drawn: its SVG, the data behind it, and the words around it.

A page, a published directory and a notebook show the same pictures. Not: drawing one (each figure's own file), deciding
which there are (`ioassay.reports.run.pictures`, `ioassay.frames.figures`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ioassay.errors import CannotRun, UsageError
from ioassay.figures import render
from ioassay.figures.drawing import CannotDraw, drawing
from ioassay.figures.vega_lite import Specification
from ioassay.store.atomic import write_atomically
from ioassay.text.control_characters import without_controls

PRINT_SCALE = 3.125
"""Pixels of a PNG for each of the SVG, which are 1/96 inch: 300 to the inch, as journals ask for."""

SUFFIXES = (".svg", ".png", ".csv")

_SIZE = re.compile(r'<svg[^>]* width="(\d+)"[^>]* height="(\d+)')


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure with its data. `svg` is empty where there is nothing to draw, and `caption` then says so, or where it
    could not be drawn, and `undrawn` says why.

    A notebook shows it by itself. `id` is unique in its document and names its files.
    """

    id: str
    title: str
    svg: str
    data: pl.DataFrame
    caption: str
    description: str
    """A description for readers who do not see the figure."""
    undrawn: str = ""
    """A sentence."""

    @property
    def width(self) -> int:
        """Pixels from its left to its right as it was drawn; 0 where nothing was."""
        return self._size[0]

    @property
    def height(self) -> int:
        """Pixels from its top to its bottom as it was drawn; 0 where nothing was."""
        return self._size[1]

    @property
    def _size(self) -> tuple[int, int]:
        match = _SIZE.match(self.svg)
        return (int(match[1]), int(match[2])) if match else (0, 0)

    @property
    def csv(self) -> str:
        """`data` as CSV, units in the names of the columns."""
        return without_controls(self.data.write_csv())

    def png(self, scale: float = PRINT_SCALE) -> bytes:
        """The figure as PNG, `scale` pixels for each of the SVG; the same bytes for the same figure.

        Raises `UsageError` where there is nothing to draw, `CannotRun` where it cannot be drawn.
        """
        if self.undrawn:
            raise CannotRun(f"{self.title}: {self.undrawn}")
        if not self.svg:
            raise UsageError(f"{self.title} has nothing to draw. {self.caption}", "Use another figure.")
        # Its resolution is stored as well, so that it has the size of the SVG wherever it is placed: pixels of the SVG
        # are 1/96 inch, and a scale of 1 means 72 pixels to the inch.
        try:
            return drawing.png(self.svg, scale=72 / 96, ppi=96 * scale)
        except CannotDraw as error:
            raise CannotRun(f"{self.title}: {_sentence(error)}") from error

    def save(self, path: str | Path) -> None:
        """Writes the file as its suffix says: `.svg`, `.png` at `PRINT_SCALE`, or `.csv` with the data.

        Raises `UsageError` for another suffix.
        """
        path = Path(path)
        content = self.content(path.suffix)
        write_atomically(path, content)

    def content(self, suffix: str) -> bytes:
        """The content of a file with this suffix, one of `SUFFIXES`. Raises `UsageError` for another."""
        match suffix:
            case ".svg" if self.undrawn:
                raise CannotRun(f"{self.title}: {self.undrawn}")
            case ".svg":
                return self.svg.encode()
            case ".png":
                return self.png()
            case ".csv":
                return self.csv.encode()
        raise UsageError(f'A figure cannot be saved as "{suffix}".', f"Use one of {', '.join(SUFFIXES)}.")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """The figure with its description, for notebooks."""
        words = without_controls(" ".join(filter(None, [f"{self.title}.", self.undrawn, self.caption])))
        return {"image/svg+xml": self.svg, "text/plain": words} if self.svg else {"text/plain": words}


def draw(
    chart: Specification, identifier: str, *, title: str, data: pl.DataFrame, caption: str, description: str
) -> Picture:
    """The picture of `chart`, drawn, or with the reason why it could not be."""
    svg = undrawn = ""
    try:
        svg = render.svg(chart, identifier)
    except CannotDraw as error:
        undrawn = _sentence(error)
    return Picture(identifier, title, svg, data, caption, description, undrawn)


def _sentence(error: CannotDraw) -> str:
    return f"This figure could not be drawn: {error}."

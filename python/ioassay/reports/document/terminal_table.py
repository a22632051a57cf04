"""A table as wide as the terminal allows: words, names and numbers stay whole. Not: what is in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct, structs
from rich import table
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from ioassay.reports.document.hanging import HangingIndent

_GAP = 2
"""Columns of the terminal that each column of a table has more than its text."""

_INDENT = 2
"""Indentation of cells below the first column."""

_MOST_OF_A_NAME = 24
"""The first column names what its row is about: names of so many letters break only where there is no other way."""


class Heading(Struct, frozen=True):
    """The heading of a column; `wraps`: its cells may take several lines before those of others."""

    text: str
    justify: JustifyMethod
    wraps: bool
    leaves: int = 0
    """Columns with a higher number are left out first where words do not fit; 0: never."""


class FittingTable(Struct, frozen=True):
    """Columns take several lines before words are broken. Where not even words fit, columns leave that may; then what a
    row is about gets a line of its own; then each row becomes a list.
    """

    headings: Sequence[Heading]
    rows: Sequence[Sequence[Text]]
    has_head: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, laid out for the width of the terminal."""
        width = options.max_width
        stay = [*range(len(self.headings))]
        for most in sorted({heading.leaves for heading in self.headings}, reverse=True):
            stay = [index for index in stay if self.headings[index].leaves <= most]
            if widths := self._fitting(stay, width):
                yield self._table(stay, widths, self.rows)
                yield from self._left_out(stay)
                return
        if self.has_head and stay[1:] and (widths := self._fitting(stay[1:], width - _INDENT)):
            yield from self._split(stay[1:], widths)
            yield from self._left_out(stay)
            return
        yield from self._lists()

    def _fitting(self, columns: Sequence[int], width: int) -> list[int] | None:
        return fitting([self._range(column) for column in columns], width)

    def _table(self, columns: Sequence[int], widths: Sequence[int], rows: Sequence[Sequence[Text]]) -> table.Table:
        rich_table = table.Table(box=None, show_header=self.has_head)
        for column, width in zip(columns, widths, strict=True):
            heading = self.headings[column]
            rich_table.add_column(heading.text, justify=heading.justify, overflow="fold", width=width)
        for row in rows:
            rich_table.add_row(*(row[column] for column in columns))
        return rich_table

    def _split(self, columns: Sequence[int], widths: Sequence[int]) -> Iterator[RenderableType]:
        """Each row in lines: what it is about, and below it the other cells, in columns."""
        yield Text(f" {self.headings[0].text}", "bold")
        yield Padding(self._table(columns, widths, []), (0, 0, 0, _INDENT))
        without_head = structs.replace(self, has_head=False)
        for row in self.rows:
            yield Padding(row[0], (0, 0, 0, 1))
            yield Padding(without_head._table(columns, widths, [row]), (0, 0, 0, _INDENT))

    def _left_out(self, stay: Sequence[int]) -> Iterator[Text]:
        names = [heading.text for index, heading in enumerate(self.headings) if index not in stay]
        if names:
            yield Text(f" Left out for want of width: {', '.join(names)}.", "dim")

    def _range(self, index: int) -> Range:
        heading, cells = self.headings[index], [row[index].plain for row in self.rows]
        head = heading.text if self.has_head else ""
        whole = max((cell_len(line) for cell in cells for line in cell.split("\n")), default=0)
        words = max((cell_len(word) for text in (head, *cells) for word in text.split()), default=0)
        stays_whole = not heading.wraps or (index == 0 and whole <= _MOST_OF_A_NAME)
        cells_whole = max(words, whole)
        return Range(words, cells_whole if stays_whole else words, cells_whole, max(whole, cell_len(head)))

    def _lists(self) -> Iterator[Text | HangingIndent]:
        """Each row as lines: what it is about, and below it each cell behind its heading."""
        for row in self.rows:
            yield row[0]
            for heading, cell in zip(self.headings[1:], row[1:], strict=True):
                if cell.plain.strip():
                    label = f"{heading.text}: " if self.has_head and heading.text else ""
                    yield HangingIndent(Text(label).append_text(Text(", ").join(cell.split("\n"))))


class Range(NamedTuple):
    """The possible widths of a column, in ascending order."""

    words: int
    """The longest word stays whole."""
    names: int
    """Names of rows and cells that do not wrap stay whole."""
    cells: int
    """No cell is broken."""
    everything: int
    """Nor is the heading."""


def fitting(ranges: Sequence[Range], width: int) -> list[int] | None:
    """The widths of columns in a terminal of this width. `None`: words do not fit beside one another."""
    available = width - _GAP * len(ranges)
    names, words = [column.names for column in ranges], [column.words for column in ranges]
    widths = names if sum(names) <= available else words
    if sum(widths) > available:
        return None
    for full in ([column.cells for column in ranges], [column.everything for column in ranges]):
        while sum(widths) < available:
            # The column that lacks most gets one more.
            lacking, narrowest = max(
                (whole / max(has, 1), index) for index, (has, whole) in enumerate(zip(widths, full, strict=True))
            )
            if lacking <= 1:
                break
            widths[narrowest] += 1
    return widths

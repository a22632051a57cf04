"""IOzone's auto mode: a row for each size of file and record, a column for each test.

Columns are columns of the screen. A large number touches the one to its left, and a test that was not run leaves
its column blank: the position of a number says what it is. Two layouts are known; a row that fits neither is read
only if its numbers are clearly separate. Its tests must be the requested ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ioassay.importers.iozone.execution import Execution
from ioassay.importers.iozone.phases import OF_COLUMN, Phase
from ioassay.importers.source import Refused

_HEADER = ["reclen", "write", "rewrite", "read", "reread", "read", "write", "read", "rewrite", "read"]
_HEADER += ["fwrite", "frewrite", "fread", "freread"]
_WIDTHS: Mapping[str, Sequence[int]] = {
    "KB": (16, 8, 8, 8, 9, 9, 8, 8, 8, 9, 9, 9, 9, 8, 9),  # 3.414
    "kB": (16, 8, 9, 9, 9, 9, 9, 9, 9, 10, 10, 9, 9, 9, 9),  # 3.465
}
"""The widths of the columns, by the unit in the header."""

_SURELY_ONE = 8
"""Longest run of digits that must be one number: a column is at least as wide."""

_ASIDE = 2
"""Greatest shift of columns in other builds; much less than half of the narrowest column."""


@dataclass(frozen=True)
class Row:
    """A row: numbers in the unit of the execution."""

    line: int
    file_kib: int
    record_kib: int
    numbers: Sequence[tuple[Phase, int]]


def rows(execution: Execution) -> list[Row]:
    """Raises `Refused` for a row that is not in the columns."""
    rows_read: list[Row] = []
    widths: Sequence[int] = ()
    for number, text in execution.lines:
        words = text.split()
        if len(words) > 1 and words[0] in _WIDTHS and words[1] == "reclen":
            if words[1:] != _HEADER:
                raise Refused("has a table with the columns of an unknown version of IOzone", number)
            if execution.unit is None:
                raise Refused("does not give the unit of its table (`Output is in`)", number)
            widths = _WIDTHS[words[0]]
        elif not widths or not words:
            widths = () if rows_read and not words else widths
        elif words[0].isdecimal():
            if execution.ends_open and number == execution.lines[-1][0]:
                raise Refused("ends within a row: it was cut off", number)
            if not _was_interrupted_in(execution, number):
                rows_read.append(_row(text, number, widths))
        else:
            widths = ()
    _check(rows_read, execution)
    return rows_read


def _was_interrupted_in(execution: Execution, line: int) -> bool:
    """True for the row right above the message that IOzone was interrupted: IOzone prints each number when
    it has it.
    """
    end = execution.interrupted or line
    begin = execution.line
    return end > line and not any(text.strip() for _, text in execution.lines[line - begin + 1 : end - begin])


def _row(text: str, line: int, widths: Sequence[int]) -> Row:
    edges = list(accumulate(widths))
    cells = _exact(text, edges) or _near(text, edges)
    if cells is None or not {0, 1} < cells.keys():
        raise Refused("has a row whose numbers are not in their columns, or run together", line)
    numbers = [(OF_COLUMN[column - 2][1], cells[column]) for column in sorted(cells) if column > 1]
    return Row(line, cells[0], cells[1], numbers)


def _exact(text: str, edges: Sequence[int]) -> dict[int, int] | None:
    """The numbers by column, if all end exactly where the columns do."""
    line = text.rstrip()
    if len(line) not in edges:
        return None
    cells = [line[begin:end] for begin, end in zip([0, *edges], edges, strict=False)]
    texts = {column: cell.strip() for column, cell in enumerate(cells) if cell.strip()}
    if not all(cells[column].endswith(cell) and cell.isdecimal() for column, cell in texts.items()):
        return None
    return {column: int(cell) for column, cell in texts.items()}


def _near(text: str, edges: Sequence[int]) -> dict[int, int] | None:
    """The numbers by column, if each ends near one column and none can be two."""
    by_column: dict[int, int] = {}
    for end, word in _words(text):
        near = [column for column, edge in enumerate(edges) if abs(edge - end) <= _ASIDE and column not in by_column]
        if len(near) != 1 or len(word) > _SURELY_ONE or not word.isdecimal():
            return None
        by_column[near[0]] = int(word)
    return by_column


def _words(text: str) -> Iterator[tuple[int, str]]:
    """The words of a line, each with the position of its end."""
    end = 0
    for word in text.split():
        end = text.index(word, end) + len(word)
        yield end, word


def _check(rows_read: Sequence[Row], execution: Execution) -> None:
    """Raises `Refused` for a row with other tests than requested, or than the first row has."""
    if not rows_read:
        return
    requested = [phase for number, phase in OF_COLUMN if not execution.tests or number in execution.tests]
    expected = requested if execution.command else [phase for phase, _ in rows_read[0].numbers]
    for row in rows_read:
        if [phase for phase, _ in row.numbers] != expected:
            raise Refused("has a row whose tests are not those that were requested", row.line)

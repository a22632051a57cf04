"""The path of an I/O as lines of text, 60 to 100 columns wide: for a terminal and for Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ioassay.tuning.path.rows import Box, Row

FEWEST, COLUMNS = 60, 100
_BREAKS = re.compile(r"(?<![×←])(?<!reads)(?<!writes) (?!×|[KMG]iB|B\b)")
"""Spaces at which lines may end: not within a size, nor before the number that a word is about."""
_FILLS = {"request": "█", "written": "█", "read first": "░", "read and written": "▓", "parity": "█"}


@dataclass(frozen=True)
class _Widths:
    """Columns of the names, of the bars with the lines around them, and of the notes beside these."""

    name: int
    bar: int
    note: int

    @classmethod
    def within(cls, columns: int) -> _Widths:
        share = (min(max(columns, FEWEST), COLUMNS) - FEWEST) / (COLUMNS - FEWEST)
        name, bar = min(round(18 + 6 * share), 21), round(22 + 28 * share)
        return cls(name, bar, min(max(columns, FEWEST), COLUMNS) - name - bar - 2)


def text(rows: Sequence[Row], columns: int = COLUMNS) -> str:
    """The picture of `ioassay.tuning.path.rows.rows`, of which there is at least one.

    `columns`: those that there are; at least `FEWEST` and at most `COLUMNS` are used.
    """
    widths = _Widths.within(columns)
    everything = [box for row in rows for box in (*row.boxes, *row.segments)]
    low, high = min(box.start_bytes for box in everything), max(box.end_bytes for box in everything)
    lines: list[str] = []
    host = ""
    has_several = len({row.host for row in rows if row.host}) > 1
    for row in rows:
        if has_several and row.host and row.host != host:
            host = row.host
            lines.append(f"{host}:")
        lines += _lines(row, low, high, widths)
    used = {box.what for row in rows for box in row.boxes}
    legend = [f"{_FILLS[what]} {what}" for what in ("written", "read first", "read and written") if what in used]
    return "\n".join([*lines, *(["", "RAID segments: " + "   ".join(legend)] if legend else [])])


def _lines(row: Row, low: int, high: int, widths: _Widths) -> Iterator[str]:
    bar = _bar(row, low, high, widths.bar)
    names = [row.name, row.subject] if row.subject else [row.name]
    joined = " ".join(names)
    names = [joined] if len(joined) <= widths.name else names
    notes = list(_notes(row, bar, widths.note))
    for index in range(max(len(names), len(notes), 1)):
        name = _shortened(names[index], widths.name) if index < len(names) else ""
        note = notes[index] if index < len(notes) else ""
        yield f"{name:<{widths.name}} {bar if index == 0 else '':<{widths.bar}} {note}".rstrip()


def _notes(row: Row, bar: str, width: int) -> Iterator[str]:
    """The notes beside the bar, in lines that fit."""
    parts = []
    if row.parity:
        parts.append("+ " + " ".join(parity.label for parity in row.parity))
    if not row.segments and not all(box.label in row.sizes and box.label in bar for box in row.boxes):
        parts.append(row.sizes)
    parts += [f"← split: {row.cause}"] if row.cause else []
    parts += [f"← {row.problem}"] if row.problem else []
    parts += [row.note] if row.note else []
    parts += [f"measured: {row.measured}"] if row.measured else []
    line = ""
    for part in parts:
        for index, word in enumerate(_BREAKS.split(part)):
            gap = "  " if index == 0 and not word.startswith("←") else " "
            if line and len(line) + len(gap) + len(word) > width:
                yield line
                line = ""
            line += (gap if line else "") + word
        if part.startswith(("←", "measured")):
            yield line
            line = ""
    if line:
        yield line


def _bar(row: Row, low: int, high: int, columns: int) -> str:
    """The boxes between lines; what is narrower than two columns has no line of its own."""
    inner = columns - 2
    scale = inner / (high - low)
    boxes = _covered(row) if row.segments else sorted(row.boxes, key=lambda box: box.start_bytes)
    places = [round((box.start_bytes - low) * scale) for box in boxes]
    ends = [round((box.end_bytes - low) * scale) for box in boxes]
    cells = [" "] * (inner + 1)
    narrowest: dict[str, int] = {}
    for box, start, end in zip(boxes, places, ends, strict=True):
        narrowest[box.label] = min(end - start, narrowest.get(box.label, inner))
    for box, start, end in zip(boxes, places, ends, strict=True):
        fill = " " if row.segments and not box.label else _FILLS[box.what]
        cells[start : max(end, start + 1)] = fill * max(end - start, 1)
        if end - start >= 2:
            cells[start] = "│"
            label = f" {box.label} "
            if not row.segments and narrowest[box.label] > len(label):
                middle = start + 1 + (end - start - 1 - len(label)) // 2
                cells[middle : middle + len(label)] = label
    if boxes:
        cells[min(places)] = "│"
        cells[min(max(*ends, *(start + 1 for start in places)), inner)] = "│"
    return "".join(cells[: inner + 1])


def _covered(row: Row) -> list[Box]:
    """The segments of a RAID, what is written or read of each first; nothing where neither is done."""
    boxes_covered = []
    for segment in row.segments:
        boxes = [box for box in row.boxes if segment.start_bytes <= box.start_bytes < segment.end_bytes]
        what = boxes[0].what if boxes else "request"
        boxes_covered.append(Box(segment.start_bytes, segment.end_bytes, what, segment.label if boxes else ""))
    return boxes_covered


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"

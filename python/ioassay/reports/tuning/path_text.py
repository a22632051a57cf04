"""The way of an I/O as lines of text, at most 100 columns wide: for a terminal and for Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ioassay.tuning.path.rows import Box, Row

COLUMNS = 100
_NAME, _BAR = 21, 50
"""Columns of the names, and of the bars with the lines around them."""
_BREAKS = re.compile(r"(?<!×) (?!×|[KMG]iB|B\b)")
"""Spaces at which lines may end: not within a size."""
_FILLS = {"request": "█", "written": "█", "read first": "░", "read and written": "▓", "parity": "█"}


def text(rows: Sequence[Row]) -> str:
    """The picture of `ioassay.tuning.path.rows.rows`, of which there is at least one."""
    everything = [box for row in rows for box in (*row.boxes, *row.segments)]
    low, high = min(box.start_bytes for box in everything), max(box.end_bytes for box in everything)
    lines: list[str] = []
    host = ""
    has_several = len({row.host for row in rows if row.host}) > 1
    for row in rows:
        if has_several and row.host and row.host != host:
            host = row.host
            lines.append(f"{host}:")
        lines += _lines(row, low, high)
    used = {box.what for row in rows for box in row.boxes}
    legend = [f"{_FILLS[what]} {what}" for what in ("written", "read first", "read and written") if what in used]
    return "\n".join([*lines, *(["", "RAID segments: " + "   ".join(legend)] if legend else [])])


def _lines(row: Row, low: int, high: int) -> Iterator[str]:
    bar = _bar(row, low, high)
    names = [row.name, row.subject] if row.subject else [row.name]
    joined = " ".join(names)
    names = [joined] if len(joined) <= _NAME else names
    notes = list(_notes(row, bar))
    for at in range(max(len(names), len(notes), 1)):
        name = _shortened(names[at], _NAME) if at < len(names) else ""
        note = notes[at] if at < len(notes) else ""
        yield f"{name:<{_NAME}} {bar if at == 0 else '':<{_BAR}} {note}".rstrip()


def _notes(row: Row, bar: str) -> Iterator[str]:
    """What stands beside the bar, in lines that fit."""
    parts = []
    if row.parity:
        parts.append("+ " + " ".join(parity.label for parity in row.parity))
    if not row.segments and not all(box.label in row.sizes and box.label in bar for box in row.boxes):
        parts.append(row.sizes)
    parts += [f"← split: {row.cause}"] if row.cause else []
    parts += [f"← {row.problem}"] if row.problem else []
    parts += [row.note] if row.note else []
    parts += [f"measured: {row.measured}"] if row.measured else []
    width = COLUMNS - _NAME - _BAR - 2
    line = ""
    for part in parts:
        for at, word in enumerate(_BREAKS.split(part)):
            gap = "  " if at == 0 and not word.startswith("←") else " "
            if line and len(line) + len(gap) + len(word) > width:
                yield line
                line = ""
            line += (gap if line else "") + word
        if part.startswith(("←", "measured")):
            yield line
            line = ""
    if line:
        yield line


def _bar(row: Row, low: int, high: int) -> str:
    """The boxes between lines; what is narrower than two columns has no line of its own."""
    inner = _BAR - 2
    scale = inner / (high - low)
    boxes = _covered(row) if row.segments else sorted(row.boxes, key=lambda box: box.start_bytes)
    places = [round((box.start_bytes - low) * scale) for box in boxes]
    ends = [round((box.end_bytes - low) * scale) for box in boxes]
    cells = [" "] * (inner + 1)
    for box, start, end in zip(boxes, places, ends, strict=True):
        fill = " " if row.segments and not box.label else _FILLS[box.what]
        cells[start : max(end, start + 1)] = fill * max(end - start, 1)
        if end - start >= 2:
            cells[start] = "│"
            label = f" {box.label} "
            if not row.segments and end - start >= len(label) + 2:
                middle = start + 1 + (end - start - 1 - len(label)) // 2
                cells[middle : middle + len(label)] = label
    if boxes:
        cells[min(places)] = "│"
        cells[min(max(*ends, *(start + 1 for start in places)), inner)] = "│"
    return "".join(cells[: inner + 1])


def _covered(row: Row) -> list[Box]:
    """The segments of a RAID, what is written or read of each first; nothing where neither is done."""
    made = []
    for segment in row.segments:
        own = [box for box in row.boxes if segment.start_bytes <= box.start_bytes < segment.end_bytes]
        what = own[0].what if own else "request"
        made.append(Box(segment.start_bytes, segment.end_bytes, what, segment.label if own else ""))
    return made


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"

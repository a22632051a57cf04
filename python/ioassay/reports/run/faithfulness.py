"""The faithfulness of a replay, in a report: a table for each case, operations left out, and how to read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ioassay.analysis.names import Names
from ioassay.reports.document import Block, Bullets, Column, Paragraph, Table, Text, changes
from ioassay.store.document import LeftOutEntry, ReplaysEntry
from ioassay.text import format
from ioassay.text.units import format_about_bytes

if TYPE_CHECKING:
    from ioassay.analysis.replay.faithful import ClassFaithfulness, Faithfulness, Order
    from ioassay.profiles.model import Direction

NOTE = (
    "Recorded: what the application did, as far as it can be replayed. Replayed: what the engine did in these phases. "
    "Distances are the largest difference of two cumulative shares, 0 identical to 1 disjoint: of calls over sizes, "
    "and of bytes (metadata: calls) over the time from the first I/O to the last. Order: transfers that begin where "
    "the one before ended, beyond that, and before it. Ranks: bytes of the rank with least and of the one with most."
)

_WORDS: dict[Direction, str] = {"read": "Reads", "write": "Writes", "metadata": "Metadata"}

_MOST_LEFT_OUT = 8


def blocks(replays: ReplaysEntry | None, faithfulnesses: list[Faithfulness], names: Names) -> list[Block]:
    """The tables of all cases, and what they leave out."""
    if replays is None or not faithfulnesses:
        return []
    tables: list[Block] = [
        block
        for faithfulness in faithfulnesses
        for block in (table(faithfulness, names), Paragraph(sentence(faithfulness)))
    ]
    return [*tables, *left_out(replays), Paragraph(NOTE, note=True)]


def table(faithfulness: Faithfulness, names: Names) -> Table:
    """Operations, bytes, sizes and time line of each class, and the duration."""
    columns = [
        Column("Class", merges=True),
        Column("What"),
        *(Column(head, is_number=True) for head in ("Recorded", "Replayed", "Ratio", "Distance")),
    ]
    rows = [row for of in faithfulness.classes if of.recorded_operations or of.operations for row in _rows(of)]
    taken = [format.duration(ns) for ns in (faithfulness.recorded_ns, faithfulness.duration_ns)]
    rows.append(["All", "duration", *taken, _ratio(faithfulness.duration_ratio), format.ABSENT])
    title = f"Faithfulness of the replay: {names.case(faithfulness.case)}"
    return Table(columns, rows, title=title, rules=changes(row[0] for row in rows))


def _rows(of: ClassFaithfulness) -> Iterator[list[Text]]:
    word, nothing = _WORDS[of.direction], format.ABSENT
    counts = (f"{count:,}" for count in (of.recorded_operations, of.operations))
    yield [word, "operations", *counts, _ratio(of.operations_ratio), nothing]
    if of.direction != "metadata":
        moved = (format_about_bytes(count) for count in (of.recorded_bytes, of.bytes))
        yield [word, "bytes", *moved, _ratio(of.bytes_ratio), nothing]
        yield [word, "sizes", nothing, nothing, nothing, _distance(of.size_distance)]
        yield [word, "order", _order(of.recorded_order), _order(of.order), nothing, _distance(of.order_distance)]
        yield [word, "ranks", _range(of.recorded_rank_bytes), _range(of.rank_bytes), nothing, nothing]
    yield [word, "time line", nothing, nothing, nothing, _distance(of.timeline_distance)]


def _order(order: Order | None) -> str:
    """Consecutive, forward, backward."""
    if order is None:
        return format.ABSENT
    return ", ".join(f"{100 * share:.0f}" for share in (order.consecutive, order.forward, order.backward)) + " %"


def _range(bytes_: tuple[int, int] | None) -> str:
    return format.ABSENT if bytes_ is None else " to ".join(map(format_about_bytes, bytes_))


def _ratio(ratio: float | None) -> str:
    return format.ABSENT if ratio is None else f"{ratio:.3f}"


def _distance(distance: float | None) -> str:
    return format.ABSENT if distance is None else f"{distance:.3f}"


def sentence(faithfulness: Faithfulness) -> str:
    """The sentence on missing phases; empty if complete."""
    return "" if faithfulness.is_complete else "The replay is incomplete: some phases did not do all they had to do."


def left_out(replays: ReplaysEntry) -> list[Block]:
    """The operations that the replay leaves out."""
    if not replays.left_out:
        return []
    shown = [_left_out(entry) for entry in replays.left_out[:_MOST_LEFT_OUT]]
    more = len(replays.left_out) - len(shown)
    return [Paragraph("Not replayed:"), Bullets([*shown, *([f"{more} more"] if more else [])])]


def _left_out(entry: LeftOutEntry) -> str:
    time = "" if entry.time_ns is None else f", {format.duration(entry.time_ns)}"
    return f"{entry.operation}: {entry.calls:,} {'call' if entry.calls == 1 else 'calls'}{time}"

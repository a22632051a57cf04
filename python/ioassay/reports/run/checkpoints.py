"""Checkpoints in a report: how long training stands still for one, a table of generations, how to read it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ioassay.analysis.names import Names
from ioassay.protocol.facts import COLD_SHARE
from ioassay.reports.document import Block, Column, Figure, Paragraph, Table, Text
from ioassay.text import format

if TYPE_CHECKING:
    from ioassay.analysis.checkpoints import Checkpointing, Generation
    from ioassay.figures.picture import Picture
    from ioassay.reports.run.content import Content

NOTE = (
    "Stall: from when ranks stop computing until all have saved or read their files; of saves beside computation, "
    "until the generation before is complete and the state is copied. Last rank: the slowest one, with the time "
    "of its own files; typical: the median of ranks. Rate: bytes of all ranks over the time of the last rank. "
    "Fsync: share of the last rank's time. None of them is a result of MLPerf Storage."
)

MOST_ANSWERS = 4
"""Phases that a summary has a sentence for."""

_SHOWN_SHARE = 0.99
"""Ranks that stand still for a larger share of the time do nothing else in the phase."""

_HEADS = ("Stall", "Rate", "Bytes", "Last rank's time", "Typical", "Fsync")


def answers(content: Content) -> list[Block]:
    """How long training stands still for a checkpoint in each phase."""
    return [Paragraph(sentence(phase, content.names)) for phase in content.checkpoints[:MOST_ANSWERS]]


def blocks(content: Content, drawn: Iterable[Picture]) -> list[Block]:
    """How long training stands still in each phase, figures, a table of its generations, and how to read it."""
    if not content.checkpoints:
        return []
    names = content.names
    phases = [
        block for phase in content.checkpoints for block in (Paragraph(sentence(phase, names)), table(phase, names))
    ]
    return [*map(Figure, drawn), *phases, Paragraph(NOTE, note=True)]


def sentence(phase: Checkpointing, names: Names) -> str:
    """The answer: how long training stands still for a generation, and for whom it waits."""
    many = len(phase.generations)
    amount = format.size(phase.bytes)
    what = f"a checkpoint of {amount} stalls training for" if phase.is_save else f"restoring {amount} takes"
    spread = ""
    if many > 1:
        longest = phase.longest
        spread = f" (median of {many}; the longest, generation {longest.number}, {format.duration(longest.stall_ns)})"
    rank, node, times = phase.last_rank
    last = f"rank {rank} on {node} is last"
    if many > 1:
        last = f"{last} in {times} of {many}" if times > 1 else "no rank is last twice"
    rate = format.rate(phase.bytes_per_s)
    head = f"{names.case(phase.case)}, {phase.phase}"
    sentences = [f"{head}: {what} {format.duration(phase.stall_ns)}{spread}, at {rate}; {last}."]
    if phase.is_save and phase.stall_share < _SHOWN_SHARE:
        sentences.append(f"Training loses {format.share(phase.stall_share)} of its time to them.")
    if phase.cached_share is not None and phase.cached_share > COLD_SHARE:
        cached = format.share(phase.cached_share)
        sentences.append(f"Partly served from memory: {cached} were in the page cache before.")
    return " ".join(sentences)


def table(phase: Checkpointing, names: Names) -> Table:
    """A row for each generation."""
    columns = [Column("Generation"), *(Column(head, is_number=True) for head in _HEADS), Column("Last rank")]
    title = f"Generations: {names.case(phase.case)}, {phase.phase}"
    return Table(columns, [_row(generation) for generation in phase.generations], title=title)


def _row(generation: Generation) -> list[Text]:
    return [
        str(generation.number),
        format.duration(generation.stall_ns),
        format.rate(generation.bytes_per_s),
        format.size(generation.bytes),
        format.duration(generation.slowest_ns),
        format.duration(generation.median_ns),
        format.share(generation.fsync_share),
        f"{generation.slowest_rank} on {generation.slowest_node}",
    ]

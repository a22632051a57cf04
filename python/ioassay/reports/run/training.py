"""Training in a report: how busy the accelerators were kept, a table of the epochs of each case, how to read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioassay.analysis.names import Names
from ioassay.protocol.facts import COLD_SHARE
from ioassay.reports.document import Block, Column, Paragraph, Table, Text
from ioassay.text import format
from ioassay.text.prose import listed

if TYPE_CHECKING:
    from ioassay.analysis.training import Epoch, Training

NOTE = (
    "Utilisation: time that accelerators computed, as a share of their time from the start of the epoch to the end of "
    "its last step; lowest: of the accelerator that waited most. DLIO's leave out the first step of each epoch, with "
    "the wait for the first batch: the repository's takes the time that was computed, the release's (2.0.0) the time "
    "that was to be. None of them is a result of MLPerf Storage. Wait: for a batch, the mean of all steps. Loading: "
    "share of their time in which loader threads loaded; on processor: share of that. Cached before: share of what was "
    "read that was in the page cache."
)

_HEADS = (
    "Utilisation",
    "Lowest",
    "DLIO repository",
    "DLIO release",
    "Samples/s",
    "Read",
    "First batch",
    "Wait",
    "Loading",
    "On processor",
    "Cached before",
)


def blocks(every: list[Training], names: Names) -> list[Block]:
    """The answer and the table of each case."""
    if not every:
        return []
    per_case = [block for training in every for block in (Paragraph(sentence(training, names)), table(training, names))]
    return [*per_case, Paragraph(NOTE, note=True)]


def sentence(training: Training, names: Names) -> str:
    """The answer: how busy the accelerators were kept, and what it says about."""
    epochs = training.epochs
    accelerators = format.count(training.accelerators, "accelerator")
    shares = [epoch.utilisation for epoch in epochs]
    low, high = format.share(min(shares)), format.share(max(shares))
    busy = low if low == high else f"{low} to {high}"
    count = format.count(len(epochs), "epoch")
    sentences = [f"{names.case(training.case)}: storage kept {accelerators} {busy} busy over {count}."]
    if limited := [epoch.phase for epoch in epochs if epoch.is_limited_by_processors]:
        sentences.append(
            f"In {listed(limited)} the clients' processors were the limit, not the storage: loader threads loaded all "
            "the time, and were on a processor all that time."
        )
    cached = [epoch for epoch in epochs if epoch.cached_share is not None and epoch.cached_share > COLD_SHARE]
    if cached:
        each = listed([f"{epoch.phase} ({format.share(epoch.cached_share)})" for epoch in cached])
        sentences.append(f"Partly served from memory: {each}.")
    return " ".join(sentences)


def table(training: Training, names: Names) -> Table:
    """A row for each epoch."""
    columns = [Column("Epoch"), *(Column(head, is_number=True) for head in _HEADS)]
    title = f"Epochs: {names.case(training.case)}"
    return Table(columns, [_row(epoch) for epoch in training.epochs], title=title)


def _row(epoch: Epoch) -> list[Text]:
    shares = (epoch.utilisation, epoch.lowest_utilisation, epoch.dlio_repository, epoch.dlio_release)
    return [
        epoch.phase,
        *map(format.share, shares),
        format.significant(epoch.samples_per_s),
        format.rate(epoch.read_bytes_per_s),
        format.duration(epoch.first_batch_ns),
        format.duration(epoch.wait_ns),
        format.share(epoch.loader_busy_share),
        format.share(epoch.loader_processor_share),
        format.share(epoch.cached_share),
    ]

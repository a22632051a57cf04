"""Training in a report: how busy the accelerators were kept, a table of the epochs of each case, how to read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ioassay.analysis.accelerator_sweeps import LEAST
from ioassay.analysis.names import Names
from ioassay.protocol.facts import COLD_SHARE
from ioassay.reports.document import Block, Column, Figure, Paragraph, Table, Text
from ioassay.store.point import CLIENTS, SweepPoint
from ioassay.text import format
from ioassay.text.prose import listed

if TYPE_CHECKING:
    from ioassay.analysis.feeding import AcceleratorCount, Feeding
    from ioassay.analysis.training import Epoch, Limit, Training
    from ioassay.figures.picture import Picture
    from ioassay.reports.run.content import Content

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


MOST_ANSWERS = 4
"""Cases that a summary has a sentence for."""

_LIMITS: Mapping[Limit | None, str] = {
    "processors": "; the clients' processors are the limit",
    "storage": "; storage is the limit",
    None: "",
}


def answers(content: Content) -> list[Block]:
    """How many accelerators storage feeds; where their number is not swept, how busy each case kept them."""
    if content.feeding:
        return [Paragraph(answer(feeding, content.names)) for feeding in content.feeding]
    return [Paragraph(sentence(training, content.names)) for training in content.training[:MOST_ANSWERS]]


def blocks(content: Content, drawn: Iterable[Picture]) -> list[Block]:
    """How busy each case kept its accelerators, figures, a table of its epochs, and how to read it."""
    if not content.training:
        return []
    names = content.names
    cases = [
        block
        for training in content.training
        for block in (Paragraph(sentence(training, names)), table(training, names))
    ]
    return [*map(Figure, drawn), *cases, Paragraph(NOTE, note=True)]


def answer(feeding: Feeding, names: Names) -> str:
    """The number of accelerators that storage feeds, the first one that it does not, and how certain that is."""
    head = clients_and_values(feeding.swept, names)
    fed, unfed = feeding.fed, feeding.first_unfed
    feeds = "storage"
    if fed is not None:
        count = format.count(fed.accelerators, "accelerator")
        feeds = f"storage feeds {count} ({format.share(fed.utilisation)} busy in the worst epoch)"
    if unfed is None:
        return f"{head}: {feeds}, the most that were tried.{_certainty(feeding)}"
    count = format.count(unfed.accelerators, "accelerator")
    but = ", but not" if fed is not None else " does not feed"
    busy = (
        f"{format.share(unfed.utilisation)} busy, where {format.share(feeding.goal)} are needed{_LIMITS[unfed.limit]}"
    )
    return f"{head}: {feeds}{but} {count} ({busy}).{_certainty(feeding)}"


def clients_and_values(swept: SweepPoint, names: Names) -> str:
    """What a sweep of accelerators is of: the workload, and the values of its other axes."""
    others = dict(swept.values)
    clients = others.pop(CLIENTS, None)
    head = [names.workload(swept.workload)]
    head += [format.count(clients, "client")] if isinstance(clients, int) else []
    head += [names.values(tuple(others.items()))] if others else []
    return ", ".join(head)


def _certainty(feeding: Feeding) -> str:
    """Between which numbers the answer lies with 95 % confidence, where cases were repeated."""
    if max(count.repetitions for count in feeding.counts) < LEAST:
        return ""
    fed, unfed = feeding.certainly_fed, feeding.certainly_unfed
    if (fed, unfed) == (feeding.fed, feeding.first_unfed):
        both = [_repeated(count) for count in (fed, unfed) if count is not None]
        return f" With 95 % confidence, after {listed(both)}."
    why = f"repetitions scatter about {format.share(feeding.goal)}, or are too few; "
    why += "repeat more often, or make epochs longer."
    if fed is None and unfed is None:
        return f" With 95 % confidence nothing can be said: {why}"
    most = unfed.accelerators - 1 if unfed else None
    if fed is None:
        between = f"at most {most}"
    elif most is None:
        between = f"at least {fed.accelerators}"
    else:
        between = f"{fed.accelerators} to {most}" if most > fed.accelerators else str(most)
    return f" With 95 % confidence it feeds {between}: {why}"


def _repeated(count: AcceleratorCount) -> str:
    return f"{format.count(count.repetitions, 'run')} with {count.accelerators}"


def sentence(training: Training, names: Names) -> str:
    """The answer: how busy the accelerators of a case were kept, and why not more."""
    epochs = training.trained
    accelerators = format.count(training.accelerators, "accelerator")
    shares = [epoch.utilisation for epoch in epochs]
    low, high = format.share(min(shares)), format.share(max(shares))
    busy = low if low == high else f"{low} to {high}"
    count = format.count(len(epochs), "epoch")
    sentences = [f"{names.case(training.case)}: storage kept {accelerators} {busy} busy over {count}."]
    if limited := [epoch.phase for epoch in epochs if epoch.limit == "processors"]:
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

"""Reads and writes that spent much of their time opening files, so that the rate is partly that of metadata."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis import phase_times
from ioassay.analysis.finding import Evidence, Finding, Message
from ioassay.analysis.findings.run_facts import RunFacts, affected
from ioassay.protocol.facts import SHORTEST_PHASE_NS
from ioassay.store.measurement import KEY, Measurement
from ioassay.text import format

LEAST_SHARE = 0.2
"""Share of the ranks' time above which opens limit the rate clearly: without them it would be a quarter higher."""


@dataclass(frozen=True)
class OpenTimeEvidence(Evidence):
    """Phases of a series that spent much time opening files."""

    kind: ClassVar[str] = "open-time"
    share: float
    """Share of all ranks' time between start and end, in the phase where it is highest."""
    files: int
    """Files of its file set."""
    file_bytes: float | None
    """Their mean size; `None`: unknown."""
    phases: int
    """The number of such phases."""
    of: int
    """Valid phases of the series that are long enough."""


def open_time(facts: RunFacts) -> Iterator[Finding]:
    """A warning for each series of reads or writes with such phases; none for replays, whose opens are measured."""
    for phases in facts.grouped(_opened(facts), lambda phase: phase[0]):
        slow = sorted((phase for phase in phases if phase[1] >= LEAST_SHARE), key=lambda phase: -phase[1])
        if slow:
            first, share, files, total_bytes = slow[0]
            file_bytes = total_bytes / files if files and total_bytes else None
            evidence = OpenTimeEvidence(share, files, file_bytes, len(slow), len(phases))
            yield Finding("warning", evidence, tuple(phase[0] for phase in slow), _message(facts, evidence, first))


def _opened(facts: RunFacts) -> Iterator[tuple[Measurement, float, int, int]]:
    """Reads and writes with the share of their time that opening took, their files, and the bytes of these."""
    measured = facts.run.measurements.filter(
        pl.col("operation").is_in(["read", "write"]), "valid", pl.col("duration_ns") >= SHORTEST_PHASE_NS
    )
    shares = phase_times.shares(facts.run.ranks).select(*KEY, "open_share").drop_nulls()
    for row in measured.join(shares, on=list(KEY), maintain_order="left").iter_rows(named=True):
        place = Measurement.of(row)
        is_replay = bool(facts.names.entry(place.case).job(place.phase, place.job).sizes)
        if not is_replay:
            yield place, row["open_share"], row["files"] or 0, row["file_set_bytes"] or 0


def _message(facts: RunFacts, evidence: OpenTimeEvidence, first: Measurement) -> Message:
    files = ""
    if evidence.files:
        mean = " on average" if evidence.files > 1 else ""
        size = f" of {format.size(evidence.file_bytes)}{mean}" if evidence.file_bytes else ""
        files = f" ({format.count(evidence.files, 'file')}{size})"
    return Message(
        f"{facts.names.place(first)}: ranks spent {format.share(evidence.share)} of their time opening files{files}.",
        "To measure bandwidth, move more bytes for each file that is opened (larger files, fewer of them). If the "
        "application needs small files, measure a tree of them (create, read), whose rates count files.",
        affected(evidence.phases, evidence.of, "phase"),
    )

"""Servers whose disks move more bytes than the clients: replication, parity, journals, read-ahead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Evidence, Finding, Message
from ioassay.analysis.findings.run_facts import RunFacts, WatchedPhase, Way
from ioassay.store.measurement import Measurement

LEAST = 1.2
"""Disk bytes per client byte. Metadata and journals of a plain file system stay below."""


@dataclass(frozen=True)
class AmplificationEvidence(Evidence):
    """Phases of a series in which disks moved more than the clients."""

    kind: ClassVar[str] = "disk-amplification"
    way: Way
    lowest: float
    """Disk bytes per client byte, in the phase where the ratio is lowest."""
    highest: float
    phases: int


def amplification(facts: RunFacts) -> Iterator[Finding]:
    """A notice for each series whose every phase moved more bytes on the servers' disks.

    Data of an earlier phase may be written in a later phase, so the run as a whole must have written more, too.
    """
    if facts.activity is None or facts.activity.storage_role != "server":
        return
    for phases in facts.watched_phases():
        ratios = {phase.place: _ratio(phase) for phase in phases}
        known = {place: ratio for place, ratio in ratios.items() if ratio is not None}
        way = phases[0].way
        if (
            len(known) < len(phases)
            or min(known.values()) < LEAST
            or (way == "write" and _write_ratio_of_run(facts) < LEAST)
        ):
            continue
        worst = sorted(known, key=lambda place: -known[place])
        evidence = AmplificationEvidence(way, min(known.values()), max(known.values()), len(known))
        yield Finding("notice", evidence, tuple(worst), _message(facts, evidence, worst[0]))


def _ratio(watched_phase: WatchedPhase) -> float | None:
    return (
        None
        if watched_phase.disk_bytes is None
        else (watched_phase.disk_bytes + watched_phase.late_bytes) / watched_phase.client_bytes
    )


def _write_ratio_of_run(facts: RunFacts) -> float:
    """Bytes that the servers' disks wrote during the run, per byte that the clients wrote."""
    assert facts.activity is not None
    disks = facts.activity.seconds.filter(pl.col("role") == "server")["disk_write_bytes"].sum()
    clients = facts.activity.windows["write_bytes"].sum()
    return float(disks) / float(clients) if clients else 0.0


def _message(facts: RunFacts, evidence: AmplificationEvidence, first: Measurement) -> Message:
    low, high = (f"{ratio:.2f}" for ratio in (evidence.lowest, evidence.highest))
    times = f"{low} times" if low == high else f"{low} to {high} times"
    is_write = evidence.way == "write"
    moved = "wrote" if is_write else "read"
    why = "Copies, parity and journals" if is_write else "Read-ahead and larger blocks"
    less = (
        "write whole stripes of parity RAID or erasure coding (larger, aligned transfers)"
        if is_write
        else "read larger blocks in order, or shorten the servers' read-ahead if reads are small and random"
    )
    return Message(
        f"{facts.series_name(first)}: the servers' disks {moved} {times} what the clients {moved}.",
        f"Measure again while nobody else uses the servers; if it stays, {less}.",
        f"{why} cost that, unless others used the servers at the same time.",
    )

"""Reads that the servers' memory served instead of their disks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.finding import Evidence, Finding, Message
from ioassay.analysis.findings.run_facts import RunFacts, affected
from ioassay.store.measurement import Measurement
from ioassay.text import format

MOST = 0.5
"""Share of disk reads above which the clients had to wait for disks."""

LEAST_ON_DATA_DISKS = 0.5
"""Disks hold the data if they moved at least this share of the clients' bytes in some phase."""


@dataclass(frozen=True)
class ServerMemoryEvidence(Evidence):
    """Read phases of a series that memory served."""

    kind: ClassVar[str] = "reads-from-memory"
    share: float
    """Disk bytes per byte that the clients read, in the phase where it is lowest."""
    phases: int
    of: int


def server_memory(facts: RunFacts) -> Iterator[Finding]:
    """A warning for each series with such phases: reads from memory do not measure disks."""
    if facts.activity is None or facts.activity.storage_role != "server":
        return
    series = facts.watched_phases()
    shares = {phase.place: _share(phase.disk_bytes, phase.client_bytes) for phases in series for phase in phases}
    # Otherwise the data may lie on disks of hosts that were not watched.
    if not any(share is not None and share >= LEAST_ON_DATA_DISKS for share in shares.values()):
        return
    for phases in series:
        served = {
            phase.place: share
            for phase in phases
            if phase.way == "read" and (share := shares[phase.place]) is not None and share < MOST
        }
        if served:
            places = sorted(served, key=lambda place: served[place])
            evidence = ServerMemoryEvidence(served[places[0]], len(served), len(phases))
            yield Finding("warning", evidence, tuple(places), _message(facts, evidence, places[0]))


def _share(disks: float | None, clients: int) -> float | None:
    return None if disks is None else disks / clients


def _message(facts: RunFacts, evidence: ServerMemoryEvidence, first: Measurement) -> Message:
    return Message(
        f"{facts.names.place(first)}: the servers' disks read {format.share(evidence.share)} of what the clients read; "
        "memory served the rest.",
        "Read more than servers and clients can cache, or clear the servers' caches with a hook.",
        affected(evidence.phases, evidence.of, "phase"),
    )

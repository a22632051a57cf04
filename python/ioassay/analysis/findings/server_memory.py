"""Reads that the servers' disks had little to do with: what the clients got came out of memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.finding import Evidence, Finding, Message
from ioassay.analysis.findings.run_facts import RunFacts, affected
from ioassay.store.measurement import Measurement
from ioassay.text import format

MOST = 0.5
"""Where disks read more than this share, they had to be waited for."""

SEEN = 0.5
"""Disks that moved at least this share of what the clients did in some phase are those that hold the data."""


@dataclass(frozen=True)
class ServerMemoryEvidence(Evidence):
    """Read phases of a series that memory served."""

    kind: ClassVar[str] = "reads-from-memory"
    share: float
    """What the disks read of what the clients read, in the phase where that is least."""
    phases: int
    of: int


def server_memory(facts: RunFacts) -> Iterator[Finding]:
    """One for each series with such phases, a warning: a read from memory says nothing about disks."""
    if facts.activity is None or facts.activity.storage_role != "server":
        return
    every = facts.watched_phases()
    shares = {one.place: _share(one.disk_bytes, one.client_bytes) for own in every for one in own}
    # Else the data may lie on disks that no watched host has.
    if not any(share is not None and share >= SEEN for share in shares.values()):
        return
    for own in every:
        served = {
            one.place: share
            for one in own
            if one.way == "read" and (share := shares[one.place]) is not None and share < MOST
        }
        if served:
            places = sorted(served, key=lambda place: served[place])
            evidence = ServerMemoryEvidence(served[places[0]], len(served), len(own))
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

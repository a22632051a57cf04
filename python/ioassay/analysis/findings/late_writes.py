"""Writes that were still in memory when their phase ended, and reached the disks later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.finding import Evidence, Finding, Message, sentences
from ioassay.analysis.findings.run_facts import RunFacts, WatchedPhase, affected
from ioassay.store.measurement import Measurement
from ioassay.text import format

LEAST_S = 3.0
"""Agents sample once a second, and their clocks may be off by a fraction of one."""

LEAST_SHARE = 0.1
"""Share of the bytes that the clients wrote; less changes a rate by no more than repetitions differ."""

MOST_WITHIN = 0.95
"""If the disks wrote a larger share within the phase, later writes may be those of other users."""


@dataclass(frozen=True)
class LateWriteEvidence(Evidence):
    """Phases of a series after which disks went on writing."""

    kind: ClassVar[str] = "late-writes"
    late_bytes: float
    late_s: float
    share: float
    """Share of the bytes that the clients wrote."""
    phases: int
    of: int


def late_writes(facts: RunFacts) -> Iterator[Finding]:
    """A warning for each series with such phases: its rate is not that of the disks."""
    for phases in facts.watched_phases():
        late = sorted(
            (phase for phase in phases if _is_late(phase)), key=lambda phase: -phase.late_bytes / phase.client_bytes
        )
        if late:
            worst = late[0]
            share = worst.late_bytes / worst.client_bytes
            evidence = LateWriteEvidence(worst.late_bytes, worst.phase["late_s"], share, len(late), len(phases))
            yield Finding(
                "warning", evidence, tuple(phase.place for phase in late), _message(facts, evidence, worst.place)
            )


def _is_late(watched_phase: WatchedPhase) -> bool:
    return (
        watched_phase.disk_bytes is not None
        and watched_phase.disk_bytes < MOST_WITHIN * watched_phase.client_bytes
        and watched_phase.late_bytes >= LEAST_SHARE * watched_phase.client_bytes
        and watched_phase.phase["late_s"] >= LEAST_S
    )


def _message(facts: RunFacts, evidence: LateWriteEvidence, first: Measurement) -> Message:
    return Message(
        f"{facts.names.place(first)}: the disks were still writing {format.duration(1e9 * evidence.late_s)} after the "
        f"phase: {format.size(evidence.late_bytes)}, {format.share(evidence.share)} of what the clients wrote.",
        "Use fsync, or write more than memory holds.",
        sentences(
            "That part was in memory when the rate was measured.", affected(evidence.phases, evidence.of, "phase")
        ),
    )

"""Phases of I/O that end with few processes still at work, for which the others may wait.

Among processes that do the same work (`peers`), the tail of a phase are its last steps in which at most a tenth of the
participants move bytes. The steps are those of the heat map, so shorter tails are not detected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding, Message, ProcessRow
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, profile_finding
from ioassay.analysis.profile.peers import peers
from ioassay.analysis.profile.phases import Phase
from ioassay.text import format

FEWEST = 4
"""The fewest participants of a phase."""

FEW = 0.1
"""The largest share of them in a tail; one process is always allowed."""


@dataclass(frozen=True)
class TailEvidence(ProfileEvidence):
    """Tails of phases."""

    kind: ClassVar[str] = "phase-tails"
    tail_s: float
    """Length of all tails together."""
    phases_s: float
    """Length of all phases with a tail, including the tails."""
    tails: int
    phases: int
    participants: int
    """Participants of the phase with the longest tail."""
    longest_start_s: float
    """Begin of that phase."""
    longest_tail_s: float


@dataclass(frozen=True)
class _Tail:
    phase: Phase
    length_s: float
    participants: int
    processes: tuple[int, ...]


def phase_tails(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    profile, share = facts.profile, facts.thresholds.tail_share
    group = peers(profile).group_by("group").agg("process", pl.len().alias("count")).sort("count", "group")
    if group.is_empty():
        return
    group_processes = group["process"][-1]
    active = profile.heat.filter(
        pl.col("process").is_in(group_processes.implode()), pl.col("read_bytes") + pl.col("written_bytes") > 0
    )
    bursts = [phase for phase in facts.phases if phase.direction != "metadata"]
    tails = [tail for burst in bursts if (tail := _tail(active, burst, profile.heat_step_s)) is not None]
    total = sum(tail.length_s for tail in tails)
    length = sum(tail.phase.duration_s for tail in tails)
    if not tails or total <= share.value * length:
        return
    worst = max(tails, key=lambda tail: tail.length_s)
    yield profile_finding(
        "warning",
        TailEvidence(
            thresholds=(share,),
            spent_ns=round(sum(tail.length_s * tail.participants for tail in tails) * 1e9),
            saves_ns=round(total * 1e9),
            tail_s=total,
            phases_s=length,
            tails=len(tails),
            phases=len(bursts),
            participants=worst.participants,
            longest_start_s=worst.phase.start_s,
            longest_tail_s=worst.length_s,
        ),
        tuple(ProcessRow(process) for process in worst.processes),
        _message,
    )


def _tail(active: pl.DataFrame, phase: Phase, step_s: float) -> _Tail | None:
    """The tail of a phase; `None` if it is shorter than a step."""
    steps_of_phase = active.filter(pl.col("start_s") + step_s > phase.start_s, pl.col("start_s") < phase.end_s)
    participants = steps_of_phase["process"].n_unique()
    if participants < FEWEST:
        return None
    by_step = steps_of_phase.group_by("start_s").agg("process").sort("start_s", descending=True)
    late: set[int] = set()
    steps = 0
    for processes in by_step["process"]:
        if len(processes) > max(1, FEW * participants):
            break
        late |= set(processes)
        steps += 1
    if not steps or steps == by_step.height:
        return None
    return _Tail(phase, steps * step_s, participants, tuple(sorted(late)))


def _message(evidence: TailEvidence) -> Message:
    worst = format.duration(evidence.longest_tail_s * 1e9)
    return Message(
        f"In {_of_phases(evidence)} few processes are left at the end: for {format.duration(evidence.tail_s * 1e9)} of "
        f"{format.duration(evidence.phases_s * 1e9)}.",
        "Check what these processes write last, and their nodes; distribute the data evenly.",
        f"The longest tail is {worst}, of the phase that begins at {format.duration(evidence.longest_start_s * 1e9)} "
        f"with {format.count(evidence.participants, 'process', 'processes')}.",
    )


def _of_phases(evidence: TailEvidence) -> str:
    if evidence.phases == 1:
        return "the phase of I/O"
    return f"{format.count(evidence.tails)} of {format.count(evidence.phases)} phases of I/O"

"""Calls that took much longer than most of their kind because of the storage, the network or a lock."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding, Message, StepRow
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, profile_finding
from ioassay.profiles.model import DIRECTION
from ioassay.text import format

_WAITS = ("lock",)
"""Operations that are expected to wait."""


@dataclass(frozen=True)
class StallEvidence(ProfileEvidence):
    """Slow calls of an operation."""

    kind: ClassVar[str] = "stalled-calls"
    operation: str
    slowest_ns: int
    median_ns: int
    steps: int
    """Steps of the time line with calls as slow as the limit."""
    calls: int
    """All calls of the operation."""

    @property
    def called_operations(self) -> Collection[str]:
        return (self.operation,)


def stalls(facts: ProfileFacts) -> Iterator[Finding]:
    """A warning for each operation that reaches the file system and stalled."""
    times = facts.thresholds.stall_medians
    known = facts.operations.drop_nulls(["p50_ns", "slowest_ns"])
    for row in known.iter_rows(named=True):
        name, median, slowest = row["operation"], row["p50_ns"], row["slowest_ns"]
        if name not in DIRECTION or name in _WAITS:
            continue
        least = facts.thresholds.limit("stall_s", name)
        limit_ns = max(least.value * 1e9, times.value * median)
        if slowest < limit_ns:
            continue
        slow = facts.profile.timeline.filter(pl.col("operation") == name, pl.col("slowest_ns") >= limit_ns)
        if slow.is_empty():  # the source does not know the time of the stall
            continue
        steps = slow.sort("slowest_ns", "start_s", descending=[True, False])["start_s"]
        yield profile_finding(
            "warning",
            StallEvidence(
                thresholds=(least, times),
                spent_ns=int(slow["slowest_ns"].sum()),
                saves_ns=max(0, int(slow["slowest_ns"].sum()) - slow.height * median),
                operation=name,
                slowest_ns=slowest,
                median_ns=median,
                steps=slow.height,
                calls=row["calls"],
            ),
            tuple(StepRow(start, name) for start in steps),
            _message,
        )


def _message(evidence: StallEvidence) -> Message:
    return Message(
        f"I/O stalled: a call of {evidence.operation} took {format.duration(evidence.slowest_ns)}, where the median is "
        f"{format.duration(evidence.median_ns)}.",
        "Check what the storage, the network and other jobs did at that time.",
        f"Such calls are in {format.count(evidence.steps, 'step')} of the time line "
        f"({format.count(evidence.calls, 'call')} in all).",
    )

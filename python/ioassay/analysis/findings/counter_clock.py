"""Imported counters whose clock is off: shifted, they fit the run clearly better."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Evidence, Finding, Message
from ioassay.analysis.findings.run_facts import LEAST_BYTES, RunFacts
from ioassay.analysis.watch.counted import counted
from ioassay.store.measurement import Measurement


@dataclass(frozen=True)
class CounterClockEvidence(Evidence):
    """The offset of the clock."""

    kind: ClassVar[str] = "counter-clock"
    lag_s: int
    """How far the counters' clock is ahead of the clients' clock."""


def counter_clock(facts: RunFacts) -> Iterator[Finding]:
    """One warning for the run."""
    counters = counted(facts.activity)
    if counters is None or counters.lag_s is None:
        return
    moved = facts.run.measurements.filter(pl.col("bytes") >= LEAST_BYTES).sort("started_unix_ns")
    if not moved.is_empty():
        evidence = CounterClockEvidence(counters.lag_s)
        yield Finding("warning", evidence, (Measurement.of(moved.row(0, named=True)),), _message(evidence))


def _message(evidence: CounterClockEvidence) -> Message:
    side = "ahead of" if evidence.lag_s > 0 else "behind"
    return Message(
        f"The clock of the imported counters seems to be {abs(evidence.lag_s)} s {side} that of the run: shifted by "
        "that they fit the phases.",
        f"Import them again with --clock-ahead {evidence.lag_s}.",
        "Until then their bytes are not compared.",
    )

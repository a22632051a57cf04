"""Imported counters of a file system with clearly more or fewer bytes than the run moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.ceilings import DIRECTIONS
from ioassay.analysis.finding import Evidence, Finding, Message, sentences
from ioassay.analysis.findings.run_facts import LEAST_BYTES, RunFacts, Way
from ioassay.analysis.watch.counted import ImportedCounters, counted
from ioassay.store.measurement import Measurement
from ioassay.text.units import format_count

MORE = 1.2
"""Retries, read-ahead and the metadata of a file system stay below."""

LESS = 0.8
"""Less than this share is lost because readings do not begin and end with a phase."""


@dataclass(frozen=True)
class CountedBytesEvidence(Evidence):
    """Phases of a series in which the counters have clearly more, or clearly less, than the run moved."""

    kind: ClassVar[str] = "counted-bytes"
    way: Way
    ratio: float
    """ImportedCounters bytes per byte of the clients, in the phase where it is farthest from 1."""
    phases: int
    role: str
    """Whose counters: `server` or `client`."""


def counted_bytes(facts: RunFacts) -> Iterator[Finding]:
    """A warning for each series whose bytes differ; none if the clocks differ, because phases do not match then."""
    counters = counted(facts.activity)
    if counters is None or counters.lag_s is not None:
        return
    for measured in facts.grouped(_ratios(facts, counters), lambda place: place[0]):
        deviating = sorted(
            (entry for entry in measured if not LESS <= entry[2] <= MORE),
            key=lambda entry: -max(entry[2], 1 / (entry[2] or 1e-9)),
        )
        if deviating:
            _, way, ratio = deviating[0]
            evidence = CountedBytesEvidence(way, ratio, len(deviating), counters.role)
            yield Finding(
                "warning",
                evidence,
                tuple(place for place, _, _ in deviating),
                _message(facts, evidence, deviating[0][0]),
            )


def _ratios(facts: RunFacts, counters: ImportedCounters) -> list[tuple[Measurement, Way, float]]:
    """Measurements that moved data in a watched phase, with counted bytes per byte of the clients."""
    phases = {(row["case"], row["phase"]): row for row in counters.phases.iter_rows(named=True)}
    ratios: list[tuple[Measurement, Way, float]] = []
    for row in facts.run.measurements.filter("valid").iter_rows(named=True):
        phase, to = phases.get((row["case"], row["phase"])), DIRECTIONS.get(row["operation"])
        way: Way = "write" if to == "to-servers" else "read"
        if phase is not None and to is not None and phase[f"{way}_bytes"] >= LEAST_BYTES:
            ratios.append((Measurement.of(row), way, phase[f"counted_{way}_bytes"] / phase[f"{way}_bytes"]))
    return ratios


def _message(facts: RunFacts, evidence: CountedBytesEvidence, first: Measurement) -> Message:
    of_servers = evidence.role == "server"
    whose = "servers" if of_servers else "clients"
    moved = "wrote" if evidence.way == "write" else "read"
    if evidence.ratio > 1:
        why = "Other jobs used the file system at the same time, or requests were repeated."
        remedy = "Measure again while no other job uses the file system; look for resent requests in the clients' logs."
    elif of_servers:
        why = "The rest stayed in, or came from, the clients' page cache, or not all servers were imported."
        remedy = (
            "Import the counters of all servers. If they are complete, write with fsync, or empty the clients' caches "
            "before reading (cold-cache)."
        )
    else:
        why = "Not all clients were imported, or the rest did not go through this file system."
        remedy = "Import the counters of all clients of the run, and check that the target is on this file system."
    return Message(
        f"{facts.names.place(first)}: the file system's {whose} counted {evidence.ratio:.2f} times what the run "
        f"{moved}.",
        remedy,
        sentences(
            why, f"{format_count(evidence.phases, 'phase')} of this series differ so." if evidence.phases > 1 else ""
        ),
    )

"""A server whose disks move much more than those of the others in every phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Evidence, Finding, Message
from ioassay.analysis.findings.run_facts import LEAST_BYTES, RunFacts, WatchedPhase, Way
from ioassay.analysis.watch.phases import PHASE
from ioassay.store.measurement import Measurement
from ioassay.text import format
from ioassay.text.units import format_count

LEAST_FACTOR = 2.0
LEAST_PHASES = 3
"""With few files, one server may hold most of them by chance; the same server in every phase has a cause."""


@dataclass(frozen=True)
class UnevenServerEvidence(Evidence):
    """Phases of a series in which the same server's disks moved most."""

    kind: ClassVar[str] = "uneven-servers"
    server: str
    way: Way
    factor: float
    """Its bytes relative to the median of the others, in the phase where it is lowest."""
    servers: int
    phases: int


def uneven_servers(facts: RunFacts) -> Iterator[Finding]:
    """A warning for each series in whose phases the same server always moves most."""
    if facts.activity is None:
        return
    servers = facts.activity.hosts.filter(pl.col("role") == "server").partition_by(*PHASE, as_dict=True)
    for phases in facts.watched_phases():
        most = [_busiest(phase, servers.get((phase.place.case, phase.place.phase))) for phase in phases]
        named = {server[0] for server in most if server is not None}
        factors = [server[1] for server in most if server is not None]
        if len(factors) < LEAST_PHASES or len(factors) < len(phases) or len(named) > 1 or min(factors) < LEAST_FACTOR:
            continue
        count = max(server[2] for server in most if server is not None)
        evidence = UnevenServerEvidence(named.pop(), phases[0].way, min(factors), count, len(phases))
        places = tuple(phase.place for phase in phases)
        yield Finding("warning", evidence, places, _message(facts, evidence, places[0]))


def _busiest(watched_phase: WatchedPhase, servers: pl.DataFrame | None) -> tuple[str, float, int] | None:
    """The server that moved most, its factor over the median of the others, and the number of servers."""
    column = f"disk_{watched_phase.way}_bytes"
    moved = {} if servers is None else dict(servers.select("host", column).drop_nulls().iter_rows())
    if len(moved) < 2:
        return None
    name = max(moved, key=lambda host: moved[host])
    others = median(bytes for host, bytes in moved.items() if host != name)
    if moved[name] < LEAST_BYTES:
        return None
    return name, moved[name] / max(others, 1.0), len(moved)


def _message(facts: RunFacts, evidence: UnevenServerEvidence, first: Measurement) -> Message:
    moved = "wrote" if evidence.way == "write" else "read"
    return Message(
        f"{facts.series_name(first)}: the disks of {evidence.server} {moved} at least "
        f"{format.significant(evidence.factor)} times what those of the other servers did, in all "
        f"{format_count(evidence.phases, 'phase')}.",
        "Check how files are placed on servers (default layout, stripe count, free space), and spread them over all: "
        "more files, or wider stripes.",
    )

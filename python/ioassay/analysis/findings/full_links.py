"""Hosts whose network link was saturated, so that it limited the rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.finding import Evidence, Finding, Message
from ioassay.analysis.findings.run_facts import RunFacts, affected
from ioassay.analysis.watch.phases import PHASE, WITHIN
from ioassay.store.measurement import Measurement
from ioassay.text import format
from ioassay.text.units import format_link_rate

LEAST_SHARE = 0.9
"""iperf3 reaches 94 % of a link with frames of 1500 bytes."""


@dataclass(frozen=True)
class FullLinkEvidence(Evidence):
    """Phases of a series in which a host's link was full."""

    kind: ClassVar[str] = "full-links"
    host: str
    is_sending: bool
    share: float
    link_bits_per_s: int
    phases: int
    of: int


def full_links(facts: RunFacts) -> Iterator[Finding]:
    """A notice for each series with such phases, about the host with the fullest link."""
    if facts.activity is None:
        return
    links = {host.name: host.link_bits_per_s for host in facts.activity.watch.document.hosts if host.link_bits_per_s}
    fullest: dict[tuple[str, str], tuple[float, str, bool]] = {}
    for row in facts.activity.hosts.iter_rows(named=True):
        for column in WITHIN:
            if row["host"] in links and row[column] is not None:
                share = 8 * row[column] / links[row["host"]]
                key = (row[PHASE[0]], row[PHASE[1]])
                fullest[key] = max(
                    fullest.get(key, (0.0, "", False)), (share, row["host"], column == "sent_bytes_per_s")
                )
    for phases in facts.watched_phases():
        full = {
            phase.place: link
            for phase in phases
            if (link := fullest.get((phase.place.case, phase.place.phase))) and link[0] >= LEAST_SHARE
        }
        if full:
            places = sorted(full, key=lambda place: -full[place][0])
            share, host, is_sending = full[places[0]]
            evidence = FullLinkEvidence(host, is_sending, share, links[host], len(full), len(phases))
            yield Finding("notice", evidence, tuple(places), _message(facts, evidence, places[0]))


def _message(facts: RunFacts, evidence: FullLinkEvidence, first: Measurement) -> Message:
    carried = "sent" if evidence.is_sending else "received"
    return Message(
        f"{facts.names.place(first)}: {evidence.host} {carried} {format.share(evidence.share)} of what its link of "
        f"{format_link_rate(evidence.link_bits_per_s)} carries.",
        "To measure the storage and not this link, spread the I/O over more hosts, or give the host a faster or a "
        "second link.",
        affected(evidence.phases, evidence.of, "phase"),
    )

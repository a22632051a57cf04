"""Measures one path after the other: servers first, then all clients at the same moment.

Whatever ends it, iperf3 ends on every host, and what was measured before is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from ioassay.errors import CannotRun, UsageError
from ioassay.execution.interruption import Interruption
from ioassay.net import iperf3
from ioassay.net.flow_ends import Pair, Place, failure, start, wait
from ioassay.net.overlap import Carried, Timed, carried
from ioassay.net.patterns import Meeting
from ioassay.net.remarks import remarks
from ioassay.remote.hosts import Host
from ioassay.remote.process import SPARE_S, Process
from ioassay.store.moments import now
from ioassay.store.net_directory import NetDirectory
from ioassay.store.net_document import Flow, NetMeasurement

Say = Callable[[str], None]
"""Called with what is being done."""


@dataclass(frozen=True)
class Ends:
    """The hosts, and the port from which on iperf3's servers listen, each on one of its own."""

    clients: Sequence[Host]
    servers: Sequence[Host]
    first_port: int


def refuse_same(clients: Sequence[Host], servers: Sequence[Host]) -> None:
    """Raises `UsageError` for a host at both ends: what it sends to itself meets no network."""
    both = {host.name for host in clients} & {host.name for host in servers}
    if both:
        raise UsageError(
            f"{', '.join(sorted(both))} cannot be client and server at the same time: no network would be measured.",
            "Use other hosts as clients or as servers.",
        )


def measure(net: NetDirectory, ends: Ends, meetings: Sequence[Meeting], say: Say) -> None:
    """Does all `meetings`. How that ended stands in `net.document`.

    Raises `CannotRun` for the first that fails, and for a signal.
    """
    document = net.document
    with Interruption() as interruption:
        try:
            for meeting in meetings:
                say(f"{meeting.name}: {document.settings.duration_s:g} s")
                found = _meet(net, ends, meeting, lambda: interruption.first is not None)
                if found is None:
                    break
                document.measurements.append(found)
                net.save()
        finally:
            complete = len(document.measurements) == len(meetings)
            document.state = "complete" if complete else "interrupted" if interruption.first else "failed"
            document.ended = now()
            net.save()
    if interruption.first:
        raise CannotRun(f"{interruption.name}: stopped; iperf3 has exited on every host.", f"Kept: {net.path}")


def _meet(net: NetDirectory, ends: Ends, meeting: Meeting, interrupted: Callable[[], bool]) -> NetMeasurement | None:
    """Measures clients and servers together; `None` after a signal."""
    settings = net.document.settings
    folder = net.raw / f"{meeting.clients}-to-{meeting.servers}-{meeting.direction}"
    folder.mkdir()
    with ExitStack() as stack:
        pairs = []
        for at, (client, server) in enumerate(meeting.pairs):
            place = Place(ends.clients[client], ends.servers[server], ends.first_port + at, folder)
            pairs.append(start(stack, place, meeting.direction, settings))
        if not wait(pairs, lambda end: end.is_ready, SPARE_S, interrupted):
            return None
        began_s = time.monotonic()
        for pair in pairs:
            pair.client.tell()
        if not wait(pairs, lambda end: end.has_ended, settings.duration_s + SPARE_S, interrupted):
            return None
        return _measurement(net, meeting, pairs, began_s)


@dataclass(frozen=True)
class _Told:
    """What both ends of a pair said."""

    pair: Pair
    client: iperf3.Parsed
    server: iperf3.Parsed


def _measurement(net: NetDirectory, meeting: Meeting, pairs: Sequence[Pair], began_s: float) -> NetMeasurement:
    document = net.document
    told = [_Told(pair, _said(pair.client, pair), _said(pair.server, pair)) for pair in pairs]
    to_servers = meeting.direction == "to-servers"
    together = carried([_timed(one.pair, one.server if to_servers else one.client, began_s) for one in told])
    if together is None:
        raise CannotRun(
            "The flows of the clients overlapped for less than one interval of iperf3.",
            "Use a longer --duration, for example 30s.",
        )
    flows = [
        _flow(net, one, own, (one.client if to_servers else one.server).retransmits)
        for one, own in zip(told, together, strict=True)
    ]
    rate_bits_per_s = sum(own.bits_per_s for own in together)
    return NetMeasurement(
        direction=meeting.direction,
        clients=meeting.clients,
        servers=meeting.servers,
        rate_bits_per_s=rate_bits_per_s,
        common_s=min(own.duration_s for own in together),
        flows=flows,
        remarks=remarks(flows, document, rate_bits_per_s),
    )


def _said(end: Process, pair: Pair) -> iperf3.Parsed:
    try:
        return iperf3.read(end.result().out)
    except ValueError:
        raise failure(end, pair.place.port) from None


def _timed(pair: Pair, received: iperf3.Parsed, began_s: float) -> Timed:
    # All was received when the first of the ends had ended.
    ended_s = min(end.ended_s for end in pair.ends if end.ended_s is not None)
    length_s = received.intervals[-1].end_s if received.intervals else 0.0
    return Timed(received.intervals, earliest_s=began_s, latest_s=max(began_s, ended_s - length_s))


def _flow(net: NetDirectory, told: _Told, own: Carried, retransmits: int | None) -> Flow:
    place = told.pair.place
    return Flow(
        client=place.client.name,
        server=place.server.name,
        port=place.port,
        received_bytes=own.received_bytes,
        duration_s=own.duration_s,
        retransmits=retransmits,
        client_processor_percent=told.client.processor_percent,
        server_processor_percent=told.server.processor_percent,
        files=str(place.files.relative_to(net.path)),
    )

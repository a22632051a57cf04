"""Measures one path after the other: starts servers first, then all clients at the same time.

However it ends, iperf3 ends on every host, and earlier measurements are kept.
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
from ioassay.net.patterns import MeasuredPath
from ioassay.net.remarks import remarks
from ioassay.remote.hosts import Host
from ioassay.remote.process import SPARE_S, Process
from ioassay.store.moments import now
from ioassay.store.net_directory import NetDirectory
from ioassay.store.net_document import Flow, NetMeasurement

Say = Callable[[str], None]
"""Prints what is being done."""


@dataclass(frozen=True)
class Ends:
    """The hosts, and the first port of iperf3's servers, which each listen on their own."""

    clients: Sequence[Host]
    servers: Sequence[Host]
    first_port: int


def refuse_same(clients: Sequence[Host], servers: Sequence[Host]) -> None:
    """Raises `UsageError` for a host at both ends: it would measure no network."""
    both = {host.name for host in clients} & {host.name for host in servers}
    if both:
        raise UsageError(
            f"{', '.join(sorted(both))} cannot be client and server at the same time: no network would be measured.",
            "Use other hosts as clients or as servers.",
        )


def measure(net: NetDirectory, ends: Ends, measured_paths: Sequence[MeasuredPath], say: Say) -> None:
    """Measures all `measured_paths`. `net.document` says how it ended.

    Raises `CannotRun` for the first that fails, and for a signal.
    """
    document = net.document
    with Interruption() as interruption:
        try:
            for path in measured_paths:
                say(f"{path.name}: {document.settings.duration_s:g} s")
                measurement = _measure_path(net, ends, path, lambda: interruption.first is not None)
                if measurement is None:
                    break
                document.measurements.append(measurement)
                net.save()
        finally:
            complete = len(document.measurements) == len(measured_paths)
            document.state = "complete" if complete else "interrupted" if interruption.first else "failed"
            document.ended = now()
            net.save()
    if interruption.first:
        raise CannotRun(f"{interruption.name}: stopped; iperf3 has exited on every host.", f"Kept: {net.path}")


def _measure_path(
    net: NetDirectory, ends: Ends, path: MeasuredPath, interrupted: Callable[[], bool]
) -> NetMeasurement | None:
    """Measures clients and servers together; `None` after a signal."""
    settings = net.document.settings
    folder = net.raw / f"{path.clients}-to-{path.servers}-{path.direction}"
    folder.mkdir()
    with ExitStack() as stack:
        pairs = []
        for number, (client, server) in enumerate(path.pairs):
            place = Place(ends.clients[client], ends.servers[server], ends.first_port + number, folder)
            pairs.append(start(stack, place, path.direction, settings))
        if not wait(pairs, lambda end: end.is_ready, SPARE_S, interrupted):
            return None
        start_s = time.monotonic()
        for pair in pairs:
            pair.client.tell()
        if not wait(pairs, lambda end: end.has_ended, settings.duration_s + SPARE_S, interrupted):
            return None
        return _measurement(net, path, pairs, start_s)


@dataclass(frozen=True)
class _EndResults:
    """The results of both ends of a pair."""

    pair: Pair
    client: iperf3.Parsed
    server: iperf3.Parsed


def _measurement(net: NetDirectory, path: MeasuredPath, pairs: Sequence[Pair], start_s: float) -> NetMeasurement:
    document = net.document
    results = [_EndResults(pair, _result(pair.client, pair), _result(pair.server, pair)) for pair in pairs]
    to_servers = path.direction == "to-servers"
    traffic_of_flows = carried(
        [_timed(result.pair, result.server if to_servers else result.client, start_s) for result in results]
    )
    if traffic_of_flows is None:
        raise CannotRun(
            "The flows of the clients overlapped for less than one interval of iperf3.",
            "Use a longer --duration, for example 30s.",
        )
    flows = [
        _flow(net, result, traffic, (result.client if to_servers else result.server).retransmits)
        for result, traffic in zip(results, traffic_of_flows, strict=True)
    ]
    rate_bits_per_s = sum(traffic.bits_per_s for traffic in traffic_of_flows)
    return NetMeasurement(
        direction=path.direction,
        clients=path.clients,
        servers=path.servers,
        rate_bits_per_s=rate_bits_per_s,
        common_s=min(traffic.duration_s for traffic in traffic_of_flows),
        flows=flows,
        remarks=remarks(flows, document, rate_bits_per_s),
    )


def _result(end: Process, pair: Pair) -> iperf3.Parsed:
    try:
        return iperf3.read(end.result().out)
    except ValueError:
        raise failure(end, pair.place.port) from None


def _timed(pair: Pair, received: iperf3.Parsed, start_s: float) -> Timed:
    # Everything was received when the first end had ended.
    end_s = min(end.ended_s for end in pair.ends if end.ended_s is not None)
    length_s = received.intervals[-1].end_s if received.intervals else 0.0
    return Timed(received.intervals, earliest_s=start_s, latest_s=max(start_s, end_s - length_s))


def _flow(net: NetDirectory, results: _EndResults, traffic: Carried, retransmits: int | None) -> Flow:
    place = results.pair.place
    return Flow(
        client=place.client.name,
        server=place.server.name,
        port=place.port,
        received_bytes=traffic.received_bytes,
        duration_s=traffic.duration_s,
        retransmits=retransmits,
        client_processor_percent=results.client.processor_percent,
        server_processor_percent=results.server.processor_percent,
        files=str(place.files.relative_to(net.path)),
    )

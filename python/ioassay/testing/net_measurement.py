"""A measurement of `ioassay net`, made from rates."""

from __future__ import annotations

from typing import Any

from ioassay.store.net_document import (
    Direction,
    Flow,
    NetDocument,
    NetHost,
    NetMeasurement,
    NetSettings,
    Remark,
    RemarkKind,
)

GBIT = 1e9


def host(name: str, *, processors: int = 16, stated_gbit: float | None = None, version: str = "3.12") -> NetHost:
    """A host that is a machine of its own."""
    return NetHost(
        name=name,
        hostname=name,
        address="10.0.0.1" if name.startswith("server") else None,
        iperf3_version=version,
        processors=processors,
        machine=name,
        stated_bits_per_s=None if stated_gbit is None else int(stated_gbit * GBIT),
    )


def flow(client: int = 0, server: int = 0, *, client_percent: float = 20, server_percent: float = 30) -> Flow:
    """A flow between two hosts of `net`."""
    return Flow(
        client=f"client{client}",
        server=f"server{server}",
        port=5201,
        received_bytes=1 << 30,
        duration_s=28.0,
        retransmits=3,
        client_processor_percent=client_percent,
        server_processor_percent=server_percent,
        files=f"iperf3/{client}-{server}",
    )


def carried(
    clients: int, servers: int, direction: Direction, rate_gbit: float, remark: RemarkKind | None = None
) -> NetMeasurement:
    """A measurement."""
    return NetMeasurement(
        direction=direction,
        clients=clients,
        servers=servers,
        rate_bits_per_s=rate_gbit * GBIT,
        common_s=28.0,
        flows=[flow(number % clients, number % servers) for number in range(max(clients, servers))],
        remarks=[Remark(kind=remark, message="it was busy")] if remark else [],
    )


def net(servers: int, *measured: Any, hosts: list[NetHost] | None = None, streams: int = 1) -> NetDocument:
    """A document with so many servers, and what `carried` takes for each measurement."""
    measurements = [carried(*arguments) for arguments in measured]
    clients = max((measurement.clients for measurement in measurements), default=1)
    return NetDocument(
        net="20260202-010000-net",
        command=["ioassay", "net"],
        ioassay_version="0.1.0",
        started="2026-02-02T01:00:00+00:00",
        ended="2026-02-02T01:03:00+00:00",
        state="complete",
        clients=hosts or [host(f"client{number}") for number in range(clients)],
        servers=[host(f"server{number}") for number in range(servers)],
        settings=NetSettings(duration_s=30, window_bytes=2 << 20, length_bytes=1 << 20, streams=streams),
        measurements=measurements,
    )

"""`net.json`: what the network between clients and servers carried, measured with iperf3.

A run that was given it keeps it whole in `run.json`. `version` rises when an old reader would misread or refuse a new
document; `upgrades` then brings the older one along. Not: reading and writing it (`net_directory`), what it means for a
rate (`analysis.ceilings`).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal

from msgspec import field

from ioassay.store import json_head
from ioassay.store.kinds import NET
from ioassay.store.states import NetState
from ioassay.store.stored_struct import Amount, Count, Moment, StoredStruct
from ioassay.text.units import format_count

Direction = Literal["to-servers", "to-clients"]
"""Where the data goes: to the servers as in a write, to the clients as in a read."""

RemarkKind = Literal["processor-bound", "below-stated-speed"]


def path_name(clients: int, servers: int, direction: Direction) -> str:
    """A path in the direction of its data: `8 clients → 1 server`, `1 server → 8 clients`."""
    ends = [format_count(clients, "client"), format_count(servers, "server")]
    return " → ".join(ends if direction == "to-servers" else reversed(ends))


class NetHost(StoredStruct, kw_only=True):
    """A host at one end."""

    name: str
    """As it was typed, of a lab's host its name there."""
    hostname: str
    """As the host calls itself."""
    address: str | None
    """The address of a server where iperf3 listened; `None` of a client."""
    iperf3_version: str
    processors: Count
    machine: str
    """The kernel's boot identifier: hosts that share it are one machine."""
    stated_bits_per_s: Count | None
    """The stated speed of its network interface, or of the link of its lab; `None`: unknown."""


class Flow(StoredStruct, kw_only=True):
    """One iperf3 client with one iperf3 server."""

    client: str
    server: str
    port: Count
    received_bytes: Count
    """The bytes that the receiving end counted while all flows were active."""
    duration_s: Amount
    """In this time."""
    retransmits: Count | None
    """Segments sent again in the whole test; `None`: unknown."""
    client_processor_percent: Amount
    """The share of a processor that iperf3 took; threads add up."""
    server_processor_percent: Amount
    files: str
    """How the names of its raw files begin."""


class Remark(StoredStruct, kw_only=True):
    """A reason to take a measurement for less than what the network can carry."""

    kind: RemarkKind
    message: str


class NetMeasurement(StoredStruct, kw_only=True):
    """The rate of some clients and some servers together, in one direction."""

    direction: Direction
    clients: Count
    """How many took part."""
    servers: Count
    rate_bits_per_s: Amount
    """Payload that arrived, over all flows while all of them were at work."""
    common_s: Amount
    """How long that was, for the flow of which it is known for the shortest time."""
    flows: list[Flow]
    remarks: list[Remark]

    @property
    def name(self) -> str:
        """The path that was measured."""
        return path_name(self.clients, self.servers, self.direction)


class NetSettings(StoredStruct, kw_only=True):
    """How iperf3 was asked. `None`: its own default."""

    duration_s: Amount
    window_bytes: Count | None
    length_bytes: Count | None
    streams: Count
    """Parallel streams of each flow."""


class NetDocument(StoredStruct, kw_only=True):
    """`net.json`."""

    checks = MappingProxyType({"started": json_head.moment, "ended": json_head.moment})

    kind: Literal["net"] = "net"
    version: int = NET.version
    net: str
    """Identifier, for example `20261122-020000-net`."""
    command: list[str]
    ioassay_version: str
    started: Moment
    """ISO 8601, UTC."""
    ended: Moment | None = None
    state: NetState = "running"
    lab: str | None = None
    """The lab whose hosts took part."""
    clients: list[NetHost]
    servers: list[NetHost]
    settings: NetSettings
    measurements: list[NetMeasurement] = field(default_factory=list)

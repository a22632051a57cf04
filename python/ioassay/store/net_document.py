"""`net.json`: what the network between clients and servers carried, measured with iperf3.

A run that is told of it keeps it whole in `run.json`. `version` rises when an old reader would misread or refuse a new
document; `upgrades` then brings the older one along. Not: reading and writing it (`net_directory`), what it means for a
rate (`analysis.ceilings`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from ioassay.store.kinds import NET
from ioassay.store.states import NetState
from ioassay.store.stored_types import Amount, Count, Moment, StoredModel
from ioassay.text.units import format_count

Direction = Literal["to-servers", "to-clients"]
"""Where the data goes: to the servers as in a write, to the clients as in a read."""

RemarkKind = Literal["processor-bound", "below-stated-speed"]


def path_name(clients: int, servers: int, direction: Direction) -> str:
    """A path in the direction of its data: `8 clients → 1 server`, `1 server → 8 clients`."""
    ends = [format_count(clients, "client"), format_count(servers, "server")]
    return " → ".join(ends if direction == "to-servers" else reversed(ends))


class _Document(StoredModel):
    model_config = ConfigDict(frozen=True)


class NetHost(_Document):
    """A host at one end."""

    name: str = Field(description="As it was typed, of a lab's host its name there.")
    hostname: str = Field(description="As the host calls itself.")
    address: str | None = Field(description="Of a server: where iperf3 listened; `None` of a client.")
    iperf3_version: str
    processors: Count
    machine: str = Field(description="The kernel's boot identifier: hosts that share it are one machine.")
    stated_bits_per_s: Count | None = Field(
        description="What its network interface, or the link of its lab, is stated to carry; `None`: unknown."
    )


class Flow(_Document):
    """One iperf3 client with one iperf3 server."""

    client: str
    server: str
    port: Count
    received_bytes: Count = Field(description="What the receiving end counted while all flows were at work.")
    duration_s: Amount = Field(description="In this time.")
    retransmits: Count | None = Field(description="Segments sent again in the whole test; `None`: unknown.")
    client_processor_percent: Amount = Field(description="What iperf3 took of a processor; threads add up.")
    server_processor_percent: Amount
    files: str = Field(description="How the names of its raw files begin.")


class Remark(_Document):
    """A reason to take a measurement for less than what the network can carry."""

    kind: RemarkKind
    message: str


class NetMeasurement(_Document):
    """What some clients and some servers carried together, in one direction."""

    direction: Direction
    clients: Count = Field(description="How many took part.")
    servers: Count
    rate_bits_per_s: Amount = Field(description="Payload that arrived, over all flows while all of them were at work.")
    common_s: Amount = Field(description="How long that was, for the flow of which it is known for the shortest time.")
    flows: list[Flow]
    remarks: list[Remark]

    @property
    def name(self) -> str:
        """The path that was measured."""
        return path_name(self.clients, self.servers, self.direction)


class NetSettings(_Document):
    """How iperf3 was asked. `None`: its own default."""

    duration_s: Amount
    window_bytes: Count | None
    length_bytes: Count | None
    streams: Count = Field(description="Parallel streams of each flow.")


class NetDocument(StoredModel):
    """`net.json`."""

    kind: Literal["net"] = "net"
    version: int = NET.version
    net: str = Field(description="Identifier, for example `20261122-020000-net`.")
    command: list[str]
    ioassay_version: str
    started: Moment = Field(description="ISO 8601, UTC.")
    ended: Moment | None = None
    state: NetState = "running"
    lab: str | None = Field(default=None, description="The lab whose hosts took part.")
    clients: list[NetHost]
    servers: list[NetHost]
    settings: NetSettings
    measurements: list[NetMeasurement] = Field(default_factory=list)

"""The places between RAID and the network: RAID controllers, SAS adapters, servers, network adapters.

Parity crosses the SAS adapters where RAID is computed in the servers, because the brick has no RAID controllers.

Not: enclosures (`enclosures`), switches (`network`).
"""

from __future__ import annotations

from typing import Literal

from ioassay.sizing.arithmetic import Value, exactly, lowest, product
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Adapter, Controller
from ioassay.sizing.model import Ceiling
from ioassay.sizing.rates.brick_io import BrickIo, ceiling_of_all, over_link

SERVER_SIDE = ("SAS adapters", "servers", "network adapters")
"""Places of which a share is gone with a server."""


def host_ceilings(io: BrickIo) -> list[Ceiling]:
    """The ceilings of each place, in the order of the path; places without figures are missing."""
    return [
        *_controllers(io),
        *_adapters(io, "storage", "SAS adapters", io.asked if io.brick.controllers else io.work.link),
        *_servers(io),
        *_adapters(io, "network", "network adapters", io.asked),
    ]


def _controllers(io: BrickIo) -> list[Ceiling]:
    counts = io.brick.controllers
    rates = {name: io.figure(name, io.kind, f"{io.rate} of {name}") for name in counts}
    ports = {name: _host_ports(io, name) for name in counts}
    return [
        *ceiling_of_all(io, "RAID controllers", counts, rates),
        *ceiling_of_all(io, "host ports of the RAID controllers", counts, ports),
    ]


def _host_ports(io: BrickIo, controller: str) -> Value | None:
    count = io.catalogue.find(controller, Controller).ports
    link = io.figure(controller, "link", f"host port of {controller}")
    if count is None or link is None:
        return None
    ports = product(f"host ports of {controller}", exactly("host ports", count), link)
    return over_link(f"{io.rate} over the host ports of {controller}", ports, io.asked)


def _adapters(io: BrickIo, side: Literal["storage", "network"], place: str, unit: Value | None) -> list[Ceiling]:
    counts = {name: count for name, count in io.brick.adapters.items() if io.catalogue.find(name, Adapter).side == side}
    rates = {name: over_link(f"{io.rate} over {name}", adapter_rate(io.catalogue, name), unit) for name in counts}
    return ceiling_of_all(io, place, counts, rates, io.servers_left)


def adapter_rate(catalogue: Catalogue, name: str) -> Value:
    """The rate of one adapter, in bytes/s: its ports, less line encoding, and no more than its slot."""
    link = catalogue.value(name, "link", f"port of {name}")
    assert link is not None  # every adapter has one
    encoding = catalogue.value(name, "encoding", "share that line encoding leaves")
    count = exactly("ports", catalogue.find(name, Adapter).ports)
    ports = product(f"ports of {name}", count, link, *filter(None, [encoding]))
    slot = catalogue.value(name, "pcie", f"slot of {name}")
    return ports if slot is None else lowest(f"rate of {name}", ports, slot)


def _servers(io: BrickIo) -> list[Ceiling]:
    key = io.kind.removeprefix("random_")
    rates: dict[str, Value | None] = {}
    for name in io.brick.servers:
        seen = io.figure(name, key, f"{key} rate of {name}")
        rates[name] = None if seen is None else over_link(f"{io.rate} of {name}", seen, io.asked)
    return ceiling_of_all(io, "servers", io.brick.servers, rates, io.servers_left)

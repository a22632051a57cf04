"""The ceilings after the bricks: switches, and the links of clients.

Of several kinds of switches, those with the fastest ports carry data; others are taken for management. Each port of
a network adapter of a brick or of a metadata module takes a port. The rest lead to the clients, which take one each;
more clients than ports are taken to be behind further switches, which is no ceiling here. Links between the switches
themselves are taken to be no limit.

Not: network adapters (`path`).
"""

from __future__ import annotations

from collections.abc import Mapping

from ioassay.errors import UsageError
from ioassay.sizing.arithmetic import Value, exactly, product
from ioassay.sizing.catalogue import Catalogue, number
from ioassay.sizing.components import Adapter, Brick, MetadataModule, Switch
from ioassay.sizing.configuration import Clients, Configuration
from ioassay.sizing.model import Ceiling
from ioassay.sizing.rates.brick_io import over_link


def network_ceilings(
    catalogue: Catalogue, configuration: Configuration, rate: str, unit: Value | None
) -> list[Ceiling]:
    """Switches and clients for a rate called `rate`, of which each operation takes `unit`; `None` means bytes."""
    return [
        *_switches(catalogue, configuration, rate, unit),
        *_clients(configuration.clients, rate, unit),
    ]


def _switches(catalogue: Catalogue, configuration: Configuration, rate: str, unit: Value | None) -> list[Ceiling]:
    links = {name: _link(catalogue, name) for name in configuration.switches}
    taken = sum(
        brick.count * network_ports(catalogue, catalogue.find(brick.brick, Brick).adapters)
        for brick in configuration.bricks
    )
    if not links or taken == 0:
        return []
    fastest = max(links.values(), key=lambda link: link.interval.nominal)
    ports = sum(
        count * catalogue.find(name, Switch).ports
        for name, count in configuration.switches.items()
        if links[name].interval == fastest.interval
    )
    of_metadata = sum(
        count * network_ports(catalogue, catalogue.find(name, MetadataModule).parts)
        for name, count in configuration.metadata.items()
    )
    free = ports - taken - of_metadata
    if free < 1:
        raise UsageError(
            f"The switches have {ports} ports; bricks and metadata modules take {taken + of_metadata} of them, "
            "which leaves none for clients.",
            "Add a switch.",
        )
    clients = configuration.clients
    to_clients = free if clients is None else min(free, clients.count)
    used = min(taken, to_clients)
    name = "switch ports to the bricks" if used == taken else "switch ports to the clients"
    carried = product("rate of the switches", exactly(name, used), fastest)
    return [Ceiling("switches", over_link(f"{rate} over the switches", carried, unit))]


def _link(catalogue: Catalogue, name: str) -> Value:
    link = catalogue.value(name, "link", f"port of {name}")
    assert link is not None  # every switch has one
    return link


def network_ports(catalogue: Catalogue, parts: Mapping[str, int]) -> int:
    """The ports of switches that a brick or metadata module of these parts takes, by their names and counts."""
    adapters = ((catalogue.entries[name].component, count) for name, count in parts.items())
    return sum(
        count * adapter.ports
        for adapter, count in adapters
        if isinstance(adapter, Adapter) and adapter.side == "network"
    )


def _clients(clients: Clients | None, rate: str, unit: Value | None) -> list[Ceiling]:
    if clients is None:
        return []
    link = number(clients.link, "link of a client", "link", {})
    together = product("rate of the clients", exactly("clients", clients.count), link)
    return [Ceiling("clients", over_link(f"{rate} of the clients", together, unit))]

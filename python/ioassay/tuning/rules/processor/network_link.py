"""Whether network links run as fast as they should."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, Source
from ioassay.tuning.system import System
from ioassay.tuning.system.network import Interface, Port, interfaces, ports

_LANES = 4
"""Of InfiniBand cables; links of one lane are what is left of them."""


def _judge(system: System) -> Iterator[Judgement]:
    every = interfaces(system.snapshot)
    physical = [one for one in every if one.is_physical and one.is_ethernet and one.is_up and one.megabits]
    active = [port for port in ports(system.snapshot) if port.is_active]
    if not physical and not active:
        yield NotApplicable("no network link of an adapter is up, or none says its speed")
    fastest = max((port.megabits for port in active), default=0)
    for port in active:
        yield _port(port, fastest)
    bonds = {name: one.name for one in every for name in one.members}
    for interface in physical:
        yield _interface(
            interface, [one for one in physical if bonds.get(one.name, one.name) == bonds.get(interface.name)]
        )


def _port(port: Port, fastest: int) -> Judgement:
    rate = port.text("rate")
    command = f"ibdiagnet, iblinkinfo; check cable and switch port of {port.name}"
    if port.is_infiniband and port.lanes is not None and port.lanes < _LANES:
        return Change(port.name, rate, f"{_LANES} lanes", "lanes of the cable are down", command=command)
    if port.is_infiniband and port.megabits < fastest:
        return Change(port.name, rate, f"{fastest / 1000:g} Gb/s", "as this node's fastest port", command=command)
    return Fine(port.name, rate or "active")


def _interface(one: Interface, bond: list[Interface]) -> Judgement:
    now = f"{one.megabits / 1000:g} Gb/s"
    command = f"ethtool {one.name}; check cable, transceiver and switch port"
    if one.text("duplex") == "half":
        return Change(one.name, f"{now}, half duplex", "full duplex", "", command=command)
    fastest = max((member.megabits for member in bond), default=0)
    if one.megabits < fastest:
        return Change(one.name, now, f"{fastest / 1000:g} Gb/s", "as other members of its bond", command=command)
    return Fine(one.name, now)


RULE = Rule(
    name="network-link",
    title="Check links that came up slower than their peers",
    area="processor and network",
    reason="A damaged cable or a wrong transceiver makes both ends agree on fewer lanes or a lower speed, which caps "
    "every transfer without any error.",
    risk="None. What an Ethernet adapter could do is not in /sys: a single link that came up slow is only found with "
    "ethtool.",
    sources=(
        Source("Linux, sysfs-class-net: speed, duplex", "https://docs.kernel.org/admin-guide/abi-testing.html"),
        Source("Linux, sysfs-class-infiniband: rate", "https://docs.kernel.org/admin-guide/abi-stable.html"),
    ),
    judge=_judge,
    parameters=("speed", "rate"),
)

"""The network of a lab: a switch, and a link from it to each host. Not: the servers and clients on it.

The switch is a bridge in the lab's own namespace. Nothing leads from there to the machine's own network.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network

from ioassay.lab.namespaces import Space
from ioassay.lab.waiting import until

_NETWORK = IPv4Network("10.86.0.0/24")
"""The network of every lab: labs are isolated, so all use the same one."""

MOST_HOSTS = _NETWORK.num_addresses - 2

_SWITCH = "switch"
_INTERFACE = "eth0"

_LEAST_BURST_BYTES = 64 << 10
_BURST_S = 0.002
"""Duration of a burst at full rate: with less than the kernel sends at once, the rate is never reached."""
_LATENCY = "20ms"


def address(number: int) -> str:
    """The address of host number `number`, from 1."""
    return str(_NETWORK[number])


def make_switch(lab: Space) -> None:
    """Creates the switch of a lab."""
    for words in ("set lo up", f"add {_SWITCH} type bridge", f"set {_SWITCH} up"):
        lab.run("ip", "link", *words.split())


def connect(lab: Space, host: Space, name: str, its_address: str, bits_per_s: int | None) -> None:
    """Connects a host to the switch, limited to `bits_per_s` in each direction unless that is `None`."""
    # The peer goes into the lab's own namespace, that of process 1, and is named after the host.
    host.run("ip", "link", "add", _INTERFACE, "type", "veth", "peer", "name", name, "netns", "1")
    host.run("ip", "address", "add", f"{its_address}/{_NETWORK.prefixlen}", "dev", _INTERFACE)
    lab.run("ip", "link", "set", name, "master", _SWITCH)
    if bits_per_s is not None:
        # A shaper limits only outgoing traffic, so each direction has its own.
        burst = max(_LEAST_BURST_BYTES, int(bits_per_s / 8 * _BURST_S))
        shaper = f"root tbf rate {bits_per_s}bit burst {burst} latency {_LATENCY}".split()
        host.run("tc", "qdisc", "add", "dev", _INTERFACE, *shaper)
        lab.run("tc", "qdisc", "add", "dev", name, *shaper)
    for space, interface in ((host, "lo"), (host, _INTERFACE), (lab, name)):
        space.run("ip", "link", "set", interface, "up")


def cut(lab: Space, host: str) -> None:
    """Takes a host's link down, as a pulled cable does."""
    lab.run_on_network("ip", "link", "set", host, "down")


def heal(lab: Space, host: str, hosts: Iterable[Space]) -> None:
    """Takes a host's link up again, and returns when all `hosts` of the lab reach each other."""
    lab.run_on_network("ip", "link", "set", host, "up")
    until(lambda: "state UP" in _link(lab, host), f"the link of {host}")
    # A host would treat neighbours that it failed to resolve as unreachable for some seconds more.
    for space in hosts:
        space.run_on_network("ip", "neighbour", "flush", "dev", _INTERFACE)


def is_cut(lab: Space, host: str) -> bool:
    return "state DOWN" in _link(lab, host)


def _link(lab: Space, host: str) -> str:
    return lab.run_on_network("ip", "-oneline", "link", "show", "dev", host)

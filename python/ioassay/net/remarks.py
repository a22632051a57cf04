"""Reasons why iperf3 may have measured less than the network can carry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ioassay.net import iperf3
from ioassay.store.net_document import Flow, NetDocument, NetHost, Remark
from ioassay.text.units import format_count

BUSY = 0.9
"""A processor busier than this share of the time is taken as the bottleneck."""

FAR_BELOW = 0.8
"""A rate below this share of the stated speed is far below it: headers alone take 6 % of small frames."""


def remarks(flows: Sequence[Flow], net: NetDocument, rate_bits_per_s: float) -> list[Remark]:
    """The remarks about flows that were measured together. `net` has their hosts and the settings of iperf3."""
    clients = {host.name: host for host in net.clients}
    servers = {host.name: host for host in net.servers}
    processor_use = [
        (end, percent)
        for flow in flows
        for end, percent in (
            (clients[flow.client], flow.client_processor_percent),
            (servers[flow.server], flow.server_processor_percent),
        )
    ]
    busy = [*_on_one_machine([(clients[flow.client], servers[flow.server]) for flow in flows])]
    busy += _busy(processor_use, net.settings.streams)
    found_remarks = [Remark(kind="processor-bound", message=text) for text in busy]
    sides = [[clients[name] for name in {flow.client for flow in flows}]]
    sides.append([servers[name] for name in {flow.server for flow in flows}])
    if text := _far_below(sides, rate_bits_per_s):
        found_remarks.append(Remark(kind="below-stated-speed", message=text))
    return found_remarks


def _on_one_machine(pairs: Sequence[tuple[NetHost, NetHost]]) -> Iterator[str]:
    """Between hosts of one machine there is no wire, and no process is charged for the kernel's work."""
    for client, server in pairs:
        if client.machine == server.machine and client.stated_bits_per_s is None:
            yield (
                f"{client.name} and {server.name} are the same machine without a link limit: this measures its "
                "processors and memory"
            )
            return


def _busy(processor_use: Sequence[tuple[NetHost, float]], streams: int) -> Iterator[str]:
    """`processor_use` is the processor use of each iperf3 in percent, with its host."""
    for host, percent in processor_use:
        processors = min(iperf3.threads(host.iperf3_version, streams), host.processors)
        if percent >= 100 * BUSY * processors:
            yield (
                f"iperf3 on {host.name} used {percent:.0f} % of a processor: this measures the processor, not the "
                "link. Use more --streams (iperf3 3.16 or newer) or more clients"
            )
    for machine in dict.fromkeys(host.machine for host, _ in processor_use):
        on_machine = [(host, percent) for host, percent in processor_use if host.machine == machine]
        host, total = on_machine[0][0], sum(percent for _, percent in on_machine)
        if total >= 100 * BUSY * host.processors:
            yield (
                f"iperf3 used {total:.0f} % of the {format_count(host.processors, 'processor')} of the machine of "
                f"{host.name}: this measures the processors, not the link. Use idle hosts"
            )


def _far_below(sides: Sequence[Sequence[NetHost]], rate_bits_per_s: float) -> str | None:
    """`sides` are the clients and the servers; a side has no stated speed unless all its hosts have one."""
    stated = [[host.stated_bits_per_s or 0 for host in hosts] for hosts in sides]
    known_speeds = [sum(speeds) for speeds in stated if all(speeds)]
    lowest = min(known_speeds, default=0)
    if not known_speeds or rate_bits_per_s >= FAR_BELOW * lowest:
        return None
    return (
        f"only {100 * rate_bits_per_s / lowest:.0f} % of the {lowest / 1e9:g} Gbit/s that the interfaces state: "
        "the window is too small, one stream is too few (--streams), or a switch is slower"
    )

"""The network's ceilings in words and tables: of `ioassay net` on the terminal, and of a run's report."""

from __future__ import annotations

from collections.abc import Sequence

from ioassay.analysis.ceilings import TOLERANCE, Ceiling
from ioassay.reports.document import Block, Column, Notes, Paragraph, Span, Table
from ioassay.store.document import RunDocument
from ioassay.store.net_document import NetDocument, NetHost, NetMeasurement
from ioassay.text import format
from ioassay.text.units import format_bytes, format_count

HEADS = ("Path", "Gbit/s", "GB/s", "Retransmits", "Client CPU", "Server CPU")


def table(net: NetDocument) -> Table:
    """A row for each path and what it carried, in the order in which they were measured."""
    columns = [Column(head, is_number=head != HEADS[0], wraps=False) for head in HEADS]
    return Table(columns, list(map(_row, net.measurements)), title="Network throughput")


def _row(measured: NetMeasurement) -> list[str]:
    again = [flow.retransmits for flow in measured.flows if flow.retransmits is not None]
    return [
        measured.name,
        format.significant(measured.rate_bits_per_s / 1e9),
        format.significant(measured.rate_bits_per_s / 8e9),
        str(sum(again)) if again else format.ABSENT,
        f"{max(flow.client_processor_percent for flow in measured.flows):.0f} %",
        f"{max(flow.server_processor_percent for flow in measured.flows):.0f} %",
    ]


def remarks(net: NetDocument) -> list[str]:
    """Every remark as a sentence, with the path that it is about."""
    return [f"{measured.name}: {remark.message}." for measured in net.measurements for remark in measured.remarks]


def method(net: NetDocument) -> list[str]:
    """The method of the measurement, in sentences."""
    settings = net.settings
    asked = [f"{settings.duration_s:g} s each"]
    if settings.window_bytes is not None:
        asked.append(f"windows of {format_bytes(settings.window_bytes)}")
    if settings.length_bytes is not None:
        asked.append(f"calls of {format_bytes(settings.length_bytes)}")
    asked.append(f"{format_count(settings.streams, 'stream')} per client")
    versions = " and ".join(sorted({host.iperf3_version for host in (*net.clients, *net.servers)}))
    return [
        f"Measured with iperf3 {versions} on {format.moment(net.started)} (UTC), {', '.join(asked)}; clients "
        f"{_names(net.clients)}, servers {_names(net.servers)}. Payload counted by the receiver; of several flows, "
        "only the time in which all of them ran.",
    ]


def meaning(document: RunDocument, net: NetDocument) -> list[str]:
    """How the rates of a run relate to the ceilings, in sentences."""
    sentences = [
        "Each rate is shown as a share of its ceiling: the lowest of the network measurements in the direction of its "
        "data, each scaled up to the clients and servers that took part. A rate more than "
        f"{format.share(TOLERANCE)} above its ceiling is doubted.",
    ]
    nodes = {str(node.get("host")) for node in document.environment}
    known = {name for host in net.clients for name in (host.name, host.hostname)}
    if others := sorted(nodes - known):
        are = "is not among the clients" if len(others) == 1 else "are not among the clients"
        sentences.append(f"{', '.join(others)} {are} of the network measurement.")
    return sentences


def of_the_ceiling(rate_bytes_per_s: float, ceiling: Ceiling) -> str:
    """A rate as a share of a ceiling, where there is little room: `95 % of the ceiling`."""
    return f"{format.share(rate_bytes_per_s / ceiling.rate_bytes_per_s)} of the ceiling"


def share(rate_bytes_per_s: float, ceiling: Ceiling) -> str:
    """A rate as a share of a ceiling: `95 % of 1.18 GB/s, 4 × (1 client → 1 server)`."""
    part = format.share(rate_bytes_per_s / ceiling.rate_bytes_per_s)
    return f"{part} of {format.rate(ceiling.rate_bytes_per_s)}, {ceiling.name}"


def summary(net: NetDocument) -> list[Block]:
    """The blocks at the end of `ioassay net`."""
    return [table(net), Notes(remarks(net)), *(Paragraph(Span(text, "faint")) for text in method(net))]


def _names(hosts: Sequence[NetHost]) -> str:
    names = [host.name for host in hosts]
    return ", ".join(names) if len(names) <= 4 else f"{names[0]} to {names[-1]} ({len(names)})"

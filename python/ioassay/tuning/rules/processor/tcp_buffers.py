"""How much TCP can have under way."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, Source, missing
from ioassay.tuning.system import System
from ioassay.tuning.system.network import interfaces
from ioassay.tuning.system.numbers import is_whole

_FAST_MEGABITS = 25_000
_ROUND_TRIP_S = 0.001
"""A busy network within a building; an idle one takes a tenth."""


def _judge(system: System) -> Iterator[Judgement]:
    link = max((one.megabits for one in interfaces(system.snapshot) if one.is_ethernet and one.is_up), default=0)
    if link < _FAST_MEGABITS:
        yield NotApplicable("no Ethernet link of 25 Gb/s or more is up")
        return
    under_way = int(link * 1e6 / 8 * _ROUND_TRIP_S)
    # The kernel counts its overhead as well, so that about half of a buffer is data.
    wanted = 1 << (2 * under_way - 1).bit_length()
    for name in ("tcp_rmem", "tcp_wmem"):
        yield _buffer(
            system, name, wanted, f"{link / 1000:g} Gb/s × {_ROUND_TRIP_S * 1000:g} ms = {under_way >> 10} KiB"
        )


def _buffer(system: System, name: str, wanted: int, because: str) -> Judgement:
    path = f"proc/sys/net/ipv4/{name}"
    words = (system.snapshot.text(path) or "").split()
    if len(words) != 3 or not is_whole(words[2]):
        return missing(f"/{path}")
    subject, most = f"{name} of {system.host}", int(words[2])
    if most >= wanted:
        return Fine(subject, f"up to {most >> 10} KiB")
    assignment = Assignment(f"sysctl:net.ipv4.{name}", f"{words[0]} {words[1]} {wanted}")
    return Change(subject, f"up to {most >> 10} KiB", f"up to {wanted >> 10} KiB", because, (assignment,))


RULE = Rule(
    name="tcp-buffers",
    title="Let TCP have twice the bandwidth-delay product under way",
    area="processor and network",
    reason="A connection transfers at most one window a round trip, and its window is at most about half of its "
    "buffer. On fast links with some queueing the default maximum of 4 to 6 MiB caps a single connection.",
    risk="Memory for each connection that needs it; deep buffers add queueing latency. The round trip is assumed, not "
    "measured: 1 ms. Guides for long-distance transfers name 64 MiB to 2 GiB, far more than a storage network needs. "
    "Programs that set SO_RCVBUF go by net.core.rmem_max instead.",
    sources=(
        Source("Linux, IP sysctl: tcp_rmem, tcp_wmem", "https://docs.kernel.org/networking/ip-sysctl.html"),
        Source("ESnet, Linux host tuning", "https://fasterdata.es.net/host-tuning/linux/"),
    ),
    judge=_judge,
    parameters=("tcp_rmem", "tcp_wmem"),
)

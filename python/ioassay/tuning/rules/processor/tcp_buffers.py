"""How much TCP can have under way."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Bounds, Change, Fine, Judgement, NotApplicable, Rule, Source, missing
from ioassay.tuning.system import System
from ioassay.tuning.system.network import interfaces
from ioassay.tuning.system.numbers import is_whole

_FAST_MEGABITS = 25_000
_ROUND_TRIP_S = 0.001
"""A busy network within a building; an idle one takes a tenth."""
_TCP_INIT = Source(
    "Linux 6.1, net/ipv4/tcp.c: tcp_init, the least that the kernel takes on the smallest machine",
    "https://github.com/torvalds/linux/blob/v6.1/net/ipv4/tcp.c",
)
_BELOW = "a connection has less under way than the kernel allows on the smallest machine"
_BOUNDS = {
    "tcp_rmem": Bounds(_TCP_INIT, least=131072, below=_BELOW, unit="bytes as its maximum"),
    "tcp_wmem": Bounds(_TCP_INIT, least=65536, below=_BELOW, unit="bytes as its maximum"),
}
_DEFAULT_BYTES = 4 << 20
"""What a node with enough memory has by itself."""


def _judge(system: System) -> Iterator[Judgement]:
    link = max((one.megabits for one in interfaces(system.snapshot) if one.is_ethernet and one.is_up), default=0)
    if link < _FAST_MEGABITS:
        found: list[Judgement] = [one for name in _BOUNDS if (one := _tiny(system, name)) is not None]
        yield from found or [NotApplicable("no Ethernet link of 25 Gb/s or more is up")]
        return
    under_way = int(link * 1e6 / 8 * _ROUND_TRIP_S)
    # The kernel counts its overhead as well, so that about half of a buffer is data.
    wanted = 1 << (2 * under_way - 1).bit_length()
    for name in ("tcp_rmem", "tcp_wmem"):
        yield _buffer(
            system, name, wanted, f"{link / 1000:g} Gb/s × {_ROUND_TRIP_S * 1000:g} ms = {under_way >> 10} KiB"
        )


def _words(system: System, name: str) -> list[str]:
    """The least, the first and the largest size of the buffer; nothing where the snapshot has no three numbers."""
    words = (system.snapshot.text(f"proc/sys/net/ipv4/{name}") or "").split()
    return words if len(words) == 3 and all(map(is_whole, words)) else []


def _tiny(system: System, name: str) -> Judgement | None:
    """A change where the buffer is too small for any node."""
    words = _words(system, name)
    if not words or not (breach := _BOUNDS[name].breach(int(words[2]))):
        return None
    return _change(system, name, words, _DEFAULT_BYTES, breach)


def _change(system: System, name: str, words: list[str], wanted: int, because: str) -> Change:
    assignment = Assignment(f"sysctl:net.ipv4.{name}", f"{words[0]} {words[1]} {wanted}")
    return Change(
        f"{name} of {system.host}",
        f"up to {int(words[2]) >> 10} KiB",
        f"up to {wanted >> 10} KiB",
        because,
        (assignment,),
        is_harmful=bool(_BOUNDS[name].breach(int(words[2]))),
    )


def _buffer(system: System, name: str, wanted: int, because: str) -> Judgement:
    path = f"proc/sys/net/ipv4/{name}"
    words = _words(system, name)
    if not words:
        return missing(f"/{path}")
    most = int(words[2])
    if most >= wanted:
        return Fine(f"{name} of {system.host}", f"up to {most >> 10} KiB")
    return _change(system, name, words, wanted, because)


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
    bounds=_BOUNDS,
)

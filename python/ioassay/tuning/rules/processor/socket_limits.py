"""Limits of the network stack that no node works well beyond."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Bounds, Change, Judgement, NotApplicable, Rule, Source, missing
from ioassay.tuning.system import System

_NET = Source("Linux, Documentation for /proc/sys/net", "https://docs.kernel.org/admin-guide/sysctl/net.html")
_IP = Source("Linux, IP sysctl: tcp_window_scaling, tcp_sack", "https://docs.kernel.org/networking/ip-sysctl.html")
_WINDOW = "a socket whose program sets its buffer has less under way than a TCP window without scaling, 64 KiB"
_BOUNDS = {
    "rmem_max": Bounds(_NET, least=65536, below=_WINDOW, unit="bytes"),
    "wmem_max": Bounds(_NET, least=65536, below=_WINDOW, unit="bytes"),
    "netdev_max_backlog": Bounds(
        _NET,
        least=64,
        below="packets are dropped although the driver hands over as many in one go (dev_weight 64)",
        unit="packets",
    ),
    "tcp_window_scaling": Bounds(_IP, least=1, below="no connection has more than 64 KiB under way"),
    "tcp_sack": Bounds(_IP, least=1, below="after one lost packet a connection sends all that follow it again"),
}
_WANTED = {"rmem_max": 212992, "wmem_max": 212992, "netdev_max_backlog": 1000, "tcp_window_scaling": 1, "tcp_sack": 1}
"""Of sockets and the backlog Linux 6.1's own values."""


def _judge(system: System) -> Iterator[Judgement]:
    within, lacking = [], []
    for name, bounds in _BOUNDS.items():
        where = "ipv4" if name.startswith("tcp_") else "core"
        now = system.snapshot.number(f"proc/sys/net/{where}/{name}")
        if now is None:
            lacking.append(f"/proc/sys/net/{where}/{name}")
        elif breach := bounds.breach(now):
            assignment = Assignment(f"sysctl:net.{where}.{name}", str(_WANTED[name]))
            subject = f"{name} of {system.host}"
            yield Change(subject, str(now), str(_WANTED[name]), breach, (assignment,), is_harmful=True)
        else:
            within.append(name)
    if lacking:
        yield missing(", ".join(lacking))
    if within:
        yield NotApplicable(f"{', '.join(within)}: within the bounds for any node; see tcp-buffers for more")


RULE = Rule(
    name="socket-limits",
    title="Keep limits of the network stack at least where the kernel begins",
    area="processor and network",
    reason="A buffer smaller than a window, or a backlog smaller than what a driver hands over, holds every client and "
    "server back, whatever the network can do.",
    risk="Memory for each socket of programs that ask for the maximum.",
    sources=(_NET, _IP),
    judge=_judge,
    parameters=tuple(_BOUNDS),
    bounds=_BOUNDS,
)

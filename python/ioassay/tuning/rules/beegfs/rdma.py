"""Whether clients and servers use RDMA where the node has it."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, each, missing
from ioassay.tuning.rules.beegfs.sources import (
    CLIENT_FILE,
    CLIENT_TUNING,
    META_FILE,
    NO_CLIENT,
    NO_DAEMON,
    STORAGE_FILE,
)
from ioassay.tuning.system import System
from ioassay.tuning.system.beegfs import Service, clients, daemons
from ioassay.tuning.system.network import ports


def _judge(system: System) -> Iterator[Judgement]:
    services = [*clients(system), *daemons(system, "meta"), *daemons(system, "storage")]
    if not services:
        yield NotApplicable(f"{NO_CLIENT}; {NO_DAEMON}")
        return
    active = [port.name for port in ports(system.snapshot) if port.is_active]
    if not active:
        yield NotApplicable("no RDMA port is active")
        return
    yield from each(services, lambda service: _service(service, active))


def _service(service: Service, active: list[str]) -> Iterator[Judgement]:
    now = service.flag("connUseRDMA")
    if now is None:
        yield missing(f"connUseRDMA of {service.name}")
    elif now:
        yield Fine(service.name, f"RDMA, over {', '.join(active)} where the server has it, too")
    else:
        because = f"{', '.join(active)} can carry RDMA, and TCP costs copies and processor time"
        yield Change(service.name, "TCP", "RDMA", because, command=service.change("connUseRDMA", "true"))


RULE = Rule(
    name="beegfs-rdma",
    title="Use RDMA for BeeGFS where InfiniBand or RoCE is",
    area="BeeGFS",
    reason="connUseRDMA is on by default; without it all traffic is TCP, on InfiniBand through IP over InfiniBand.",
    risk="The client module has to be built with RDMA, servers need libbeegfs-ib. connTCPFallbackEnabled hides RDMA "
    "that fails: look at the connections with beegfs-net.",
    sources=(CLIENT_TUNING, CLIENT_FILE, META_FILE, STORAGE_FILE),
    judge=_judge,
    parameters=("connUseRDMA",),
)

"""How an NFS server's threads share processors."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, Source, missing
from ioassay.tuning.rules.nfs.sources import KERNEL_PARAMETERS, NO_SERVER
from ioassay.tuning.system import System
from ioassay.tuning.system.nfs import NfsServer
from ioassay.tuning.system.processors import nodes


def _judge(system: System) -> Iterator[Judgement]:
    server = NfsServer(system.snapshot)
    if not server.is_running:
        yield NotApplicable(NO_SERVER)
        return
    numa_nodes = len(nodes(system.snapshot))
    if numa_nodes < 2:
        yield NotApplicable("this node has one NUMA node, where all modes but percpu are alike")
        return
    now = server.pool_mode
    if now is None:
        yield missing("/sys/module/sunrpc/parameters/pool_mode")
    elif now == "global":
        command = (
            "systemctl stop nfs-server; echo pernode > /sys/module/sunrpc/parameters/pool_mode; "
            "systemctl start nfs-server"
        )
        yield Change(system.host, now, "pernode", f"it has {numa_nodes} NUMA nodes", command=command)
    else:
        yield Fine(system.host, now)


RULE = Rule(
    name="nfs-server-pool-mode",
    title="Give each NUMA node of an NFS server its own threads",
    area="NFS",
    reason="With one pool a thread on another NUMA node serves what an adapter received, so data crosses between "
    "processors; with a pool per node it stays where the interrupt came in.",
    risk="The threads are divided among the pools: with interrupts on one node only, the others idle. It can only be "
    "changed while the server is stopped. Linux is about to drop the choice and always use pernode.",
    sources=(
        KERNEL_PARAMETERS,
        Source(
            "Linux, knfsd statistics: /proc/fs/nfsd/pool_stats",
            "https://docs.kernel.org/filesystems/nfs/knfsd-stats.html",
        ),
    ),
    judge=_judge,
    parameters=("pool_mode",),
)

"""Where the daemon's memory lies."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule
from ioassay.tuning.rules.gpfs.sources import MMCHCONFIG, NO_GPFS, PROTOCOL_NODES
from ioassay.tuning.system import System
from ioassay.tuning.system.gpfs import gpfs_config
from ioassay.tuning.system.processors import nodes


def _judge(system: System) -> Iterator[Judgement]:
    config = gpfs_config(system.snapshot)
    if config is None:
        yield NotApplicable(NO_GPFS)
        return
    numa_nodes = len(nodes(system.snapshot))
    now = config.text("numaMemoryInterleave") or "no"
    if numa_nodes < 2:
        yield NotApplicable("this node has one NUMA node")
    elif now == "yes":
        yield Fine(system.host, now)
    else:
        command = f"mmchconfig numaMemoryInterleave=yes -N {system.host}"
        yield Change(system.host, now, "yes", f"it has {numa_nodes} NUMA nodes", command=command)


RULE = Rule(
    name="gpfs-numa-interleave",
    title="Spread the page pool of GPFS over NUMA nodes",
    area="GPFS",
    reason="The daemon allocates its page pool at once; without interleaving it fills one NUMA node, whose memory "
    "bandwidth then limits all transfers and whose processes find no local memory.",
    risk="It takes effect when GPFS restarts on the node. On average more accesses are remote than with a page pool "
    "on the adapter's own node.",
    sources=(MMCHCONFIG, PROTOCOL_NODES),
    judge=_judge,
    parameters=("numaMemoryInterleave",),
)

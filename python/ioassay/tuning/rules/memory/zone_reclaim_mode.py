"""Whether a NUMA node drops its page cache rather than use memory of another."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule
from ioassay.tuning.rules.sources import BEEGFS_STORAGE, VM_SYSCTL
from ioassay.tuning.system import System


def _judge(system: System) -> Iterator[Judgement]:
    now = system.snapshot.number("proc/sys/vm/zone_reclaim_mode")
    if now is None:
        yield NotApplicable("the machine has one NUMA node, or its kernel has no vm.zone_reclaim_mode")
    elif now == 0:
        yield Fine(system.host, "0")
    else:
        yield Change(system.host, str(now), "0", assignments=(Assignment("sysctl:vm.zone_reclaim_mode", "0"),))


RULE = Rule(
    name="zone-reclaim-mode",
    title="Use the memory of all NUMA nodes for the page cache",
    area="memory",
    reason="With zone reclaim a NUMA node drops cached file data while other nodes have free memory. For file servers, "
    "and wherever data is read again, the cache is worth more than local memory.",
    risk="Programs that are bound to a NUMA node may get memory of another one. BeeGFS's guide recommends 1 for its "
    "storage servers, against the kernel's documentation.",
    sources=(VM_SYSCTL, BEEGFS_STORAGE),
    judge=_judge,
    parameters=("zone_reclaim_mode",),
)

"""Whether a pool is whole and idle."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule, Source, each
from ioassay.tuning.rules.zfs.sources import NO_ZFS
from ioassay.tuning.system import System
from ioassay.tuning.system.zfs import Pool, is_used, pools


def _judge(system: System) -> Iterator[Judgement]:
    if not is_used(system):
        yield NotApplicable(NO_ZFS)
    else:
        yield from each(pools(system), _pool, otherwise=NO_ZFS)


def _pool(pool: Pool) -> Iterator[Judgement]:
    if not pool.state:
        yield NotReadable(f"state of {pool.name}", "zpool status does not say it")
        return
    found = [pool.state] if pool.state != "ONLINE" else []
    found += [one.partition(" since")[0] for one in pool.activities if " in progress" in one]
    if found:
        because = "what is measured now is not what the pool can do"
        command = f"zpool status {pool.name}; wait with: zpool wait -t resilver,scrub {pool.name}"
        yield Change(pool.name, ", ".join(found), "ONLINE, idle", because, command=command)
    else:
        yield Fine(pool.name, "ONLINE, idle")


RULE = Rule(
    name="zfs-pool-completeness",
    title="Measure pools only when they are whole and idle",
    area="ZFS",
    reason="A degraded vdev computes missing data from its other disks at each read; a resilver or a scrub reads all "
    "data beside the measurement.",
    risk="None: replace the disk and wait. A scrub can be paused with: zpool scrub -p POOL.",
    sources=(
        Source("OpenZFS 2.3, zpool-status(8)", "https://openzfs.github.io/openzfs-docs/man/v2.3/8/zpool-status.8.html"),
        Source("OpenZFS 2.3, zpool-scrub(8)", "https://openzfs.github.io/openzfs-docs/man/v2.3/8/zpool-scrub.8.html"),
    ),
    judge=_judge,
    parameters=("state", "scan"),
)

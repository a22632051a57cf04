"""How full a pool is."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule, each
from ioassay.tuning.rules.zfs.sources import NO_ZFS, ZFS_WORKLOADS, ZPOOL_PROPERTIES
from ioassay.tuning.system import System
from ioassay.tuning.system.zfs import Pool, is_used, pools

_MOST_PERCENT = 90


def _judge(system: System) -> Iterator[Judgement]:
    if not is_used(system):
        yield NotApplicable(NO_ZFS)
    else:
        yield from each(pools(system), _pool, otherwise=NO_ZFS)


def _pool(pool: Pool) -> Iterator[Judgement]:
    used, fragmentation = pool.number("capacity"), pool.number("fragmentation")
    if used is None:
        yield NotReadable(f"capacity of {pool.name}", "zpool get does not list it")
        return
    text = f"{used} % used" + (f", free space {fragmentation} % fragmented" if fragmentation is not None else "")
    if used > _MOST_PERCENT:
        because = "rates are lower than those of the same pool with space"
        yield Change(
            pool.name, text, f"at most {_MOST_PERCENT} % used", because, command=f"zfs list -o space -r {pool.name}"
        )
    else:
        yield Fine(pool.name, text)


RULE = Rule(
    name="zfs-pool-space",
    title="Keep 10 % of a pool free",
    area="ZFS",
    reason="Where less than 4 % of a metaslab is free, ZFS looks for the best place rather than the first, which "
    "costs processor time and IOPS; with 10 % of the pool free few metaslabs get there.",
    risk="None but the space.",
    sources=(ZFS_WORKLOADS, ZPOOL_PROPERTIES),
    judge=_judge,
    parameters=("capacity", "fragmentation"),
)

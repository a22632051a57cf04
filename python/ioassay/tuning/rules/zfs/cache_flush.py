"""Whether ZFS makes disks keep what it commits."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, missing
from ioassay.tuning.rules.zfs.sources import NO_ZFS, ZFS_MODULE
from ioassay.tuning.system import System
from ioassay.tuning.system.zfs import is_used

_PARAMETERS = "sys/module/zfs/parameters"
_SETTINGS = {
    "zfs_nocacheflush": "a power failure with volatile write caches corrupts the pool",
    "zil_nocacheflush": "a power failure with volatile write caches loses what fsync() confirmed",
}


def _judge(system: System) -> Iterator[Judgement]:
    if not is_used(system):
        yield NotApplicable(NO_ZFS)
        return
    for name, because in _SETTINGS.items():
        now = system.snapshot.number(f"{_PARAMETERS}/{name}")
        if now is None:
            yield missing(f"/{_PARAMETERS}/{name}")
        elif now:
            yield Change(name, str(now), "0", because, (Assignment(f"module:zfs/{name}", "0"),))
        else:
            yield Fine(name, "0")


RULE = Rule(
    name="zfs-cache-flush",
    title="Let ZFS flush the write caches of disks",
    area="ZFS",
    reason="ZFS orders its writes by flushing the disks' caches. Without flushes a power failure can leave later "
    "writes on disk and lose earlier ones, and rates include data that no disk has.",
    risk="fsync() becomes as slow as the disks are. The manual allows it where every write cache survives a power "
    "failure; such devices complete flushes at once, so that little is gained.",
    sources=(ZFS_MODULE,),
    judge=_judge,
    parameters=("zfs_nocacheflush", "zil_nocacheflush"),
    weight="large",
    weight_reason="a power failure can corrupt the pool",
)

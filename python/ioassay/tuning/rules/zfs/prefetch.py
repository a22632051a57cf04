"""Whether ZFS reads ahead."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, missing
from ioassay.tuning.rules.zfs.sources import NO_ZFS, ZFS_MODULE
from ioassay.tuning.system import System
from ioassay.tuning.system.zfs import is_used

_PARAMETERS = "sys/module/zfs/parameters"


def _judge(system: System) -> Iterator[Judgement]:
    if not is_used(system):
        yield NotApplicable(NO_ZFS)
        return
    now = system.snapshot.number(f"{_PARAMETERS}/zfs_prefetch_disable")
    if now is None:
        yield missing(f"/{_PARAMETERS}/zfs_prefetch_disable")
    elif now:
        because = "sequential readers wait for the disks at every record"
        assignment = Assignment("module:zfs/zfs_prefetch_disable", "0")
        yield Change(system.host, "no prefetch", "prefetch", because, (assignment,))
    else:
        yield Fine(system.host, "prefetch")


RULE = Rule(
    name="zfs-prefetch",
    title="Let ZFS prefetch",
    area="ZFS",
    reason="ZFS detects streams of reads and fetches up to 64 MiB ahead of each (zfetch_max_distance).",
    risk="Purely random readers fetch some data in vain. Turn it off for them only after a measurement.",
    sources=(ZFS_MODULE,),
    judge=_judge,
    parameters=("zfs_prefetch_disable",),
)

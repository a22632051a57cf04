"""How free space is found."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, Rule, each
from ioassay.tuning.rules.btrfs.sources import BTRFS_MANUAL, NO_BTRFS, judged
from ioassay.tuning.system import System
from ioassay.tuning.system.btrfs import BtrfsFileSystem


def _judge(system: System) -> Iterator[Judgement]:
    return each(judged(system), _file_system, otherwise=NO_BTRFS)


def _file_system(one: BtrfsFileSystem) -> Iterator[Judgement]:
    point = one.mount.point
    now = one.mount.options.get("space_cache")
    if now == "v2":
        yield Fine(point, "space_cache=v2")
    else:
        value = "nospace_cache" if now is None else "space_cache=v1"
        command = f"umount {point} && mount -o clear_cache,space_cache=v2 {point}, once: it is kept"
        yield Change(point, value, "space_cache=v2", "", command=command)


RULE = Rule(
    name="btrfs-space-cache",
    title="Keep free space in a tree (space_cache=v2)",
    area="btrfs",
    reason="On file systems of many terabytes the first cache of free space can slow drastically; its successor keeps "
    "free space in a tree of its own, and is the default of new file systems since btrfs-progs 5.15.",
    risk="Kernels before 4.5 then mount it read-only. The first mount takes long while the tree is built.",
    sources=(BTRFS_MANUAL,),
    judge=_judge,
    parameters=("space_cache", "nospace_cache"),
)

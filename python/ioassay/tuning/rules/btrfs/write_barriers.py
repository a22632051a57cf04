"""Whether btrfs makes devices keep what it commits."""

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
    if "nobarrier" in one.mount.options:
        because = "a power failure with volatile write caches most certainly leaves a corrupt file system"
        command = f"mount -o remount,barrier {point}, and take nobarrier out of /etc/fstab"
        yield Change(point, "nobarrier", "barrier", because, command=command)
    else:
        yield Fine(point, "barrier")


RULE = Rule(
    name="btrfs-write-barriers",
    title="Leave write barriers of btrfs on",
    area="btrfs",
    reason="Btrfs flushes the devices' caches before it writes a superblock; without that a superblock can point to "
    "metadata that was never written.",
    risk="fsync() becomes as slow as the devices are. The manual allows nobarrier where a battery protects every "
    "write cache. Rates with and without barriers are not comparable.",
    sources=(BTRFS_MANUAL,),
    judge=_judge,
    parameters=("barrier", "nobarrier"),
    weight="large",
    weight_reason="a power failure corrupts the file system",
)

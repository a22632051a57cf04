"""Into how many parts XFS is divided."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.text.units import format_size
from ioassay.tuning.rule import Change, Fine, Judgement, Rule, each, missing
from ioassay.tuning.rules.filesystem.geometry import MKFS_XFS, NO_XFS, of_type
from ioassay.tuning.system import System, block
from ioassay.tuning.system.filesystem import xfs_info
from ioassay.tuning.system.mounts import Mount

_SMALL_GROUP = 1 << 30
_LARGE = 1 << 40
_MOST = 32
"""More than so many are not asked for, whatever the number of processors."""


def _judge(system: System) -> Iterator[Judgement]:
    return each(of_type(system, "xfs"), lambda mount: _mount(system, mount), otherwise=NO_XFS)


def _mount(system: System, mount: Mount) -> Iterator[Judgement]:
    info = xfs_info(system.snapshot, mount)
    if info is None:
        yield missing(f"xfs_info {mount.point}")
        return
    device = block.by_number(system.devices, mount.device)
    size = info.blocks * info.block_bytes
    processors = system.processors
    now = f"{info.group_count} groups of {format_size(info.group_bytes)}"
    if size >= _LARGE and info.group_bytes < _SMALL_GROUP:
        because = "it was made small and has grown"
        command = f"mkfs.xfs {mount.source}, which erases it"
        yield Change(mount.point, now, "groups of up to 1 TiB", because, command=command)
    elif info.group_count < (wanted := min(processors, _MOST)) and device is not None and device.medium != "hdd":
        because = f"{processors} processors allocate in {info.group_count} groups"
        command = f"mkfs.xfs -d agcount={wanted} {mount.source}, which erases it"
        yield Change(mount.point, now, f"{wanted} groups", because, command=command)
    else:
        yield Fine(mount.point, now)


RULE = Rule(
    name="xfs-allocation-groups",
    title="Divide XFS on flash or RAID into as many groups as processors write",
    area="file system",
    reason="Each allocation group has its own locks for space and inodes; more writers than groups wait for each "
    "other. An image that was grown to many times its size has thousands of small groups instead, which fragment "
    "large files.",
    risk="The size of groups is fixed when the file system is made: all data has to be restored. On single hard disks "
    "more groups only add seeks.",
    sources=(MKFS_XFS,),
    judge=_judge,
    parameters=("agcount", "agsize"),
)

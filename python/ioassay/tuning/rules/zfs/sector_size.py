"""Whether blocks of ZFS are whole sectors of the disks."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule, each
from ioassay.tuning.rules.zfs.sources import NO_ZFS, ZFS_WORKLOADS, ZPOOL_PROPERTIES
from ioassay.tuning.system import System, block
from ioassay.tuning.system.zfs import Pool, is_used, pools, sector_exponents


def _judge(system: System) -> Iterator[Judgement]:
    if not is_used(system):
        yield NotApplicable(NO_ZFS)
    else:
        yield from each(pools(system), lambda pool: _pool(pool, system), otherwise=NO_ZFS)


def _pool(pool: Pool, system: System) -> Iterator[Judgement]:
    exponents = sector_exponents(system, pool)
    if not exponents:
        yield NotReadable(
            f"ashift of {pool.name}",
            "it was detected when the pool was made, and OpenZFS before 2.2 lists it in zdb -C only",
        )
        return
    largest, disk = 0, ""
    for path in (path for vdev in pool.vdevs for path in vdev.disks):
        device = block.by_path(system.devices, system.snapshot, path)
        sector = device.queue("physical_block_size") if device is not None else None
        if sector is not None and sector > largest:
            largest, disk = sector, device.name if device is not None else ""
    if not largest:
        yield NotReadable(f"sectors of the disks of {pool.name}", "the snapshot has none of its disks")
        return
    for name, ashift in exponents.items():
        subject = pool.name if name == pool.name else f"{pool.name} {name}"
        now = f"ashift {ashift} ({1 << ashift} bytes)"
        if 1 << ashift < largest:
            wanted = largest.bit_length() - 1
            because = f"{disk} has sectors of {largest} bytes, and reads one first where it writes a part of it"
            command = f"make the vdev anew: zpool create -o ashift={wanted} …; it cannot be changed"
            yield Change(subject, now, f"ashift {wanted} ({largest} bytes)", because, command=command)
        else:
            yield Fine(subject, now)


RULE = Rule(
    name="zfs-sector-size",
    title="Make pools with an ashift of at least the disks' physical sectors",
    area="ZFS",
    reason="2^ashift is the smallest I/O of a vdev; below the physical sector each small write makes the disk read a "
    "sector and write it again.",
    risk="All data has to be copied to a new vdev. A larger ashift wastes space with small blocks, most of all on "
    "RAID-Z. Disks that report 512 bytes and have 4096 are not seen here.",
    sources=(ZPOOL_PROPERTIES, ZFS_WORKLOADS),
    judge=_judge,
    parameters=("ashift",),
)

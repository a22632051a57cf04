"""What is stored on special vdevs, and what their loss costs."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.text.units import format_bytes
from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, Source, each
from ioassay.tuning.rules.zfs.sources import NO_ZFS, ZFS_CONCEPTS, ZFS_PROPERTIES
from ioassay.tuning.system import System
from ioassay.tuning.system.zfs import Dataset, Pool, concerned, is_used, pools


def _judge(system: System) -> Iterator[Judgement]:
    if not is_used(system):
        yield NotApplicable(NO_ZFS)
        return
    special = [pool for pool in pools(system) if any(vdev.use == "special" for vdev in pool.vdevs)]
    if not special:
        yield NotApplicable("no pool has a special vdev")
        return
    yield from each(special, _pool)
    names = {pool.name for pool in special}
    sets = [one for one in concerned(system, "special_small_blocks") if one.pool in names]
    yield from each(sets, _dataset)


def _pool(pool: Pool) -> Iterator[Judgement]:
    for vdev in pool.vdevs:
        if vdev.use != "special":
            continue
        now = f"{vdev.name} survives {vdev.failures} failed disks"
        if vdev.failures < pool.failures:
            because = "the pool is lost with its special vdev, which holds the metadata"
            command = f"zpool attach {pool.name} {vdev.disks[0] if vdev.disks else vdev.name} DISK"
            yield Change(f"{pool.name} special", now, f"{pool.failures}, as its data", because, command=command)
        else:
            yield Fine(f"{pool.name} special", now)


def _dataset(one: Dataset) -> Iterator[Judgement]:
    small, record = one.number("special_small_blocks"), one.number("recordsize")
    if small and record and small >= record:
        because = f"records are of {format_bytes(record)}, so all data goes there until it is full"
        command = f"zfs set special_small_blocks={record // 2} {one.name}"
        yield Change(one.name, format_bytes(small), f"at most {format_bytes(record // 2)}", because, command=command)
    elif small is not None:
        yield Fine(one.name, f"blocks up to {format_bytes(small)}" if small else "metadata only")


RULE = Rule(
    name="zfs-special-vdev",
    title="Make special vdevs as redundant as the data, and keep large blocks off them",
    area="ZFS",
    reason="The special class holds all metadata, so that its loss is the pool's; what is full spills into the normal "
    "class. Blocks up to special_small_blocks go there, which are all blocks where it is not below recordsize.",
    risk="A special vdev can be removed only from pools without RAID-Z. The smaller threshold holds for new data.",
    sources=(
        ZFS_CONCEPTS,
        ZFS_PROPERTIES,
        Source("OpenZFS 2.3, zpool-remove(8)", "https://openzfs.github.io/openzfs-docs/man/v2.3/8/zpool-remove.8.html"),
    ),
    judge=_judge,
    parameters=("special_small_blocks",),
)

"""Whether ext4 knows the stripe of the RAID below."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, Source, each, missing
from ioassay.tuning.rules.filesystem.geometry import EXT4_MANUAL, NO_ARRAY, NO_EXT4, geometry, of_type
from ioassay.tuning.system import System
from ioassay.tuning.system.filesystem import Stripe, ext_superblock
from ioassay.tuning.system.mounts import Mount


def _judge(system: System) -> Iterator[Judgement]:
    return each(of_type(system, "ext4"), lambda mount: _mount(system, mount), otherwise=NO_EXT4)


def _mount(system: System, mount: Mount) -> Iterator[Judgement]:
    array = geometry(system, mount)
    if array is None:
        yield NotApplicable(f"{mount.point}: {NO_ARRAY}")
        return
    superblock = ext_superblock(system.snapshot, mount)
    if superblock is None:
        yield missing(f"dumpe2fs -h {mount.source}")
        return
    wanted, block_bytes = Stripe(array.chunk_bytes, array.stripe_bytes), superblock.block_bytes
    if superblock.stripe == wanted:
        yield Fine(mount.point, f"stride {wanted.unit_bytes >> 10} KiB, stripe {wanted.width_bytes >> 10} KiB")
        return
    now = superblock.stripe
    stride, width = wanted.unit_bytes // block_bytes, wanted.width_bytes // block_bytes
    if mount.options.get("stripe") == str(width):
        yield Fine(mount.point, f"stripe {wanted.width_bytes >> 10} KiB, by an option of the mount")
        return
    yield Change(
        mount.point,
        f"stride {now.unit_bytes >> 10} KiB, stripe {now.width_bytes >> 10} KiB" if now.width_bytes else "no stripe",
        f"stride {wanted.unit_bytes >> 10} KiB, stripe {wanted.width_bytes >> 10} KiB",
        f"{array.name} has {array.data_disks} data disks with chunks of {array.chunk_bytes >> 10} KiB",
        (Assignment(f"mount:{mount.point}/stripe", str(width)),),
        f"tune2fs -E stride={stride},stripe_width={width} {mount.source}",
    )


RULE = Rule(
    name="ext4-stripe",
    title="Tell ext4 the chunk and the data disks of the RAID below",
    area="file system",
    reason="The allocator of ext4 aligns large extents to the stripe that it knows; otherwise writes straddle "
    "stripes, and parity RAID reads before it writes.",
    risk="The superblock can be changed at any time, but files that exist stay where they are. Where bitmaps lie was "
    "decided by the stride at mkfs. All values count blocks of the file system, not bytes.",
    sources=(EXT4_MANUAL, Source("tune2fs(8)", "https://man7.org/linux/man-pages/man8/tune2fs.8.html")),
    judge=_judge,
    parameters=("stride", "stripe_width", "stripe"),
)

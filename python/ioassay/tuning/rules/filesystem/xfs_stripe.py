"""Whether XFS knows the stripe of the RAID below."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, Source, each
from ioassay.tuning.rules.filesystem.geometry import MKFS_XFS, NO_ARRAY, NO_XFS, XFS_MANUAL, Geometry, geometry, of_type
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system import System
from ioassay.tuning.system.block import SECTOR_BYTES
from ioassay.tuning.system.filesystem import Stripe, XfsInfo, xfs_info, xfs_stripe
from ioassay.tuning.system.mounts import Mount


def _judge(system: System) -> Iterator[Judgement]:
    return each(of_type(system, "xfs"), lambda mount: _mount(system, mount), otherwise=NO_XFS)


def _mount(system: System, mount: Mount) -> Iterator[Judgement]:
    array = geometry(system, mount)
    if array is None:
        yield NotApplicable(f"{mount.point}: {NO_ARRAY}")
    elif "noalign" in mount.options:
        because = "data is not aligned to the stripe that the file system was made for"
        yield Change(
            mount.point,
            "noalign",
            "no such option",
            because,
            command=f"take noalign out of the options of {mount.point}, then mount it again",
        )
    elif (now := xfs_stripe(system.snapshot, mount)) == Stripe(array.chunk_bytes, array.stripe_bytes):
        yield Fine(mount.point, _text(now))
    else:
        yield _change(mount, now, array, _info(system, mount))


def _info(system: System, mount: Mount) -> XfsInfo | None:
    """What `xfs_info` printed, which only helps to say how: nothing where it failed."""
    try:
        return xfs_info(system.snapshot, mount)
    except Unreadable:
        return None


def _change(mount: Mount, now: Stripe, array: Geometry, info: XfsInfo | None) -> Change:
    wanted = Stripe(array.chunk_bytes, array.stripe_bytes)
    because = f"{array.name} has {array.data_disks} data disks with chunks of {array.chunk_bytes >> 10} KiB"
    factor, rest = divmod(wanted.unit_bytes, now.unit_bytes) if now.unit_bytes else (0, 1)
    fits = info is None or info.group_bytes % wanted.unit_bytes == 0
    if rest == 0 and factor & (factor - 1) == 0 and fits:
        options = f"sunit={wanted.unit_bytes // SECTOR_BYTES},swidth={wanted.width_bytes // SECTOR_BYTES}"
        command = f"umount {mount.point} && mount -o {options} {mount.source} {mount.point}"
    else:
        if not fits:
            because += "; the size of its allocation groups is no multiple of the chunk"
        command = f"mkfs.xfs -d su={wanted.unit_bytes >> 10}k,sw={array.data_disks} {mount.source}, which erases it"
    return Change(mount.point, _text(now), _text(wanted), because, command=command)


def _text(stripe: Stripe) -> str:
    if not stripe.unit_bytes:
        return "no stripe"
    return f"unit {stripe.unit_bytes >> 10} KiB, width {stripe.width_bytes >> 10} KiB"


RULE = Rule(
    name="xfs-stripe",
    title="Make XFS with the chunk and the data disks of the RAID below",
    area="file system",
    reason="XFS aligns large files and its allocation groups to the stripe that it knows; otherwise writes straddle "
    "stripes, and parity RAID reads before it writes.",
    risk="A mount can only multiply the unit by a power of two, if the file system was made with one and its "
    "allocation groups are a multiple of it; everything else means mkfs and restoring all data. What was written "
    "before stays where it is. Units differ: xfs_info counts blocks, mount options count sectors of 512 bytes.",
    sources=(
        XFS_MANUAL,
        MKFS_XFS,
        Source(
            "Red Hat Enterprise Linux 6, Performance Tuning Guide, 7.3.2: the XFS file system",
            "https://access.redhat.com/documentation/en-US/Red_Hat_Enterprise_Linux/6/html/Performance_Tuning_Guide/s-storage-xfs.html",
        ),
    ),
    judge=_judge,
    parameters=("sunit", "swidth", "su", "sw", "noalign"),
)

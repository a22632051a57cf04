"""The size of an empty ZFS pool, as `df` shows it.

ZFS counts space as if every block were 128 KiB: at creation it fixes the share of data that such a block has on this
geometry (the deflate ratio, in units of 1/512), and multiplies everything by it that `df` and `zfs list` show. With
larger records more fits than is shown, with smaller ones less. From that it keeps the slop space. Each group is taken
for a pool of its own, as Lustre targets are; one pool of several groups would keep less of slop space where that is
limited. Left out: a few whole stripes at each metaslab of dRAID, and what an empty pool uses, both below 0.001 %.

Sources: OpenZFS, module/zfs/vdev.c (labels, metaslabs, vdev_set_deflate_ratio), module/zfs/vdev_draid.c
(vdev_draid_open), module/zfs/spa_misc.c (spa_get_slop_space). Not: parity and padding of a record (`records`).
"""

from __future__ import annotations

from fractions import Fraction

from ioassay.sizing.arithmetic import Value, applied, assumed, difference, exactly, lowest, product
from ioassay.sizing.capacity.records import KIB, allocation, data_share
from ioassay.sizing.capacity.redundancy import Geometry
from ioassay.sizing.capacity.target import Target
from ioassay.systems.amounts import BYTES, NUMBER

_MIB, _GIB = KIB**2, KIB**3
_SHOWN_BLOCK = 128 * KIB
_LABELS = assumed(
    "partition table and labels of a drive",
    13 * _MIB + 512 * KIB,
    BYTES,
    "zpool was given whole drives: 9 MiB around its partition (lib/libzfs/os/linux/libzfs_pool_os.c, "
    "zpool_label_disk), and labels and boot block of 4.5 MiB in it (include/sys/vdev_impl.h).",
)
_REFLOW = assumed(
    "reserve of a dRAID drive for expansion",
    32 * _MIB,
    BYTES,
    "Fixed in OpenZFS, include/sys/vdev_draid.h, VDEV_DRAID_REFLOW_RESERVE.",
)
_LEAST_SLOP = assumed("least slop space", 128 * _MIB, BYTES, "Default of OpenZFS, module/zfs/spa_misc.c, spa_min_slop.")
_MOST_SLOP = assumed(
    "most slop space",
    128 * _GIB,
    BYTES,
    "OpenZFS is 2.1 or later, which limits it (module/zfs/spa_misc.c, spa_max_slop, pull request 11023); for "
    "earlier versions name the file system zfs-0.8 or lustre-zfs-0.8.",
)


def shown_by_df(target: Target, *, has_limited_slop: bool) -> Value:
    """The size of an empty pool as `df` shows it, or the data that fits into it where that is less.

    `has_limited_slop` is true from OpenZFS 2.1 on.
    """
    geometry = target.geometry
    if not geometry.is_zfs:
        space = _metaslabs(difference("space of a pool", target.capacity, _LABELS))
        return _less_slop(space, space, has_limited_slop)
    per_drive = [_LABELS, _REFLOW] if geometry.layout.startswith("draid") else [_LABELS]
    in_use = exactly("drives", geometry.drives_in_use)
    space = _metaslabs(product("space of a pool", in_use, difference("space of a drive", target.drive, *per_drive)))
    counted = product("space in blocks of 128 KiB", space, _deflate_ratio(geometry, target.sector))
    shown = _less_slop(counted, counted, has_limited_slop)
    if target.record.nominal >= _SHOWN_BLOCK:
        return shown
    held = product("space in records", space, data_share(geometry, target.record, target.sector))
    return lowest(
        "usable capacity of a pool",
        shown,
        _less_slop(held, counted, has_limited_slop).named("what fits in records of this size"),
        note="`df` counts in blocks of 128 KiB and shows more than fits in smaller records.",
    )


def _deflate_ratio(geometry: Geometry, sector: Value) -> Value:
    def ratio(sector: Fraction) -> Fraction:
        sectors_of_512 = allocation(geometry, _SHOWN_BLOCK, int(sector)) // 512
        return Fraction(_SHOWN_BLOCK // sectors_of_512, 512)

    taken = Fraction(allocation(geometry, _SHOWN_BLOCK, int(sector.interval.nominal)), KIB)
    return applied(
        "deflate ratio",
        ratio,
        sector,
        text=f"128 KiB ÷ {taken} KiB with parity and padding, rounded down to 1/512",
        dimension=NUMBER,
        source="OpenZFS, module/zfs/vdev.c, vdev_set_deflate_ratio",
        note="What `df` takes for the share of data, whatever the record size is.",
    )


def _metaslabs(space: Value) -> Value:
    return applied(
        "space in metaslabs",
        lambda space: Fraction(int(space) // _metaslab(int(space)) * _metaslab(int(space))),
        space,
        text=f"space of a pool in whole metaslabs of {Fraction(_metaslab(int(space.interval.nominal)), _GIB)} GiB",
        dimension=BYTES,
        source="OpenZFS, module/zfs/vdev.c, vdev_metaslab_set_size",
    )


def _metaslab(space: int) -> int:
    """Bytes of a metaslab: about 200 of them, of 512 MiB to 16 GiB, at least 16 and at most 131072."""
    count = space >> 29
    if count > 200:
        shift = min((space // 200).bit_length(), 34)
    elif count < 16:
        shift = max((space // 16).bit_length(), 24)
    else:
        shift = 29
    most = 1 << 17
    return 1 << ((space // most).bit_length() if space >> shift > most else shift)


def _less_slop(space: Value, counted: Value, is_limited: bool) -> Value:
    limits = (_LEAST_SLOP, _MOST_SLOP) if is_limited else (_LEAST_SLOP,)

    def slop(counted: Fraction, least: Fraction, most: Fraction | None = None) -> Fraction:
        kept = counted / 32
        return max(kept if most is None else min(kept, most), min(counted / 2, least))

    kept = applied(
        "slop space",
        slop,
        counted,
        *limits,
        text="1/32 of the space, at least 128 MiB" + (", at most 128 GiB" if is_limited else ""),
        dimension=BYTES,
        source="OpenZFS, module/zfs/spa_misc.c, spa_get_slop_space",
        note="Each group is taken for a pool of its own.",
    )
    return difference("usable capacity of a pool", space, kept)

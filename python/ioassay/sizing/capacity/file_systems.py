"""The overhead of file systems, and the size that `df` shows.

A catalogue says by `overhead` what a file system takes; those of the names in `KNOWN` are computed instead. Which of
the several numbers of `df` it is: always the size of the empty file system, as applications see it on a client.

Not: arithmetic of one file system (`zfs`, `ext4`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from ioassay.errors import UsageError
from ioassay.sizing.arithmetic import Value, applied, assumed, difference, exactly, product
from ioassay.sizing.capacity import ext4, zfs
from ioassay.sizing.capacity.records import KIB
from ioassay.sizing.capacity.redundancy import Geometry
from ioassay.sizing.capacity.target import Target
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import FileSystem
from ioassay.systems.amounts import BYTES, NUMBER
from ioassay.yaml_models.source import quoted

_MIB, _GIB = KIB**2, KIB**3


@dataclass(frozen=True)
class FileSystemOverhead:
    """A file system whose overhead is computed."""

    usable: Callable[[Target], Value]
    is_zfs: bool = False
    record: tuple[int, str] = (128 * KIB, "Default of ZFS for `recordsize`.")
    """The record size where the catalogue gives none, and why."""


_KEPT_BY_LUSTRE = assumed(
    "share that Lustre keeps of a target",
    Fraction(1, 128),
    NUMBER,
    "Lustre is 2.9 or later (osd_handler.c of osd-ldiskfs and osd-zfs, OSD_STATFS_RESERVED_SHIFT); for earlier "
    "versions on ldiskfs name the file system ldiskfs-2.8.",
)


def _on_client(shown: Value) -> Value:
    """The size of a target that has `shown`, as a client of Lustre sees it."""
    formatted = shown.named("formatted capacity of a target")
    kept = product("space that Lustre keeps of a target", formatted, _KEPT_BY_LUSTRE)
    return difference("usable capacity of a target", formatted, kept)


def _xfs(target: Target) -> Value:
    log = applied(
        "log",
        lambda size: max(min(size / 2048, Fraction(2 * _GIB - 10 * _MIB)), Fraction(64 * _MIB)),
        target.capacity,
        text="1/2048 of the target, at least 64 MiB, at most 2038 MiB",
        dimension=BYTES,
        source="xfsprogs, mkfs/xfs_mkfs.c, calculate_log_size",
    )
    return difference(
        "usable capacity of a target",
        target.capacity,
        log,
        note="`df` shows it as the size; with reflink, the default, about 0.7 % of it show as used at once "
        "(seen with mkfs.xfs 6.1 and Linux 6.18).",
    )


_LUSTRE_RECORD = (1024 * KIB, "mkfs.lustre sets `recordsize=1M` (libmount_utils_zfs.c).")

KNOWN: Mapping[str, FileSystemOverhead] = {
    "ext4": FileSystemOverhead(lambda target: ext4.shown_by_df(target.capacity, ext4.MKE2FS)),
    "ldiskfs": FileSystemOverhead(lambda target: _on_client(ext4.shown_by_df(target.capacity, ext4.MKFS_LUSTRE))),
    "ldiskfs-2.8": FileSystemOverhead(lambda target: ext4.shown_by_df(target.capacity, ext4.MKFS_LUSTRE)),
    "xfs": FileSystemOverhead(_xfs),
    "zfs": FileSystemOverhead(lambda target: zfs.shown_by_df(target, has_limited_slop=True), True),
    "zfs-0.8": FileSystemOverhead(lambda target: zfs.shown_by_df(target, has_limited_slop=False), True),
    "lustre-zfs": FileSystemOverhead(
        lambda target: _on_client(zfs.shown_by_df(target, has_limited_slop=True)), True, _LUSTRE_RECORD
    ),
    "lustre-zfs-0.8": FileSystemOverhead(
        lambda target: _on_client(zfs.shown_by_df(target, has_limited_slop=False)), True, _LUSTRE_RECORD
    ),
}
"""By their names in the catalogue."""


def name_for(catalogue: Catalogue, brick: str, stated: str | None, geometry: Geometry) -> str | None:
    """The file system of a brick; of raidz and dRAID `zfs` where none is given.

    Raises `UsageError` for one that the catalogue does not have, and for another than ZFS on raidz or dRAID.
    """
    if stated is None:
        return "zfs" if geometry.is_zfs else None
    entry = catalogue.find(stated, FileSystem)
    known = KNOWN.get(stated)
    if entry.overhead is None and known is None:
        raise UsageError(
            f"What the file system {quoted(stated)} takes for itself is not known.",
            f"Add `overhead` to it, or name one of {', '.join(KNOWN)}.",
        )
    if entry.overhead is None and known is not None and geometry.is_zfs and not known.is_zfs:
        raise UsageError(
            f"{brick}: {stated} cannot be made on {geometry.layout}, which is ZFS's own.",
            "Name `zfs` or `lustre-zfs` as `file_system`, or another layout.",
        )
    return stated


def record_default(name: str | None) -> tuple[int, str]:
    """The record size that a file system has by default, and why."""
    return (KNOWN.get(name or "zfs") or KNOWN["zfs"]).record


def usable(catalogue: Catalogue, name: str | None, target: Target) -> Value:
    """The size of an empty file system `name` on `target`, as `df` shows it; all of it where there is none."""
    if name is None:
        return replace(
            target.capacity.named("usable capacity of a group"),
            note="No file system is given; nothing is taken off for one.",
        )
    overhead = catalogue.value(name, "overhead", f"overhead of {name}") if name in catalogue.entries else None
    if overhead is not None:
        left = difference("share left by the file system", exactly("all", 1, NUMBER), overhead)
        return product("usable capacity of a target", target.capacity, left)
    return KNOWN[name].usable(target)

"""The size of an empty ext4 or ldiskfs file system, as `df` shows it.

Taken off is what mke2fs writes: inode tables, two bitmaps of a block in each block group, and the journal, as large as
for targets above 128 GiB. Left out are copies of superblock and group descriptors, and blocks kept for growing,
together below 0.02 %.

`df` shows the 5 % of the blocks that are reserved for root as part of the size and not as available.

Sources: e2fsprogs, misc/mke2fs.conf.in and misc/mke2fs.c (parse_fs_type), lib/ext2fs/initialize.c and mkjournal.c;
Lustre, lustre/utils/libmount_utils_ldiskfs.c (ldiskfs_make_lustre), lustre/osd-ldiskfs/osd_handler.c (osd_statfs).
Not: other file systems (`file_systems`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ioassay.sizing.arithmetic import Value, assumed, difference, product, quotient
from ioassay.systems.amounts import BYTES

_KIB, _MIB, _TIB = 1024, 1024**2, 1024**4

_MKE2FS = "Default of mke2fs for a target of this size (e2fsprogs, misc/mke2fs.conf.in)."
_MKFS_LUSTRE = "Default of mkfs.lustre for an object storage target of this size (libmount_utils_ldiskfs.c)."


@dataclass(frozen=True)
class Format:
    """How a program formats: what it chooses by itself."""

    why: str
    inode_bytes: int
    ratios: tuple[tuple[int, int], ...]
    """From which size of a target on there is one inode for how many bytes, largest first."""

    def bytes_per_inode(self, target_bytes: float) -> int:
        """Bytes of the target for each inode."""
        return next(ratio for least, ratio in self.ratios if target_bytes > least)


MKE2FS = Format(_MKE2FS, 256, ((16 * _TIB, 64 * _KIB), (4 * _TIB, 32 * _KIB), (0, 16 * _KIB)))
MKFS_LUSTRE = Format(_MKFS_LUSTRE, 512, ((16 * _TIB, _MIB), (4 * _TIB, 512 * _KIB), (_TIB, 256 * _KIB), (0, 69905)))
"""69905: 64 KiB and a little more, so that the inodes fit into 256 block groups at a time."""

_GROUP = assumed("block group", 128 * _MIB, BYTES, "Blocks of 4 KiB, the default of mke2fs.")
_BITMAPS = assumed("two bitmaps of a block group", 8 * _KIB, BYTES, "Blocks of 4 KiB, as above.")
_JOURNAL = assumed(
    "journal",
    1024 * _MIB,
    BYTES,
    "Default above 128 GiB, of mke2fs (lib/ext2fs/mkjournal.c) and mkfs.lustre alike.",
)
_RESERVED = "`df` shows it as the size; 5 % of it are reserved for root and not shown as available."


def shown_by_df(target: Value, format: Format) -> Value:
    """The size that `df` shows of an empty file system on `target` bytes."""
    per_inode = assumed("bytes per inode", format.bytes_per_inode(target.nominal), BYTES, format.why)
    inodes = quotient("inodes of a target", target, per_inode)
    tables = product("inode tables", inodes, assumed("inode size", format.inode_bytes, BYTES, format.why))
    groups = quotient("block groups of a target", target, _GROUP)
    bitmaps = product("bitmaps of a target", groups, _BITMAPS)
    return difference("usable capacity of a target", target, tables, bitmaps, _JOURNAL, note=_RESERVED)

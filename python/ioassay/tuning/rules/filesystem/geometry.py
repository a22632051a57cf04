"""The array below a file system, as far as the node or the user knows it."""

from __future__ import annotations

from dataclasses import dataclass

from ioassay.tuning.rule import Source
from ioassay.tuning.system import System, block
from ioassay.tuning.system.md import MdArray
from ioassay.tuning.system.mounts import Mount

XFS_MANUAL = Source("xfs(5)", "https://man7.org/linux/man-pages/man5/xfs.5.html")
MKFS_XFS = Source("mkfs.xfs(8)", "https://man7.org/linux/man-pages/man8/mkfs.xfs.8.html")
EXT4_MANUAL = Source("ext4(5)", "https://man7.org/linux/man-pages/man5/ext4.5.html")

NO_XFS = "no XFS file system is mounted here, or the target does not lie on one"
NO_EXT4 = "no ext4 file system is mounted here, or the target does not lie on one"
NO_ARRAY = "no RAID of known geometry lies below; give a controller's with --raid"


@dataclass(frozen=True)
class Geometry:
    """A RAID with stripes."""

    chunk_bytes: int
    data_disks: int
    name: str
    """Of the array: `md0`, or that it is the controller's."""

    @property
    def stripe_bytes(self) -> int:
        """The data of a full stripe."""
        return self.chunk_bytes * self.data_disks


def geometry(system: System, mount: Mount) -> Geometry | None:
    """The array that a file system lies on: the kernel's, otherwise what the user gave. Raises `Unreadable`."""
    device = block.by_number(system.devices, mount.device)
    for one in device.with_all_below() if device is not None else []:
        array = MdArray(one)
        if one.kind == "md" and array.is_striped and array.data_disks > 1:
            return Geometry(array.chunk_bytes, array.data_disks, one.name)
    if system.array is not None and device is not None and device.medium in ("array", "hdd", "ssd"):
        return Geometry(system.array.segment_bytes, system.array.data_disks, "the controller's RAID")
    return None


def of_type(system: System, file_system: str) -> list[Mount]:
    """The mounts of a file system to judge."""
    return [mount for mount in system.local_mounts if mount.file_system == file_system]

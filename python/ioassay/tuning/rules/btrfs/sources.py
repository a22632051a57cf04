"""What several of these rules share: their documents, and which file systems they judge."""

from __future__ import annotations

from ioassay.tuning.rule import Source
from ioassay.tuning.system import System
from ioassay.tuning.system.btrfs import BtrfsFileSystem, file_systems

BTRFS_MANUAL = Source("btrfs-progs 6.19, btrfs(5)", "https://btrfs.readthedocs.io/en/latest/btrfs-man5.html")
BTRFS_COMPRESSION = Source("btrfs-progs 6.19, Compression", "https://btrfs.readthedocs.io/en/latest/Compression.html")
BTRFS_KERNELS = Source(
    "btrfs-progs 6.19, Feature by version: Linux 6.15",
    "https://btrfs.readthedocs.io/en/latest/Feature-by-version.html",
)

NO_BTRFS = "no btrfs is mounted here, or the target does not lie on one"


def judged(system: System) -> list[BtrfsFileSystem]:
    """The file systems to judge."""
    return file_systems(system.snapshot, system.mounts, system.target_mount)

"""btrfs: mounted file systems with their devices and RAID profiles, as /sys/fs/btrfs has them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system.mounts import Mount

_ROOT = "sys/fs/btrfs"
_PROFILES = ("single", "dup", "raid0", "raid1", "raid1c3", "raid1c4", "raid10", "raid5", "raid6")
WITH_COPIES = ("dup", "raid1", "raid1c3", "raid1c4", "raid10", "raid5", "raid6")
"""Profiles that can repair a block from another copy or from parity."""


@dataclass(frozen=True)
class BtrfsFileSystem:
    """A mounted file system; of several mounts of it the first."""

    mount: Mount
    path: str
    """Its directory of /sys, which is named after its UUID; empty where the snapshot has none."""
    snapshot: Snapshot = field(repr=False)

    @property
    def devices(self) -> list[str]:
        """Its devices, `sda` or `sda1`."""
        return self.snapshot.names(f"{self.path}/devices") if self.path else []

    def profiles(self, kind: str) -> tuple[str, ...]:
        """The RAID profiles of `data` or `metadata`: several where a conversion was begun. None: not known."""
        names = self.snapshot.names(f"{self.path}/allocation/{kind}") if self.path else []
        mixed = self.snapshot.names(f"{self.path}/allocation/mixed") if self.path and not names else []
        return tuple(name for name in _PROFILES if name in (*names, *mixed))

    @property
    def missing(self) -> list[str]:
        """The numbers of devices that are missing. Raises `Unreadable`."""
        numbers = self.snapshot.names(f"{self.path}/devinfo")
        return [number for number in numbers if self.snapshot.text(f"{self.path}/devinfo/{number}/missing") == "1"]

    @property
    def errors(self) -> dict[str, str]:
        """The error counters of devices that have failed reads or writes, by number. Raises `Unreadable`."""
        options: dict[str, str] = {}
        for number in self.snapshot.names(f"{self.path}/devinfo"):
            text = self.snapshot.text(f"{self.path}/devinfo/{number}/error_stats") or ""
            counters = [f"{name} {count}" for name, count in re.findall(r"(\w+_errs) (\d+)", text) if int(count)]
            if counters:
                options[number] = ", ".join(counters)
        return options

    @property
    def operation(self) -> str | None:
        """The exclusive operation in progress: `none`, `balance`, `device replace`. Raises `Unreadable`."""
        return self.snapshot.text(f"{self.path}/exclusive_operation") if self.path else None


def file_systems(snapshot: Snapshot, mounts: Sequence[Mount], target: Mount | None) -> list[BtrfsFileSystem]:
    """The mounted file systems to judge: the target's, or without a target all, each once."""
    if snapshot.target is not None:
        mounts = [target] if target is not None else []
    btrfs_file_systems: dict[str, BtrfsFileSystem] = {}
    for mount in mounts:
        if mount.file_system == "btrfs":
            path = _directory(snapshot, mount)
            btrfs_file_systems.setdefault(path or mount.source, BtrfsFileSystem(mount, path, snapshot))
    return list(btrfs_file_systems.values())


def _directory(snapshot: Snapshot, mount: Mount) -> str:
    """The directory of the file system that has the mount's device."""
    name = mount.source.rpartition("/")[2]
    for uuid in snapshot.names(_ROOT):
        path = f"{_ROOT}/{uuid}"
        for device in snapshot.names(f"{path}/devices"):
            # The mount names a device of the device mapper as its user does, /sys calls it `dm-0`.
            if device == name or snapshot.text(f"{path}/devices/{device}/dm/name") == name:
                return path
    return ""

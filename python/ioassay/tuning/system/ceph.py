"""Ceph as the kernel's clients see it: mounts of CephFS, and block devices of RBD.

The kernel lists an option of a mount only where it is not the default. Of a block device /sys/bus/rbd has the line that
it was mapped with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system.mounts import Mount

if TYPE_CHECKING:
    from ioassay.tuning.system import System

_DEVICES = "sys/bus/rbd/devices"


@dataclass(frozen=True)
class RbdDevice:
    """A mapped image."""

    name: str
    """`rbd0`."""
    path: str
    snapshot: Snapshot

    @property
    def options(self) -> Mapping[str, str] | None:
        """The options that it was mapped with; `None` where the kernel does not list it. Raises `Unreadable`.

        `MONITORS OPTIONS POOL IMAGE SNAPSHOT`, since Linux 4.9.
        """
        words = (self.snapshot.text(f"{self.path}/config_info") or "").split()
        if len(words) < 2:
            return None
        pairs = (option.partition("=") for option in words[1].split(","))
        return {name: value for name, _, value in pairs}


def cephfs_mounts(system: System) -> list[Mount]:
    """The mounts of the kernel's client to judge: the target's, or without a target all."""
    target = system.target_mount
    mounts = system.mounts if system.snapshot.target is None else [target] if target is not None else []
    return [mount for mount in mounts if mount.file_system == "ceph"]


def rbd_devices(system: System) -> list[RbdDevice]:
    """The mapped images to judge: the one below the target, or without a target all."""
    snapshot, device = system.snapshot, system.target_device
    images = [RbdDevice(f"rbd{number}", f"{_DEVICES}/{number}", snapshot) for number in snapshot.names(_DEVICES)]
    if snapshot.target is None:
        return images
    below = {part.name for part in device.with_all_below()} if device is not None else set()
    return [image for image in images if image.name in below]

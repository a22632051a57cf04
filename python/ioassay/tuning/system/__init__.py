"""A snapshot as storage engineers speak of it: the system whose settings are judged.

    array     a RAID controller's geometry and cache, which the user gives (`--raid`)
    block     block devices, their queues, what lies below and above them, the adapters that they hang on
    lustre    parameters of Lustre by the names of `lctl get_param`
    mounts    what is mounted where, with which options
    numbers   what in a file is certainly a number
    pages     the size of a page of memory
    nfs       mounts of NFS servers, and what this node exports
    gpfs      parameters of GPFS, attributes of its file systems
    beegfs    settings of clients and daemons of BeeGFS
    ceph      mounts of CephFS, images of RBD
    fabrics   connections of NVMe over fabrics
    filesystem    geometry and journal of XFS and ext4
    zfs       pools and data sets of ZFS
    btrfs     file systems of btrfs with their devices and profiles
    md        arrays of the kernel's RAID driver
    network   interfaces, InfiniBand ports, PCI Express slots
    processors    NUMA nodes, frequency settings, where interrupts go

Not: whether a value is good (`tuning.rules`), I/O sizes along the way (`tuning.path`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ioassay.tuning.snapshot import Snapshot, Unreadable
from ioassay.tuning.system import block, btrfs, lustre, mounts, pages, zfs
from ioassay.tuning.system.array import Array
from ioassay.tuning.system.block import BlockDevice
from ioassay.tuning.system.mounts import Mount

__all__ = ["Array", "System", "Workload"]

Workload = Literal["shared-file", "file-per-process", "small-files"]
"""How files are used: one by many nodes at once, a large one by each process, or many small ones."""


@dataclass(frozen=True)
class System:
    """One node, seen through its snapshot, and what the user said of it besides."""

    snapshot: Snapshot
    array: Array | None = None
    storage: str = ""
    """The storage system of the target, where only the user knows it (`--storage onefs`); a mount does not show it."""
    storage_settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of that storage, by its own names, as the user read them there."""
    workload: Workload | None = None
    """How the target's files are used, where the user said it."""
    transfer_bytes: int | None = None
    """The size of the application's requests, where the user said it (`--transfer`)."""

    @property
    def host(self) -> str:
        """The host's name."""
        return self.snapshot.host

    @cached_property
    def devices(self) -> Mapping[str, BlockDevice]:
        """The block devices of /sys/block by name."""
        return block.devices(self.snapshot)

    @cached_property
    def mounts(self) -> list[Mount]:
        """The mounts, in the kernel's order."""
        return mounts.mounts(self.snapshot)

    @cached_property
    def target_mount(self) -> Mount | None:
        """The mount that the target lies on; `None` without a target, and of a device."""
        target = self.snapshot.target
        return mounts.covering(self.mounts, target) if target and not target.startswith("/dev/") else None

    @cached_property
    def target_device(self) -> BlockDevice | None:
        """The block device that holds the target, or is the target."""
        target = self.snapshot.target
        if target and target.startswith("/dev/"):
            return block.by_path(self.devices, self.snapshot, target)
        if self.target_mount is None:
            return None
        members = self._members
        return members[0] if len(members) == 1 else block.by_number(self.devices, self.target_mount.device)

    @cached_property
    def _members(self) -> list[BlockDevice]:
        """The devices of the target's file system, where it has several, and a number that is none of them."""
        target = self.target_mount
        paths: list[str] = []
        try:
            if target is not None and target.file_system == "btrfs":
                paths = [
                    path
                    for file_system in btrfs.file_systems(self.snapshot, self.mounts, target)
                    for path in file_system.devices
                ]
            elif zfs.dataset_below(target):
                pools = zfs.pools(self.snapshot, target)
                paths = [disk for pool in pools for vdev in pool.vdevs for disk in vdev.disks]
        except Unreadable:
            return []  # Its disks are then not known; the rules about ZFS and btrfs say why.
        disks = [block.by_path(self.devices, self.snapshot, path) for path in paths]
        return list({device.name: device for device in disks if device is not None}.values())

    @cached_property
    def lustre(self) -> Mapping[str, str]:
        """Parameters of Lustre on this node, `osc.scratch-OST0000-osc-ffff.max_dirty_mb`, with their text."""
        return lustre.parameters(self.snapshot)

    @cached_property
    def lustre_unreadable(self) -> Mapping[str, Unreadable]:
        """Parameters of Lustre that exist and could not be read."""
        return lustre.unreadable(self.snapshot)

    @property
    def memory_bytes(self) -> int:
        """The node's memory."""
        return self.snapshot.environment["memory_bytes"]

    @property
    def processors(self) -> int:
        """How many processors the node has."""
        return self.snapshot.environment["processors"]

    @cached_property
    def page_bytes(self) -> int:
        """A page of memory."""
        return pages.page_bytes(self.snapshot)

    @cached_property
    def local_mounts(self) -> list[Mount]:
        """The mounts on block devices to judge: the target's, or without a target all, each file system once."""
        target = self.snapshot.target
        if target and not target.startswith("/dev/"):
            return [self.target_mount] if self.target_mount is not None and self.target_mount.is_local else []
        device = self.target_device
        numbers = None if device is None else {device.text("dev"), *(part.number for part in device.partitions)}
        known = {mount.device: mount for mount in reversed(self.mounts) if mount.is_local}
        return [mount for mount in reversed(known.values()) if numbers is None or mount.device in numbers]

    def concerned(self) -> list[BlockDevice]:
        """The devices to judge: those below the target, or without a target on a device all that hold data."""
        if self.target_device is not None:
            return self.target_device.with_all_below()
        if self._members:
            return list({part.name: part for member in self._members for part in member.with_all_below()}.values())
        if self.snapshot.target and (self.target_mount is None or not self.target_mount.is_local):
            return []
        return [device for device in self.devices.values() if device.size_bytes and not device.is_idle]

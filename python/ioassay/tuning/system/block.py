"""Block devices of /sys/block: queues, what they are made of, the adapter of each.

Sources: Documentation/ABI/stable/sysfs-block and Documentation/block/queue-sysfs.rst of Linux.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ioassay.tuning.choices import chosen
from ioassay.tuning.snapshot import Snapshot, Unreadable
from ioassay.tuning.system.numbers import is_whole

SECTOR_BYTES = 512
"""The unit of sizes and counters in /sys, whatever the device's own sectors are."""

Kind = Literal["nvme", "scsi", "virtio", "md", "multipath", "lvm", "dm", "loop", "zram", "other"]
Medium = Literal["hdd", "ssd", "memory", "array"]
"""`array`: a virtual disk of a RAID controller, whose disks the host cannot see."""

_ARRAYS = re.compile(
    r"MD3[2468]\w\w|INF-01-00|Universal Xport|VirtualDisk|VDASD|SFA|PERC|MR\w*[29]\d{3}|LOGICAL VOLUME|"
    r"MSA |Unity|SYMMETRIX|OPEN-V|FlashArray|2145|1818",
    re.IGNORECASE,
)
"""Names by which RAID controllers present virtual disks: `model`, or `vendor model`."""


@dataclass(frozen=True)
class Adapter:
    """The SCSI host that a device hangs on."""

    name: str
    """`host0`."""
    driver: str
    """`mpt3sas`, as `proc_name` says."""
    sg_tablesize: int | None
    """The most segments of memory in one command."""
    can_queue: int | None
    """The most commands at once on the whole adapter."""


@dataclass(frozen=True)
class Partition:
    """A part of a device."""

    name: str
    number: str
    """`8:1`."""
    start_bytes: int
    size_bytes: int


@dataclass(frozen=True)
class BlockDevice:
    """A whole device of /sys/block."""

    name: str
    snapshot: Snapshot = field(repr=False)
    all_devices: Mapping[str, BlockDevice] = field(repr=False, compare=False)

    def text(self, attribute: str) -> str | None:
        """An attribute, `queue/scheduler`; `None` where the device has none. Raises `Unreadable`."""
        return self.snapshot.text(f"sys/block/{self.name}/{attribute}")

    def number(self, attribute: str) -> int | None:
        """An attribute that is an integer. Raises `Unreadable`."""
        return self.snapshot.number(f"sys/block/{self.name}/{attribute}")

    @cached_property
    def has_queue(self) -> bool:
        """Whether the snapshot has anything of its queue: what else of it is missing was not captured."""
        return bool(self.snapshot.names(f"sys/block/{self.name}/queue"))

    def queue(self, attribute: str) -> int | None:
        """A limit or setting of its queue that is an integer; in the kernel's unit. Raises `Unreadable`."""
        return self.number(f"queue/{attribute}")

    @cached_property
    def schedulers(self) -> tuple[str, ...]:
        """The schedulers that its queue can have."""
        return tuple((self.text("queue/scheduler") or "").replace("[", "").replace("]", "").split())

    @property
    def scheduler(self) -> str | None:
        """The scheduler of its queue; `None` where it has no queue of its own to schedule. Raises `Unreadable`."""
        text = self.text("queue/scheduler")
        return chosen(text) if text is not None else None

    @cached_property
    def size_bytes(self) -> int:
        """Its capacity; 0 where nothing is attached."""
        return (self._number_or_none("size") or 0) * SECTOR_BYTES

    @cached_property
    def is_idle(self) -> bool:
        """Whether nothing uses it as a disk: a loop device without a file, a removable drive, a memory disk."""
        return self.kind == "other" or bool(self._number_or_none("removable"))

    @cached_property
    def kind(self) -> Kind:
        kinds: tuple[tuple[str, Kind], ...] = (
            ("nvme", "nvme"), ("sd", "scsi"), ("vd", "virtio"), ("md", "md"), ("loop", "loop"), ("zram", "zram"),
        )  # fmt: skip
        if self.name.startswith("dm-"):
            uuid = self.text("dm/uuid") or ""
            return "multipath" if uuid.startswith("mpath-") else "lvm" if uuid.startswith("LVM-") else "dm"
        named = (kind for start, kind in kinds if re.fullmatch(rf"{start}[a-z0-9_]+", self.name))
        return next(named, "other")

    @cached_property
    def medium(self) -> Medium:
        """The medium of its data. Of a stack: the slowest of those below it."""
        if self.below:
            order: tuple[Medium, ...] = ("hdd", "array", "ssd", "memory")
            return min((device.medium for device in self.below), key=order.index)
        if self.kind == "zram":
            return "memory"
        if self.is_virtual_disk:
            return "array"
        return "hdd" if self._number_or_none("queue/rotational") else "ssd"

    @cached_property
    def is_virtual_disk(self) -> bool:
        """Whether a RAID controller presents it: its model is one, whatever it says of rotation."""
        return self.kind == "scsi" and bool(_ARRAYS.search(f"{self.vendor} {self.model}"))

    @property
    def vendor(self) -> str:
        """Who made it; empty where it does not say."""
        return self.text("device/vendor") or ""

    @property
    def model(self) -> str:
        """Its model; empty where it does not say."""
        return self.text("device/model") or ""

    @cached_property
    def below(self) -> list[BlockDevice]:
        """The devices that it is made of: paths of a multipath device, members of a RAID."""
        names = self.snapshot.names(f"sys/block/{self.name}/slaves")
        return [
            device for name in names if (device := _device_or_parent(self.all_devices, self.snapshot, name)) is not None
        ]

    @cached_property
    def above(self) -> list[BlockDevice]:
        """The devices that are made of it or of one of its partitions."""
        directories = [self.name, *(f"{self.name}/{part.name}" for part in self.partitions)]
        names = [name for directory in directories for name in self.snapshot.names(f"sys/block/{directory}/holders")]
        return [self.all_devices[name] for name in dict.fromkeys(names) if name in self.all_devices]

    def with_all_below(self) -> list[BlockDevice]:
        """Itself and everything below it, each once, the upper first."""
        by_name: dict[str, BlockDevice] = {}
        to_come = [self]
        while to_come:
            device = to_come.pop(0)
            if device.name not in by_name:
                by_name[device.name] = device
                to_come += device.below
        return list(by_name.values())

    @cached_property
    def partitions(self) -> list[Partition]:
        """Its partitions."""
        parts = []
        for name in self.snapshot.names(f"sys/block/{self.name}"):
            # The kernel names a partition by its device, and looking into every directory is what costs.
            if name.startswith(self.name) and self.snapshot.exists(f"sys/block/{self.name}/{name}/partition"):
                start, size = self._number_or_none(f"{name}/start") or 0, self._number_or_none(f"{name}/size") or 0
                number = self.text(f"{name}/dev") or ""
                parts.append(Partition(name, number, start * SECTOR_BYTES, size * SECTOR_BYTES))
        return parts

    @cached_property
    def adapter(self) -> Adapter | None:
        """The SCSI adapter of a disk; `None` for other devices."""
        for part in self.snapshot.resolve(f"sys/block/{self.name}").split("/"):
            if re.fullmatch(r"host\d+", part) and self.snapshot.exists(f"sys/class/scsi_host/{part}"):
                host = f"sys/class/scsi_host/{part}"
                return Adapter(
                    part,
                    self.snapshot.text(f"{host}/proc_name") or "",
                    self.snapshot.number(f"{host}/sg_tablesize"),
                    self.snapshot.number(f"{host}/can_queue"),
                )
        return None

    @cached_property
    def numa_node(self) -> int | None:
        """The NUMA node of its adapter or controller; `None` where it has none, or the machine has one node."""
        path = self.snapshot.resolve(f"sys/block/{self.name}")
        while "/" in path:
            path = path.rpartition("/")[0]
            node = self.snapshot.text(f"{path}/numa_node")
            if node is not None:
                return int(node) if is_whole(node) else None
        return None

    def _number_or_none(self, attribute: str) -> int | None:
        """A number that only tells what the device is: nothing where it cannot be read."""
        try:
            return self.number(attribute)
        except Unreadable:
            return None


def devices(snapshot: Snapshot) -> Mapping[str, BlockDevice]:
    """The devices of /sys/block by name, in the order in which people count."""
    by_name: dict[str, BlockDevice] = {}
    for name in sorted(snapshot.names("sys/block"), key=_name_order):
        by_name[name] = BlockDevice(name, snapshot, by_name)
    return by_name


def by_number(known: Mapping[str, BlockDevice], number: str) -> BlockDevice | None:
    """The device with a number `8:1`, that of the whole where it is a partition's."""
    for device in known.values():
        if number in {device.text("dev"), *(part.number for part in device.partitions)}:
            return device
    return None


def by_path(known: Mapping[str, BlockDevice], snapshot: Snapshot, path: str) -> BlockDevice | None:
    """The device of a path below /dev: its own, of a partition, or of a name of the device mapper."""
    name = path.rpartition("/")[2]
    for device in known.values():
        if path.startswith("/dev/mapper/") and device.text("dm/name") == name:
            return device
    return _device_or_parent(known, snapshot, name)


def _device_or_parent(known: Mapping[str, BlockDevice], snapshot: Snapshot, name: str) -> BlockDevice | None:
    """The device of that name, or the one that has a partition of that name."""
    if name in known:
        return known[name]
    return next(
        (device for device in known.values() if snapshot.exists(f"sys/block/{device.name}/{name}/partition")), None
    )


def _name_order(name: str) -> tuple[str, int, str]:
    return name.rstrip("0123456789"), len(name), name

"""The limits of file systems: size of a target, number of inodes and of targets, width of a group.

Each limit has its source. Not: what it takes for itself (`file_systems`), groups that are impossible (`redundancy`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ioassay.sizing.arithmetic import Origin, Value, exactly, quotient
from ioassay.sizing.capacity import brick_capacity, ext4
from ioassay.sizing.capacity.redundancy import geometry
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick, FileSystem
from ioassay.sizing.model import BrickChoice, Size

_MOST_INODES = exactly(
    "inodes of a file system",
    2**32 - 1,
    origin=Origin("published", "e2fsprogs, misc/mke2fs.c: too many inodes, raise inode ratio; Linux, ext4/blocks.rst"),
)
_WIDEST_RAIDZ = exactly(
    "drives of a raidz group",
    9,
    origin=Origin("published", "OpenZFS documentation, Basic Concepts, RAIDZ: the recommended number is 3 to 9"),
)
_MOST_TARGETS = {
    "beegfs": exactly(
        "storage targets",
        65535,
        origin=Origin("published", "BeeGFS documentation 8, Setting node or target IDs: 16-bit values from 1"),
    )
}
"""The limits of a storage system, by its `software`; those of a file system stand in its catalogue."""
_FORMATS = {"ext4": ext4.MKE2FS, "ldiskfs": ext4.MKFS_LUSTRE, "ldiskfs-2.8": ext4.MKFS_LUSTRE}


@dataclass(frozen=True)
class FileSystemLimit:
    """Something that a file system limits, and how much of it there is."""

    brick: str
    """The brick with its drive; empty of what concerns all of a configuration."""
    what: str
    """As a noun: `capacity of a target`."""
    has: Value
    most: Value
    kind: Literal["supported", "recommended"]

    @property
    def is_kept(self) -> bool:
        """Whether there is no more than the limit."""
        return self.has.interval.nominal <= self.most.interval.nominal

    @property
    def source(self) -> str:
        """Where the limit is printed, and what else must be known of it."""
        origin = self.most.origin
        printed = f"{origin.source.rstrip('.')}." if isinstance(origin, Origin) else ""
        return f"{printed} {self.most.note}".strip()


def limits_of_brick(catalogue: Catalogue, choice: BrickChoice) -> Iterator[FileSystemLimit]:
    """The limits of one brick. Raises `UsageError` for a geometry that is impossible."""
    brick = catalogue.find(choice.brick, Brick)
    layout = geometry(catalogue, choice.brick)
    target = _target(catalogue, choice)
    largest = _figure(catalogue, brick.file_system, "largest_target", "largest target")
    if largest is not None:
        yield FileSystemLimit(choice.name, "capacity of a target", target, largest, "supported")
    if (format := _FORMATS.get(brick.file_system or "")) is not None:
        inodes = exactly("inodes of a target", int(target.nominal / format.bytes_per_inode(target.nominal)))
        yield FileSystemLimit(choice.name, "inodes of a target", inodes, _MOST_INODES, "supported")
    if layout.layout.startswith("raidz"):
        drives = exactly("drives of a raidz group", layout.drives)
        yield FileSystemLimit(choice.name, "drives of a raidz group", drives, _WIDEST_RAIDZ, "recommended")


def limits(catalogue: Catalogue, size: Size) -> Iterator[FileSystemLimit]:
    """The limits of all that is bought: of each kind of brick, and how many targets one file system has."""
    targets: dict[str, tuple[int, Value]] = {}
    for counted, choice in zip(size.configuration.bricks, size.bricks, strict=True):
        yield from limits_of_brick(catalogue, choice)
        brick = catalogue.find(choice.brick, Brick)
        for name, most in _most_targets(catalogue, brick):
            before, _ = targets.get(name, (0, most))
            targets[name] = (before + counted.count * brick.redundancy.groups, most)
    for name, (number, most) in targets.items():
        yield FileSystemLimit("", f"targets of {name}", exactly("targets", number), most, "supported")
        striped = _figure(catalogue, name, "most_stripes", "targets of a file")
        if striped is not None:
            yield FileSystemLimit(
                "", f"targets of {name} for one file", exactly("targets", number), striped, "recommended"
            )


def most_of_brick(catalogue: Catalogue, brick: Brick) -> int | None:
    """How many of a brick one file system takes; `None` where nothing says that."""
    most = [
        int(most_targets.interval.nominal) // brick.redundancy.groups
        for _, most_targets in _most_targets(catalogue, brick)
    ]
    return min(most, default=None)


def _most_targets(catalogue: Catalogue, brick: Brick) -> Iterator[tuple[str, Value]]:
    """How many targets its file system takes, and its storage system, each with its name."""
    if brick.file_system is not None:
        most = _figure(catalogue, brick.file_system, "most_targets", "targets of a file system")
        if most is not None:
            yield brick.file_system, most
    if brick.software in _MOST_TARGETS:
        yield brick.software, _MOST_TARGETS[brick.software]


def _target(catalogue: Catalogue, choice: BrickChoice) -> Value:
    groups = catalogue.find(choice.brick, Brick).redundancy.groups
    return quotient("capacity of a target", brick_capacity(catalogue, choice).protected, exactly("groups", groups))


def _figure(catalogue: Catalogue, name: str | None, key: str, what: str) -> Value | None:
    entry = catalogue.entries.get(name or "")
    return catalogue.value(entry.name, key, what) if entry and isinstance(entry.component, FileSystem) else None

"""Drives that protect each other, as far as rates depend on them.

Not: how many of them a brick has (`capacity.redundancy`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from ioassay.sizing.arithmetic import Value, exactly, quotient
from ioassay.sizing.capacity import file_systems
from ioassay.sizing.capacity.records import data_share, record_size, sector_size
from ioassay.sizing.capacity.redundancy import Geometry, geometry
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick, Drive, Layout
from ioassay.sizing.model import BrickChoice
from ioassay.systems.amounts import Dimension

PER_OPERATION = Dimension(bytes=1, operations=-1)

Family = Literal["none", "mirror", "RAID", "erasure-coded", "raidz", "dRAID"]

_FAMILY: dict[Layout, Family] = {
    "none": "none",
    "mirror": "mirror",
    "raid10": "mirror",
    "raid5": "RAID",
    "raid6": "RAID",
    "raidz1": "raidz",
    "raidz2": "raidz",
    "raidz3": "raidz",
    "draid1": "dRAID",
    "draid2": "dRAID",
    "draid3": "dRAID",
    "erasure": "erasure-coded",
}


@dataclass(frozen=True)
class Groups:
    """Equal groups of drives. A group of `raid10` counts as as many mirrors as it has data drives."""

    family: Family
    groups: int
    drives: int
    """The drives of a group, all at work: of declustered layouts with those whose space is left free."""
    data: int
    parity: int
    """In a stripe; of a mirror its further copies."""
    stripes_at_once: int
    """Full records of ZFS that a group reads or writes at a time, each with all drives of its stripe.

    floor((N - S) / (D + P)) (OpenZFS documentation, "dRAID Howto", which calls raidz similar).
    """
    chunk: int | None
    record: Value | None
    """Only of ZFS: bytes for each operation."""
    moved_per_byte: Value
    """Bytes that drives write for each byte of a full stripe, or of a full record of ZFS."""
    is_disk: bool
    """True of disks, whose heads pass over what they skip; false of flash."""

    @property
    def is_zfs(self) -> bool:
        """True where records are written elsewhere each time, and each lies on all drives of a stripe."""
        return self.record is not None


def groups_of(catalogue: Catalogue, choice: BrickChoice) -> Groups:
    """The groups of a brick. Raises `UsageError` for a geometry that is impossible."""
    brick = catalogue.find(choice.brick, Brick)
    group = geometry(catalogue, choice.brick).lost_together
    record, moved = _records(catalogue, choice.brick, brick, group)
    return Groups(
        family=_FAMILY[group.layout],
        groups=group.groups,
        drives=group.drives,
        data=group.data,
        parity=group.parity,
        stripes_at_once=max(group.drives_in_use // group.width, 1),
        chunk=brick.redundancy.chunk,
        record=record,
        moved_per_byte=moved or _stripe_over_data(group),
        is_disk=catalogue.find(choice.drive, Drive).media == "hdd",
    )


def _records(catalogue: Catalogue, name: str, brick: Brick, geometry: Geometry) -> tuple[Value | None, Value | None]:
    """Only of ZFS: the record, and the bytes moved for each of its bytes."""
    if not geometry.is_zfs:
        return None, None
    file_system = file_systems.name_for(catalogue, name, brick.file_system, geometry)
    record = record_size(brick.redundancy, *file_systems.record_default(file_system))
    share = data_share(geometry, record, sector_size(brick.redundancy))
    moved = quotient("bytes moved per byte written", exactly("whole", Fraction(1)), share)
    return replace(record, dimension=PER_OPERATION), moved


def _stripe_over_data(geometry: Geometry) -> Value:
    drives, of_data = exactly("drives of a stripe", geometry.width), exactly("data drives of a stripe", geometry.data)
    return quotient("drives of a stripe per data drive", drives, of_data)

"""The capacity of drives: raw, after spares, parity and padding, and what the file system leaves (`df`).

    redundancy      which drives hold data, parity or copies, and which are spares
    target          what one file system is made on
    records         what a record takes on raidz and dRAID: parity and padding
    file_systems    what file systems take for themselves; `zfs` and `ext4` one by one

Left out is what RAID controllers keep of each drive for themselves: vendors do not publish it.
Not: how fast they are (`rates`), what may fail (`failure_domains`).
"""

from __future__ import annotations

from ioassay.sizing.arithmetic import Value, exactly, product, quotient
from ioassay.sizing.capacity import file_systems
from ioassay.sizing.capacity.records import data_share, record_size, sector_size
from ioassay.sizing.capacity.redundancy import Geometry, geometry
from ioassay.sizing.capacity.target import Target
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick
from ioassay.sizing.model import BrickChoice, Capacity


def brick_capacity(catalogue: Catalogue, choice: BrickChoice) -> Capacity:
    """The capacity of one brick, in bytes. Raises `UsageError` for a geometry that is impossible."""
    brick = catalogue.find(choice.brick, Brick)
    layout = geometry(catalogue, choice.brick)
    drive = catalogue.value(choice.drive, "capacity", "capacity of a drive")
    assert drive is not None  # every drive has one
    file_system = file_systems.name_for(catalogue, choice.brick, brick.file_system, layout)
    record = record_size(brick.redundancy, *file_systems.record_default(file_system))
    sector = sector_size(brick.redundancy)
    group = _protected(layout, drive, record, sector)
    groups = exactly("groups", layout.groups)
    usable = file_systems.usable(catalogue, file_system, Target(layout, drive, group, record, sector))
    return Capacity(
        raw=product("raw capacity", exactly("drives", brick.drive_count), drive),
        protected=product("protected capacity", groups, group),
        usable=product("usable capacity", groups, usable),
    )


def _protected(geometry: Geometry, drive: Value, record: Value, sector: Value) -> Value:
    """The bytes of data that a group holds."""
    name = "protected capacity of a group"
    in_use = exactly(
        "drives less distributed spares" if geometry.distributed_spares else "drives", geometry.drives_in_use
    )
    if geometry.is_zfs:
        return product(name, in_use, drive, data_share(geometry, record, sector))
    if geometry.is_declustered:
        data, width = exactly("data pieces", geometry.data), exactly("pieces of a stripe", geometry.width)
        return product(name, in_use, drive, quotient("share for data", data, width))
    return product(name, exactly("data drives", geometry.data), drive)

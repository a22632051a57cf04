"""What drives hold: raw, after spares, parity and padding, and what the file system leaves (`df`).

Not: how fast they are (`rates`).
"""

from __future__ import annotations

from ioassay.sizing.arithmetic import exactly, product
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick
from ioassay.sizing.model import BrickChoice, Capacity


def brick_capacity(catalogue: Catalogue, choice: BrickChoice) -> Capacity:
    """What one brick holds."""
    brick = catalogue.find(choice.brick, Brick)
    drive = catalogue.value(choice.drive, "capacity", "capacity of a drive")
    assert drive is not None  # every drive has one
    raw = product("raw capacity", exactly("drives", brick.drive_count), drive)
    groups = exactly("groups", brick.redundancy.groups)
    protected = product("protected capacity", groups, exactly("data drives of a group", brick.redundancy.data), drive)
    return Capacity(raw, protected, protected.named("usable capacity"))

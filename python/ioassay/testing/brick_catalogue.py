"""A small catalogue with round figures, to size bricks of: every figure is made up.

A brick has 60 disks of 200 MB/s and 100 IOPS in six groups of RAID 6, 8+2, in one enclosure, without anything else;
what a test is about it adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioassay.sizing.catalogue import GROUPS, Catalogue, Entry
from ioassay.sizing.components import CatalogueFile
from ioassay.sizing.model import BrickChoice

RAID6 = {"layout": "raid6", "data": 8, "parity": 2, "groups": 6, "chunk": "128k"}

DISKS = BrickChoice("brick", "disk")
FLASH = BrickChoice("brick", "flash")


def figure(value: str) -> dict[str, str]:
    """A figure of a catalogue."""
    return {"value": value, "assumed": "made up for a test"}


def brick(**keys: Any) -> dict[str, Any]:
    """A brick of the catalogue, with other keys than the usual ones."""
    usual = {
        "title": "Brick",
        "drives": ["disk", "flash"],
        "drive_count": 60,
        "redundancy": RAID6,
        "enclosures": {"shelf": 1},
    }
    return usual | keys


def catalogue(bricks: Mapping[str, Any] | None = None, **groups: Mapping[str, Any]) -> Catalogue:
    """The catalogue with these `bricks`, else the usual one, and further components by group."""
    disk = {"write": figure("200MB/s"), "read": figure("200MB/s")}
    disk |= {"random_write": figure("100 IOPS"), "random_read": figure("100 IOPS")}
    components: dict[str, dict[str, Any]] = {
        "drives": {
            "disk": {"title": "Disk", "media": "hdd", "capacity": figure("4TB"), **disk},
            "flash": {"title": "Flash", "media": "nvme", "capacity": figure("4TB"), **disk},
            "unknown": {"title": "Disk without figures", "media": "hdd", "capacity": figure("4TB")},
        },
        "enclosures": {"shelf": {"title": "Shelf", "slots": 60}},
        "servers": {"server": {"title": "Server"}},
        "bricks": dict(bricks or {"brick": brick()}),
    }
    for group, more in groups.items():
        components[group] = components.get(group, {}) | dict(more)
    file = CatalogueFile.model_validate(as_yaml({"name": "made-up", "title": "Made up", **components}))
    return Catalogue(
        {
            name: Entry(name, component, {}, None, "")
            for group in GROUPS
            for name, component in getattr(file, group).items()
        },
        {},
    )


def as_yaml(tree: Any) -> Any:
    """The tree with its numbers as text, as they come from a file."""
    if isinstance(tree, Mapping):
        return {key: as_yaml(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [as_yaml(value) for value in tree]
    return str(tree) if isinstance(tree, int) else tree

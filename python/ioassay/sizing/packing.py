"""Bricks, modules and switches into racks: each stays in one rack, because its cables do not reach the next.

Not: which of them there are (`search`), drawing (`figures.sizing`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """What is put into a rack as a whole."""

    name: str
    rack_units: int
    parts: tuple[tuple[str, int], ...]
    """Each component with its height, from the bottom upward."""


@dataclass(frozen=True)
class PackedRack:
    """A rack with what stands in it, from the bottom upward."""

    units: int
    items: tuple[Item, ...]

    @property
    def free_units(self) -> int:
        """Rack units that are left."""
        return self.units - sum(item.rack_units for item in self.items)

"""Bricks, modules and switches into racks: each stays in one rack, because its cables do not reach the next.

First-fit decreasing packs almost everything that can be packed (Garey and Johnson, *Computers and Intractability*,
1979, section 6.1); where it fails, `search.racks` has the question decided exactly.

Not: which of them there are (`search`), drawing (`figures.sizing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Rack
from ioassay.sizing.configuration import Configuration
from ioassay.sizing.parts import Name, choice_of, standing


@dataclass(frozen=True)
class Item:
    """A box that is put into a rack as a whole."""

    name: str
    rack_units: int
    parts: tuple[tuple[str, int], ...]
    """Each component with its height, from the bottom upward."""
    weight: Fraction | None = None
    """In kg; `None` where it is unknown."""
    power: Fraction | None = None
    """In W; `None` where it is unknown."""


@dataclass(frozen=True)
class PackedRack:
    """A rack with what stands in it, from the bottom upward."""

    units: int
    items: tuple[Item, ...]

    @property
    def free_units(self) -> int:
        """Rack units that are left."""
        return self.units - sum(item.rack_units for item in self.items)

    @property
    def weight(self) -> Fraction | None:
        """The weight of all items, in kg; `None` where one is unknown."""
        weights = [item.weight for item in self.items if item.weight is not None]
        return sum(weights, Fraction(0)) if len(weights) == len(self.items) else None


@dataclass(frozen=True)
class RackLimits:
    """The limits of one rack."""

    units: int
    weight: Fraction | None = None
    """In kg; `None` where it does not limit."""
    power: Fraction | None = None
    """In W, likewise."""

    def takes(self, items: Sequence[Item]) -> bool:
        """Whether all of `items` may stand in one rack. What is limited must be known of them."""
        return (
            sum(item.rack_units for item in items) <= self.units
            and _is_within(self.weight, (item.weight for item in items))
            and _is_within(self.power, (item.power for item in items))
        )

    def most(self, item: Item) -> int:
        """How many of an item one rack takes."""
        shares = [Fraction(self.units, item.rack_units)]
        if self.weight is not None and item.weight:
            shares.append(self.weight / item.weight)
        if self.power is not None and item.power:
            shares.append(self.power / item.power)
        return int(min(shares))


def racks_of(catalogue: Catalogue, configuration: Configuration) -> tuple[PackedRack, ...]:
    """The racks that a configuration takes, by height alone.

    None where the height of a box is unknown, or a brick is higher than a rack. Raises `UsageError` for what the
    catalogue does not have.
    """
    bought: list[tuple[Name, int]] = [
        *((choice_of(catalogue, counted), counted.count) for counted in configuration.bricks),
        *configuration.metadata.items(),
        *configuration.switches.items(),
    ]
    items = []
    for name, count in bought:
        parts = standing(catalogue, name)
        if not parts:
            return ()
        title = name if isinstance(name, str) else name.name
        items += [Item(title, sum(units for _, units in parts), parts)] * count
    units = catalogue.find(configuration.rack, Rack).units
    packed = first_fit(items, RackLimits(units)) or []
    return tuple(PackedRack(units, tuple(rack)) for rack in packed)


def first_fit(items: Sequence[Item], limits: RackLimits) -> list[list[Item]] | None:
    """The items in racks, each in the first that takes it, the tallest first; `None` where one fits into none."""
    racks: list[list[Item]] = []
    before, full = None, 0
    for item in sorted(items, key=lambda unpacked: (unpacked.rack_units, unpacked.weight or 0), reverse=True):
        if item != before:
            before, full = item, 0
        while full < len(racks) and not limits.takes([*racks[full], item]):
            full += 1  # what did not take the item does not take another one like it
        rack = racks[full] if full < len(racks) else None
        if rack is None:
            if not limits.takes([item]):
                return None
            racks.append(rack := [])
        rack.append(item)
    return racks


def patterns(heights: Sequence[int], units: int) -> list[tuple[int, ...]]:
    """All ways to fill a rack with items of these heights, the tallest first: how many of each, until none fits."""
    first, *others = heights
    if not others:
        return [(units // first,)]
    return [
        (number, *rest) for number in range(units // first + 1) for rest in patterns(others, units - number * first)
    ]


def _is_within(most: Fraction | None, each: Iterable[Fraction | None]) -> bool:
    return most is None or sum((amount or Fraction(0) for amount in each), Fraction(0)) <= most

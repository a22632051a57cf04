"""The parts of bricks and metadata modules, and those that stand in a rack.

Not: adding anything up (`evaluate`, `bill`), racks (`packing`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ioassay.errors import UsageError
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick, Drive, Enclosure, MetadataModule, Server
from ioassay.sizing.configuration import BrickCount
from ioassay.sizing.model import BrickChoice
from ioassay.sizing.quantities import Price
from ioassay.yaml_models.source import nearest

Name = BrickChoice | str
"""A brick with its drive, or the name of a metadata module or switch."""


def choice_of(catalogue: Catalogue, counted: BrickCount) -> BrickChoice:
    """The brick with its drive. Raises `UsageError` where the brick takes several and none is named."""
    brick = catalogue.find(counted.brick, Brick)
    if counted.drive is not None and counted.drive not in brick.drives:
        raise UsageError(f"{counted.brick} does not take {counted.drive}.", nearest(counted.drive, brick.drives))
    if counted.drive is None and len(brick.drives) > 1:
        raise UsageError(f"{counted.brick} takes several drives.", f"add `drive:` with {' or '.join(brick.drives)}")
    return BrickChoice(counted.brick, counted.drive or brick.drives[0])


def parts_of(catalogue: Catalogue, name: Name) -> Mapping[str, int]:
    """The parts of one, by name in the catalogue, drives included; empty for a switch."""
    if isinstance(name, BrickChoice):
        brick = catalogue.find(name.brick, Brick)
        drives = {name.drive: brick.drive_count}
        return {**brick.enclosures, **brick.controllers, **brick.adapters, **brick.servers, **drives}
    component = catalogue.entry(name).component
    return component.parts if isinstance(component, MetadataModule) else {}


def software_of(catalogue: Catalogue, name: Name) -> str | None:
    """The storage system that it can be part of; `None` where it goes with any."""
    component = catalogue.entry(whole_of(name)).component
    return component.software if isinstance(component, Brick | MetadataModule) else None


def whole_of(name: Name) -> str:
    """Its own name in the catalogue."""
    return name.brick if isinstance(name, BrickChoice) else name


def currencies(catalogue: Catalogue, name: Name) -> set[str]:
    """The currencies of the prices that are counted: its own, which stands for all its parts, else its parts'."""
    whole_price = catalogue.entry(whole_of(name)).component.price
    prices = (
        [whole_price]
        if whole_price is not None
        else [catalogue.entry(part).component.price for part in parts_of(catalogue, name)]
    )
    return {price.currency for price in prices if price is not None}


def without_figure(catalogue: Catalogue, name: Name, key: str, currency: str | None = None) -> list[str]:
    """The parts of a brick or module that lack `key`, which it lacks therefore; of prices also those not in `currency`.

    Itself, where it has no parts.
    """
    lacking = []
    for part in parts_of(catalogue, name) or [whole_of(name)]:
        component = catalogue.entry(part).component
        figure = getattr(component, key)
        in_another = isinstance(figure, Price) and currency is not None and figure.currency != currency
        stands = key != "rack_units" or isinstance(component, Enclosure | Server)
        if stands and (figure is None or in_another):
            lacking.append(f"{part}, which is in {figure.currency}," if in_another else part)
    return lacking


def standing(catalogue: Catalogue, name: Name) -> tuple[tuple[str, int], ...]:
    """The boxes in a rack, each with its rack units; empty where the height of one is unknown."""
    units = catalogue.entry(whole_of(name)).component.rack_units
    if units is not None:
        return ((whole_of(name), units),)
    parts: list[tuple[str, int]] = []
    for part, count in parts_of(catalogue, name).items():
        component = catalogue.entry(part).component
        if component.rack_units is not None:
            parts += [(part, component.rack_units)] * count
        elif isinstance(component, Enclosure | Server):
            return ()
    return tuple(parts)


def media_of(catalogue: Catalogue, drive: str) -> Literal["flash", "disk"]:
    """The media of a drive, in the words of `tiers`."""
    return "disk" if catalogue.find(drive, Drive).media == "hdd" else "flash"

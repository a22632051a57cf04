"""Racks as a table and as drawings; racks that are alike stand there once. Not: drawing (`figures.sizing.racks`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ioassay.reports.document import Column, Table, Text, numbers
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Enclosure, MetadataModule, Server, Switch
from ioassay.sizing.packing import Item, PackedRack

if TYPE_CHECKING:
    from ioassay.figures.picture import Picture
    from ioassay.figures.sizing import racks as figure


def table(racks: Sequence[PackedRack]) -> Table:
    """The items of each rack, and the free units."""
    rows: list[list[Text]] = [
        [
            title,
            ", ".join(f"{len(items)} × {items[0].name}" for items in _runs(rack)) or "empty",
            f"{rack.units - rack.free_units} of {rack.units} U",
            f"{rack.free_units} U",
        ]
        for title, rack in _different(racks)
    ]
    return Table([Column("Rack", wraps=False), Column("Holds"), *numbers("Used", "Free")], rows, "What the racks hold")


def _different(racks: Sequence[PackedRack]) -> Iterator[tuple[str, PackedRack]]:
    """Each kind of rack once, with the numbers of all such racks: `Racks 1 to 3`."""
    number = 1
    for rack, alike in groupby(racks):
        last = number + len(list(alike)) - 1
        yield f"Rack {number}" if last == number else f"Racks {number} to {last}", rack
        number = last + 1


def _runs(rack: PackedRack) -> Iterator[list[Item]]:
    """Items of a kind that stand one above the other."""
    return (list(items) for _, items in groupby(rack.items))


def pictures(catalogue: Catalogue, racks: Sequence[PackedRack], identifier: str) -> list[Picture]:
    """The drawings, each of as many racks as a page has room for; ids begin with `identifier`."""
    from ioassay.figures.sizing.racks import MOST_RACKS  # noqa: PLC0415

    different = list(_different(racks))
    repeats = " Racks that are alike are drawn once." if len(different) < len(racks) else ""
    return [
        _picture(catalogue, different[first : first + MOST_RACKS], f"{identifier}-{first + 1}", repeats)
        for first in range(0, len(different), MOST_RACKS)
    ]


def _picture(catalogue: Catalogue, racks: Sequence[tuple[str, PackedRack]], identifier: str, repeats: str) -> Picture:
    from ioassay.figures.picture import draw  # noqa: PLC0415
    from ioassay.figures.sizing import racks as figure  # noqa: PLC0415

    shown = [drawn(catalogue, title, rack) for title, rack in racks]
    described = "; ".join(
        f"{image.title}: {', '.join(group.label for group in image.groups)}, {rack.free_units} of {rack.units} U free"
        for image, (_, rack) in zip(shown, racks, strict=True)
    )
    return draw(
        figure.chart(shown),
        identifier,
        title="Racks from the front" if len(racks) > 1 else f"{racks[0][0]} from the front",
        data=figure.data(shown),
        caption=f"Units are counted from the floor.{repeats}",
        description=f"{described}.",
    )


def drawn(catalogue: Catalogue, title: str, rack: PackedRack) -> figure.Rack:
    """A rack as it is drawn."""
    from ioassay.figures.sizing import racks as figure  # noqa: PLC0415

    boxes, groups, unit = [], [], 1
    for items in _runs(rack):
        label = items[0].name if len(items) == 1 else f"{len(items)} × {items[0].name}"
        groups.append(figure.Group(unit, sum(item.rack_units for item in items), len(items), label))
        for item in items:
            above = unit + item.rack_units
            for name, height in item.parts or ((item.name, item.rack_units),):
                boxes.append(figure.Box(unit, height, _kind(catalogue, item, name), name))
                unit += height
            if unit < above:
                boxes.append(figure.Box(unit, above - unit, "other", item.name))
                unit = above
    if rack.free_units:
        boxes.append(figure.Box(unit, rack.free_units, "free", f"{rack.free_units} U free"))
    return figure.Rack(title, rack.units, tuple(boxes), tuple(groups))


def _kind(catalogue: Catalogue, item: Item, part: str) -> figure.Kind:
    whole, component = (catalogue.entries.get(name) for name in (item.name, part))
    if whole is not None and isinstance(whole.component, MetadataModule):
        return "metadata"
    match component.component if component is not None else None:
        case Enclosure():
            return "drives"
        case Server():
            return "servers"
        case Switch():
            return "network"
        case _:
            return "other"


def data(racks: Sequence[PackedRack]) -> list[dict[str, Any]]:
    """Every rack with its items, from the bottom upward."""
    return [
        {
            "rack_units": rack.units,
            "free_rack_units": rack.free_units,
            "items": [
                {
                    "name": item.name,
                    "rack_units": item.rack_units,
                    "parts": [{"name": name, "rack_units": height} for name, height in item.parts],
                }
                for item in rack.items
            ],
        }
        for rack in racks
    ]

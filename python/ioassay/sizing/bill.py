"""The bill of materials of a configuration: every part, how many, what one of them takes and costs, and the totals.

It counts as `evaluate` does: what a catalogue says of a whole brick or module stands for all its parts. Racks are
counted besides. Not: how it is shown (`reports.sizing.bill`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from ioassay.sizing.arithmetic import Value, exactly, product, total
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import MetadataModule, Rack
from ioassay.sizing.configuration import Configuration
from ioassay.sizing.names import noun
from ioassay.sizing.parts import Name, choice_of, parts_of, whole_of
from ioassay.systems.amounts import RACK_UNITS

Takes = Literal["rack_units", "power", "weight", "price"]
"""The resources of a room and of a budget that a part takes."""


@dataclass(frozen=True)
class BillLine:
    """A part, and how many there are."""

    kind: str
    """As in a sentence: `drive`, `metadata module`."""
    name: str
    title: str
    count: Value
    within: str
    """The brick or module that it is a part of; empty for one that is bought as such."""
    each: Mapping[Takes, Value]
    """The resources that one of them takes, where they are known."""
    counted: frozenset[Takes]
    """The resources counted here. The others are counted with the whole, or with the parts."""
    currency: str | None = None
    price_date: str | None = None

    def together(self, what: Takes) -> Value | None:
        """The amount that all of them take; `None` where it is unknown, or counted elsewhere."""
        each = self.each.get(what)
        if each is None or what not in self.counted:
            return None
        return product(f"{what.replace('_', ' ')} of all {self.name}", self.count, each)


@dataclass(frozen=True)
class Bill:
    """All parts: bricks and modules, each followed by its parts, then switches and racks."""

    lines: tuple[BillLine, ...]

    @property
    def currencies(self) -> tuple[str, ...]:
        """The currencies of the known prices, which are never added up across them."""
        return tuple(dict.fromkeys(line.currency for line in self.lines if line.currency is not None))

    def total(self, what: Takes, currency: str | None = None) -> Value | None:
        """The known amount of all parts together; of a price, those in `currency`. `None`: none is known."""
        lines = [line for line in self.lines if what != "price" or line.currency == currency]
        known = [value for line in lines if (value := line.together(what)) is not None]
        return total(what.replace("_", " "), *known) if known else None

    def unknown(self, what: Takes) -> tuple[str, ...]:
        """The parts that the total does not have because their catalogue does not say it."""
        lines = [line for line in self.lines if what in line.counted and what not in line.each]
        return tuple(dict.fromkeys(line.name for line in lines))


def bill(catalogue: Catalogue, configuration: Configuration, racks: int = 0) -> Bill:
    """The parts to buy. `racks`: how many racks it needs; 0 leaves them out.

    Raises `UsageError` for what the catalogue does not have.
    """
    return Bill(tuple(_lines(catalogue, configuration, racks)))


def _lines(catalogue: Catalogue, configuration: Configuration, racks: int) -> Iterator[BillLine]:
    for counted in configuration.bricks:
        choice = choice_of(catalogue, counted)
        yield from _lines_of_whole(catalogue, choice, counted.count)
    for module, count in configuration.metadata.items():
        catalogue.find(module, MetadataModule)
        yield from _lines_of_whole(catalogue, module, count)
    for name, count in configuration.switches.items():
        yield _line(catalogue, name, exactly("switches", count), frozenset(get_args(Takes)))
    if racks:
        name = configuration.rack
        catalogue.find(name, Rack)
        # It has rack units and power to give, and takes none.
        yield _line(catalogue, name, exactly("racks", racks), frozenset({"weight", "price"}))


def _lines_of_whole(catalogue: Catalogue, what: Name, count: int) -> Iterator[BillLine]:
    name, parts = whole_of(what), parts_of(catalogue, what)
    component = catalogue.entries[name].component
    amounts: frozenset[Takes] = frozenset(what for what in get_args(Takes) if getattr(component, what) is not None)
    everything: frozenset[Takes] = frozenset(get_args(Takes))
    wholes = exactly(f"{noun(type(component))}s", count)
    yield _line(catalogue, name, wholes, amounts if parts else everything)
    for part, number in parts.items():
        each = exactly(f"{part} each", number)
        yield _line(catalogue, part, product(part, wholes, each), everything - amounts, within=name)


def _line(catalogue: Catalogue, name: str, count: Value, counted: frozenset[Takes], *, within: str = "") -> BillLine:
    component = catalogue.entries[name].component
    if component.rack_units is None:  # it is built into something that has a height
        counted -= {"rack_units"}
    each: dict[Takes, Value] = {}
    if component.rack_units is not None:
        each["rack_units"] = exactly(f"rack units of {name}", component.rack_units, RACK_UNITS)
    for what in ("power", "weight", "price"):
        value = catalogue.value(name, what, f"{what} of {name}")
        if value is not None:
            each[what] = value
    price = component.price
    return BillLine(
        kind=noun(type(component)),
        name=name,
        title=component.title,
        count=count,
        within=within,
        each=each,
        counted=counted,
        currency=price.currency if price else None,
        price_date=price.date if price else None,
    )

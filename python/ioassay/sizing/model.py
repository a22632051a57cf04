"""The result of an evaluation, as types: capacity, rates with their limits, and the resources taken.

Not: computing any of it (`evaluate`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ioassay.sizing.arithmetic import Value
from ioassay.sizing.components import IoKind, MetadataKind, RateKind
from ioassay.sizing.configuration import Configuration
from ioassay.sizing.requirements import Condition


@dataclass(frozen=True)
class BrickChoice:
    """A kind of brick with its drive: what can be bought."""

    brick: str
    drive: str

    @property
    def name(self) -> str:
        """`md3460-performance with nl-sas-4tb`."""
        return f"{self.brick} with {self.drive}"


@dataclass(frozen=True)
class Capacity:
    """Bytes of a brick, or of a configuration, from the drives upward."""

    raw: Value
    """All drives, spares included."""
    protected: Value
    """After spares, parity and padding: what file systems are made on."""
    usable: Value
    """The size that `df` shows."""


@dataclass(frozen=True)
class Ceiling:
    """The rate that one place on the path would carry, if nothing else limited it."""

    place: str
    """As a noun in the plural or a mass noun: `RAID controllers`, `network adapters of the servers`."""
    value: Value


@dataclass(frozen=True)
class Rate:
    """A rate, and why it is no higher."""

    kind: RateKind
    value: Value
    ceilings: tuple[Ceiling, ...]
    """In the order of the path, from the drives to the clients; the lowest of them limits."""

    @property
    def limit(self) -> Ceiling:
        """The ceiling that limits."""
        return min(self.ceilings, key=lambda ceiling: ceiling.value.interval.nominal)

    @property
    def next(self) -> Ceiling | None:
        """The limit after this one: the lowest of other places that carry more."""
        limit = self.limit
        others = [
            ceiling
            for ceiling in self.ceilings
            if ceiling.place != limit.place and ceiling.value.nominal > limit.value.nominal
        ]
        return min(others, key=lambda ceiling: ceiling.value.interval.nominal, default=None)


Rates = Mapping[RateKind, Rate]
"""Kinds without a known ceiling are missing: their rate is unknown."""


@dataclass(frozen=True)
class BrickSize:
    """The capacity, rates and resources of one brick."""

    choice: BrickChoice
    capacity: Capacity
    rates: Mapping[Condition, Mapping[IoKind, Rate]]
    """In each condition; without the network beyond its own adapters."""
    rack_units: Value | None
    power: Value | None
    """The power of all parts together; `None` where a part's is unknown. So are weight, price and rack units."""
    weight: Value | None
    price: Value | None


@dataclass(frozen=True)
class ModuleSize:
    """The rates and resources of one metadata module."""

    module: str
    rates: Mapping[MetadataKind, Rate]
    rack_units: Value | None
    power: Value | None
    weight: Value | None
    price: Value | None


@dataclass(frozen=True)
class Size:
    """All that follows from a configuration."""

    name: str
    configuration: Configuration
    bricks: Mapping[BrickChoice, BrickSize]
    modules: Mapping[str, ModuleSize]
    capacity: Capacity
    rates: Mapping[Condition, Rates]
    scaling: str
    """The law that takes one brick to many, as a clause: `linear, because …`."""
    rack_units: Value | None
    power: Value | None
    weight: Value | None
    price: Value | None
    currency: str | None

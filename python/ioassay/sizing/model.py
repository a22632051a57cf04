"""What follows from a configuration, as types: what it holds, what it does and what limits it, what it takes.

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
    """Of all drives, spares included."""
    protected: Value
    """After spares, parity and padding: what file systems are made on."""
    usable: Value
    """What `df` shows."""


@dataclass(frozen=True)
class Ceiling:
    """What one place on the path would carry, if nothing else limited it."""

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
        """What would limit if the limit were gone: the lowest of other places that carry more."""
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
    """What one brick holds, does and takes."""

    choice: BrickChoice
    capacity: Capacity
    rates: Mapping[Condition, Mapping[IoKind, Rate]]
    """In each condition; without the network beyond its own adapters."""
    rack_units: Value | None
    power: Value | None
    """Of all parts together; `None` where a part's is unknown. So are weight, price and rack units."""
    weight: Value | None
    price: Value | None


@dataclass(frozen=True)
class ModuleSize:
    """What one metadata module does and takes."""

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
    """Which law takes one brick to many, as a clause: `linear, because …`."""
    rack_units: Value | None
    power: Value | None
    weight: Value | None
    price: Value | None
    currency: str | None

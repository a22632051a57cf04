"""The things that can be bought: a brick with its drives, a metadata module, a switch, with what one gives and takes.

Not: which of them are considered (`market`), how many of each are bought (`problem`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, cast

from ioassay.errors import UsageError
from ioassay.sizing.arithmetic import Value
from ioassay.sizing.capacity.limits import most_of_brick
from ioassay.sizing.catalogue import Catalogue, Entry
from ioassay.sizing.components import Brick, MetadataModule, RateKind, Scaling, Switch
from ioassay.sizing.evaluate import brick_size, module_size
from ioassay.sizing.model import BrickChoice, BrickSize, ModuleSize, Rate
from ioassay.sizing.parts import Name, currencies, parts_of, standing, whole_of
from ioassay.sizing.rates.network import network_ports
from ioassay.sizing.rates.scaling import has_points, multiple
from ioassay.sizing.requirements import Requirements
from ioassay.sizing.search.model import in_tier, kind_of


@dataclass(frozen=True, eq=False)
class Candidate:
    """A thing that is bought as a whole. Numbers are nominal, in base units, as in `evaluate`. Equal to itself only."""

    kind: Literal["brick", "metadata module", "switch"]
    name: Name
    gives: Mapping[str, Fraction]
    """The amounts that one gives, by key of the need: `usable`, `flash/write`; of a switch `ports`, `link` bytes/s."""
    takes: Mapping[str, Fraction]
    """The resources that one takes: `rack_units`, `power`, `weight`, `price`, `switch_ports`; without unknown ones."""
    stands: tuple[tuple[str, int], ...]
    """The boxes in the rack, each with its rack units."""
    scaling: Scaling | None = None
    """How its rates grow with their number; `None`: unknown, so only one is considered."""
    software: str | None = None
    """The storage system that it is part of, with nothing else of other software; `None` goes with any."""
    scaled_by: Entry | None = None
    """The entry that has the scaling, where that is in the catalogue."""
    most: int | None = None
    """How many of it one file system takes; `None` where nothing says that."""
    tier: str = ""
    """The tier that it is bought for; "" where there are none, and of switches, which all tiers share."""

    @property
    def title(self) -> str:
        """The name in a sentence."""
        name = self.name.name if isinstance(self.name, BrickChoice) else self.name
        return f"{name} in {self.tier}" if self.tier else name

    @property
    def is_linear(self) -> bool:
        """Whether all that it gives grows with its number."""
        return self.kind == "switch" or (self.scaling is not None and self.scaling.by == "linear")

    @property
    def is_alone(self) -> bool:
        """Whether there can be one only, because nothing says what several do together."""
        return self.kind != "switch" and self.scaling is None

    def is_possible(self, count: int) -> bool:
        """Whether so many can be evaluated: nothing goes beyond a table, and several need a scaling."""
        if count < 2 or self.is_linear:
            return True
        scaling = self.scaling
        return scaling is not None and all(
            self._multiple(what, count) is not None
            for what in self.gives
            if has_points(scaling, cast(RateKind, kind_of(what)))
        )

    def together(self, what: str, count: int) -> Fraction | None:
        """The amount that `count` of them give together; `None` where it is unknown.

        Hardware carries no more than so many times what one carries, whatever a scaling says (`rates.together`).
        """
        each = self.gives.get(what, Fraction(0))
        if kind_of(what) == "usable" or self.is_linear or count < 2:
            return each * count
        times = self._multiple(what, count)
        return None if times is None else each * min(times, Fraction(count))

    def _multiple(self, what: str, count: int) -> Fraction | None:
        key = (what, count)
        if key not in self._multiples:
            self._multiples[key] = self._computed_multiple(what, count)
        return self._multiples[key]

    @cached_property
    def _multiples(self) -> dict[tuple[str, int], Fraction | None]:
        return {}

    def _computed_multiple(self, what: str, count: int) -> Fraction | None:
        scaling, entry, kind = self.scaling, self.scaled_by, cast(RateKind, kind_of(what))
        if scaling is None or not has_points(scaling, kind):
            return None
        sources, folder = (entry.sources, entry.folder) if entry else (None, None)
        try:
            return multiple(scaling, kind, count, sources, folder).interval.nominal
        except UsageError:  # beyond the table
            return None


def candidate_of(
    requirements: Requirements, catalogue: Catalogue, name: Name, currency: str | None, tier: str = ""
) -> Candidate:
    """A brick, metadata module or switch, for a tier; of prices those in `currency` count."""
    entry, stands = catalogue.entry(whole_of(name)), standing(catalogue, name)
    component = entry.component
    if isinstance(component, Switch):
        known = {key: catalogue.value(entry.name, key, key) for key in ("power", "weight", "price")}
        link = catalogue.value(entry.name, "link", "link of a port")
        assert link is not None  # every switch has one
        ports = {"ports": Fraction(component.ports), "link": link.interval.nominal}
        return Candidate("switch", name, ports, _takes(catalogue, name, known, stands, currency), stands)
    assert isinstance(component, Brick | MetadataModule)  # nothing else is bought as a whole
    size: BrickSize | ModuleSize
    if isinstance(name, BrickChoice):
        size = brick_size(catalogue, name, requirements.request, [requirements.rates_hold])
        gives = {"usable": size.capacity.usable, **_values(size.rates[requirements.rates_hold])}
    else:
        size = module_size(catalogue, name)
        gives = _values(size.rates)
    known = {"power": size.power, "weight": size.weight, "price": size.price}
    amounts = _nominal(gives)
    if tier:
        of_all = {"usable": amounts["usable"]} if "usable" in amounts else {}
        amounts = {in_tier(tier, kind): rate for kind, rate in amounts.items()} | of_all
    return Candidate(
        kind="brick" if isinstance(name, BrickChoice) else "metadata module",
        name=name,
        gives=amounts,
        takes=_takes(catalogue, name, known, stands, currency),
        stands=stands,
        scaling=component.scaling or requirements.scaling,
        software=component.software,
        scaled_by=entry if component.scaling else None,
        most=most_of_brick(catalogue, component) if isinstance(component, Brick) else None,
        tier=tier,
    )


def _takes(
    catalogue: Catalogue,
    name: Name,
    known: Mapping[str, Value | None],
    stands: tuple[tuple[str, int], ...],
    currency: str | None,
) -> Mapping[str, Fraction]:
    amounts = _nominal({key: value for key, value in known.items() if value is not None})
    if currencies(catalogue, name) != {currency}:
        amounts.pop("price", None)
    if stands:
        amounts["rack_units"] = Fraction(sum(units for _, units in stands))
    return amounts | {"switch_ports": Fraction(network_ports(catalogue, parts_of(catalogue, name)))}


def _values(rates: Mapping[Any, Rate]) -> dict[str, Value]:
    return {kind: rate.value for kind, rate in rates.items()}


def _nominal(values: Mapping[str, Value]) -> dict[str, Fraction]:
    return {key: value.interval.nominal for key, value in values.items()}

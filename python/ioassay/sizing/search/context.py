"""What one search asks of and with: requirements, catalogue, needs, candidates, the solver.

Not: the questions (`front`, `shortfalls`, `movements`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from ioassay.sizing.arithmetic import Value, exactly, product, total
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Rack
from ioassay.sizing.configuration import BrickCount, Configuration
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.model import BrickChoice, Size
from ioassay.sizing.packing import Item, PackedRack, RackLimits
from ioassay.sizing.requirements import Requirements
from ioassay.sizing.search.candidates import Candidate
from ioassay.sizing.search.finder import Finder, Found
from ioassay.sizing.search.market import Market, speed_kinds
from ioassay.sizing.search.model import Answer, Margin, Need
from ioassay.sizing.search.needs import clients_rates
from ioassay.sizing.search.problem import Counts, Problem


@dataclass(frozen=True)
class Context:
    """One search."""

    requirements: Requirements
    catalogue: Catalogue
    needs: tuple[Need, ...]
    market: Market
    finder: Finder

    @property
    def cost_key(self) -> str:
        """The cost as a key of what candidates take."""
        return "price" if self.market.cost == "price" else "rack_units"

    @property
    def has_bricks(self) -> bool:
        """Whether any brick can be considered; without one there is nothing to fall short of a need."""
        return any(one.kind == "brick" for one in self.market.candidates)

    @cached_property
    def rack(self) -> RackLimits:
        """What a rack takes by itself."""
        rack = self.catalogue.find(self.requirements.limits.rack, Rack)
        name = self.requirements.limits.rack
        power, weight = (self.catalogue.value(name, key, key) for key in ("most_power", "most_weight"))
        weight_kg, power_w = (value.interval.nominal if value is not None else None for value in (weight, power))
        return RackLimits(rack.units, weight_kg, power_w)

    @cached_property
    def speed(self) -> dict[str, Fraction]:
        """What a speed of 1 is: what is required, else what the fastest brick does; kinds that no brick does do not
        count.
        """
        required = {need.what: need.value.interval.nominal for need in self.needs}
        bricks = [one for one in self.market.candidates if one.kind == "brick"]
        known = [kind for kind in sorted(speed_kinds(self.needs)) if any(one.gives.get(kind) for one in bricks)]
        fastest = max((one.gives.get(kind, Fraction(0)) for one in bricks for kind in known), default=Fraction(1))
        return {kind: required.get(kind, fastest) for kind in known}

    def problem(self, needs: Iterable[Need], candidates: tuple[Candidate, ...] | None = None) -> Problem:
        """The problem of meeting `needs`, limits among them and no others."""
        requirements, wanted = self.requirements, {need.what: need.value.interval.nominal for need in needs}
        weights = [most for most in (wanted.pop("weight_per_rack", None), self.rack.weight) if most is not None]
        racks = wanted.pop("racks", None)
        most = {key: wanted.pop(what) for what, key in (("power", "power"), ("budget", "price")) if what in wanted}
        clients = requirements.clients
        return Problem(
            candidates=self.market.candidates if candidates is None else candidates,
            needs=wanted,
            most=most,
            racks=None if racks is None else int(racks),
            rack=replace(self.rack, weight=min(weights, default=None)),
            kinds=requirements.kinds,
            has_switches=bool(requirements.switches),
            has_modules=bool(requirements.metadata),
            clients=clients.count if clients else None,
            speed=self.speed,
            most_speed=min(
                (
                    rate.interval.nominal / self.speed[kind]
                    for kind, rate in clients_rates(requirements).items()
                    if kind in self.speed
                ),
                default=None,
            ),
        )

    def configuration(self, bought: dict[Candidate, int]) -> Configuration:
        """What is bought, as a configuration."""
        requirements = self.requirements
        return Configuration.model_construct(
            bricks=[
                BrickCount.model_construct(brick=one.name.brick, count=count, drive=one.name.drive)
                for one, count in bought.items()
                if isinstance(one.name, BrickChoice)
            ],
            metadata={str(one.name): count for one, count in bought.items() if one.kind == "metadata module"},
            switches={str(one.name): count for one, count in bought.items() if one.kind == "switch"},
            rack=requirements.limits.rack,
            clients=requirements.clients,
            scaling=requirements.scaling,
            request=requirements.request,
        )

    def size(self, bought: dict[Candidate, int]) -> Size:
        """All that follows from what is bought."""
        key = tuple((one.title, count) for one, count in bought.items())
        if key not in self._sizes:
            self._sizes[key] = evaluate(self.catalogue, self.requirements.name, self.configuration(bought))
        return self._sizes[key]

    @cached_property
    def _sizes(self) -> dict[tuple[tuple[str, int], ...], Size]:
        """What was evaluated: points of a front are found several times."""
        return {}

    def answer(self, problem: Problem, found: Found, role: str) -> Answer:
        """What was found, evaluated again. It meets all needs of `problem`, or this program is wrong."""
        size = self.size(problem.bought(found.counts))
        racks = self.racks(found)
        margins = []
        for need in self.needs:
            has = self.has(need.what, size, racks)
            assert has is not None, f"{need.what} is unknown"
            assert is_met(need, has), f"{need.what} is not met by {problem.bought(found.counts)}"
            margins.append(Margin(need, has))
        return Answer(role, size.configuration, size, tuple(margins), racks, self.cost(size))

    def racks(self, found: Found) -> tuple[PackedRack, ...]:
        """The racks of what was found."""
        return tuple(PackedRack(self.rack.units, _upward(rack)) for rack in found.racks)

    def holds(self, problem: Problem, counts: Counts) -> bool:
        """Whether all that follows from the counts meets the needs of a search; racks are packed apart."""
        size = self.size(problem.bought(counts))
        return all(is_met(need, self.has(need.what, size, ())) for need in self.needs if need.what in problem.needs)

    def cost(self, size: Size) -> Value:
        """The price, or the rack units."""
        if self.market.cost == "rack units":
            assert size.rack_units is not None  # heights of all candidates are known
            return size.rack_units
        assert size.price is not None  # prices of all candidates are known
        return size.price

    def cost_by(self, catalogue: Catalogue, bought: dict[Candidate, int]) -> Value:
        """The cost of what is bought, by another catalogue."""
        return self.cost(evaluate(catalogue, self.requirements.name, self.configuration(bought), conditions=()))

    def has(self, what: str, size: Size, racks: tuple[PackedRack, ...]) -> Value | None:
        """What a configuration has of a need, or takes of a limit; `None` where that is unknown."""
        match what:
            case "usable":
                return size.capacity.usable
            case "racks":
                return exactly("racks", len(racks))
            case "power":
                return size.power
            case "budget":
                return size.price
            case "weight_per_rack":
                return self._heaviest(size, racks)
            case _:
                rate = size.rates[self.requirements.rates_hold].get(what)  # type: ignore[call-overload]
                return rate.value if rate else None

    def _heaviest(self, size: Size, racks: tuple[PackedRack, ...]) -> Value | None:
        rack = max(racks, key=lambda one: one.weight or Fraction(0), default=None)
        if rack is None or rack.weight is None:
            return None
        weights = {
            **{choice.name: one.weight for choice, one in size.bricks.items()},
            **{name: one.weight for name, one in size.modules.items()},
            **{name: self.catalogue.value(name, "weight", f"weight of {name}") for name in size.configuration.switches},
        }
        counts = Counter(item.name for item in rack.items)
        known = [(name, count, weights[name]) for name, count in counts.items()]
        parts = [product(f"weight of all {name}", exactly(name, n), one) for name, n, one in known if one is not None]
        return total("weight of the heaviest rack", *parts)


def is_met(need: Need, has: Value | None) -> bool:
    """Whether what there is meets a need, or stays within a limit, by the numbers themselves."""
    if has is None:
        return False
    least, most = (has, need.value) if need.is_most else (need.value, has)
    return least.interval.nominal <= most.interval.nominal


def _upward(items: Iterable[Item]) -> tuple[Item, ...]:
    """What is heavy or tall at the bottom."""
    return tuple(sorted(items, key=lambda item: (item.weight or 0, item.rack_units), reverse=True))

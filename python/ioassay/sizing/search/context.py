"""The inputs of one search: requirements, catalogue, needs, candidates, the solver.

Not: the questions (`front`, `shortfalls`, `movements`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import get_args

from ioassay.sizing.arithmetic import Value, exactly, product, total
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Rack
from ioassay.sizing.configuration import BrickCount, Configuration
from ioassay.sizing.evaluate import evaluate
from ioassay.sizing.model import BrickChoice, Size
from ioassay.sizing.packing import Item, PackedRack, RackLimits
from ioassay.sizing.parts import Name
from ioassay.sizing.requirements import Condition, Requirements
from ioassay.sizing.search.candidates import Candidate
from ioassay.sizing.search.finder import BoughtCounts, Finder
from ioassay.sizing.search.market import Market, speed_kinds
from ioassay.sizing.search.model import Answer, Margin, Need, kind_of, tier_of
from ioassay.sizing.search.needs import clients_rates, needs_of_clients
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
        """Whether any brick can be considered, in each tier; without one there is nothing to fall short of a need."""
        return not self.empty_tiers and any(candidate.kind == "brick" for candidate in self.market.candidates)

    @property
    def empty_tiers(self) -> tuple[str, ...]:
        """The tiers of which no brick can be considered."""
        tiers = {candidate.tier for candidate in self.market.candidates if candidate.kind == "brick"}
        return tuple(name for name in self.requirements.tiers if name not in tiers)

    @property
    def is_decisive(self) -> bool:
        """Whether a search without an answer is a proof: there were bricks to try, or all are known and left out."""
        left_out = self.market.fragile or self.market.beyond_limits
        return self.has_bricks or (bool(left_out) and not self.market.unknown)

    @cached_property
    def rack(self) -> RackLimits:
        """The limits of a rack by itself."""
        rack = self.catalogue.find(self.requirements.limits.rack, Rack)
        name = self.requirements.limits.rack
        power, weight = (self.catalogue.value(name, key, key) for key in ("most_power", "most_weight"))
        weight_kg, power_w = (value.interval.nominal if value is not None else None for value in (weight, power))
        return RackLimits(rack.units, weight_kg, power_w)

    @cached_property
    def speed(self) -> dict[str, Fraction]:
        """The rates at a speed of 1: those required, else those of the fastest brick; kinds that no brick does do not
        count.
        """
        required = {need.what: need.value.interval.nominal for need in self.needs}
        bricks = [candidate for candidate in self.market.candidates if candidate.kind == "brick"]
        known = [kind for kind in sorted(speed_kinds(self.needs)) if any(brick.gives.get(kind) for brick in bricks)]
        fastest = max((brick.gives.get(kind, Fraction(0)) for brick in bricks for kind in known), default=Fraction(1))
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
            with_modules=self._with_modules,
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
            tiers=tuple(requirements.tiers) or ("",),
            of_clients=self._of_clients,
        )

    @cached_property
    def _with_modules(self) -> frozenset[str]:
        requirements = self.requirements
        if requirements.tiers:
            return frozenset(name for name, tier in requirements.tiers.items() if tier.metadata)
        return frozenset([""] if requirements.metadata else [])

    @cached_property
    def _of_clients(self) -> dict[str, Fraction] | None:
        if not self.requirements.tiers:
            return None
        return {need.what: need.value.interval.nominal for need in needs_of_clients(self.requirements)}

    def configuration(self, bought: Mapping[Candidate, int]) -> Configuration:
        """The bought parts as a configuration; the same bricks of several tiers together."""
        requirements = self.requirements
        counts = {kind: Counter[Name]() for kind in ("brick", "metadata module", "switch")}
        for candidate, count in bought.items():
            counts[candidate.kind][candidate.name] += count
        return Configuration.model_construct(
            bricks=[
                BrickCount.model_construct(brick=name.brick, count=count, drive=name.drive)
                for name, count in counts["brick"].items()
                if isinstance(name, BrickChoice)
            ],
            metadata={str(name): count for name, count in counts["metadata module"].items()},
            switches={str(name): count for name, count in counts["switch"].items()},
            rack=requirements.limits.rack,
            clients=requirements.clients,
            scaling=requirements.scaling,
            request=requirements.request,
        )

    def size(self, bought: Mapping[Candidate, int]) -> Size:
        """All that follows from what is bought; with tiers without rates, which each of them has."""
        conditions = () if self.requirements.tiers else get_args(Condition)
        return self._evaluated(self.requirements.name, bought, self.configuration(bought), conditions)

    def tiers(self, bought: Mapping[Candidate, int]) -> Mapping[str, Size]:
        """The evaluation of each tier. Clients and switches are those of all tiers: they are checked with the whole."""
        sizes = {}
        for tier in self.requirements.tiers:
            of_tier = {candidate: count for candidate, count in bought.items() if candidate.tier == tier}
            configuration = self.configuration(of_tier).model_copy(update={"clients": None})
            sizes[tier] = self._evaluated(tier, of_tier, configuration, get_args(Condition))
        return sizes

    def _evaluated(
        self, name: str, bought: Mapping[Candidate, int], configuration: Configuration, conditions: Sequence[Condition]
    ) -> Size:
        key = (name, *((candidate.title, count) for candidate, count in bought.items()))
        if key not in self._sizes:
            self._sizes[key] = evaluate(self.catalogue, name, configuration, conditions)
        return self._sizes[key]

    @cached_property
    def _sizes(self) -> dict[tuple[object, ...], Size]:
        """Earlier evaluations: points of a front are found several times."""
        return {}

    def answer(self, problem: Problem, solution: BoughtCounts, role: str) -> Answer:
        """The solution, evaluated again. It meets all needs of `problem`, or this program is wrong."""
        bought = problem.bought(solution.counts)
        size, tiers = self.size(bought), self.tiers(bought)
        racks = self.racks(solution)
        margins = []
        for need in self.needs:
            has = self.has(need.what, bought, racks)
            assert has is not None, f"{need.what} is unknown"
            assert is_met(need, has), f"{need.what} is not met by {bought}"
            margins.append(Margin(need, has))
        return Answer(role, size.configuration, size, tiers, tuple(margins), racks, self.cost(size))

    def racks(self, solution: BoughtCounts) -> tuple[PackedRack, ...]:
        """The racks of what was found."""
        return tuple(PackedRack(self.rack.units, _upward(rack)) for rack in solution.racks)

    def holds(self, problem: Problem, counts: Counts) -> bool:
        """Whether all that follows from the counts meets the needs of a search; racks are packed apart."""
        bought = problem.bought(counts)
        return all(is_met(need, self.has(need.what, bought, ())) for need in self.needs if need.what in problem.needs)

    def cost(self, size: Size) -> Value:
        """The price, or the rack units."""
        if self.market.cost == "rack units":
            assert size.rack_units is not None  # heights of all candidates are known
            return size.rack_units
        assert size.price is not None  # prices of all candidates are known
        return size.price

    def cost_by(self, catalogue: Catalogue, bought: Mapping[Candidate, int]) -> Value:
        """The cost of what is bought, by another catalogue."""
        return self.cost(evaluate(catalogue, self.requirements.name, self.configuration(bought), conditions=()))

    def has(self, what: str, bought: Mapping[Candidate, int], racks: tuple[PackedRack, ...]) -> Value | None:
        """The amount of a need that a configuration has, or of a limit that it takes; `None` where that is unknown."""
        tier = tier_of(what)
        size = self.tiers(bought)[tier] if tier else self.size(bought)
        match kind_of(what):
            case "usable":
                return size.capacity.usable
            case "racks":
                return exactly("racks", len(racks))
            case "power":
                return size.power
            case "budget":
                return size.price
            case "weight_per_rack":
                return self._heaviest(bought, racks)
            case kind:
                rate = size.rates[self.requirements.rates_hold].get(kind)  # type: ignore[call-overload]
                return rate.value if rate else None

    def _heaviest(self, bought: Mapping[Candidate, int], racks: tuple[PackedRack, ...]) -> Value | None:
        rack = max(racks, key=lambda packed: packed.weight or Fraction(0), default=None)
        if rack is None or rack.weight is None:
            return None
        weights = {candidate.title: self._weight(candidate, self.size(bought)) for candidate in bought}
        counts = Counter(item.name for item in rack.items)
        known = [(name, count, weights[name]) for name, count in counts.items()]
        parts = [
            product(f"weight of all {name}", exactly(name, n), weight)
            for name, n, weight in known
            if weight is not None
        ]
        return total("weight of the heaviest rack", *parts)

    def _weight(self, candidate: Candidate, size: Size) -> Value | None:
        if isinstance(candidate.name, BrickChoice):
            return size.bricks[candidate.name].weight
        if candidate.kind == "metadata module":
            return size.modules[candidate.name].weight
        return self.catalogue.value(candidate.name, "weight", f"weight of {candidate.name}")


def is_met(need: Need, has: Value | None) -> bool:
    """Whether what there is meets a need, or stays within a limit, by the numbers themselves."""
    if has is None:
        return False
    least, most = (has, need.value) if need.is_most else (need.value, has)
    return least.interval.nominal <= most.interval.nominal


def _upward(items: Iterable[Item]) -> tuple[Item, ...]:
    """The heavy and tall items at the bottom."""
    return tuple(sorted(items, key=lambda item: (item.weight or 0, item.rack_units), reverse=True))

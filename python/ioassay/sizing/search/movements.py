"""How the first answer moves when a figure is 20 % lower or higher: one of the catalogue, or a required one.

The counts of the same kinds that then meet all needs are found again. Other kinds are not considered, because the
question is how much the answer depends on the figure, not which alternatives exist.

Not: the arithmetic with changed figures (`Catalogue.with_changed`), points of a scaling, of which only ratios count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import cast

from ioassay.sizing.arithmetic import Value
from ioassay.sizing.catalogue import Catalogue, Entry
from ioassay.sizing.components import Brick, RateKind
from ioassay.sizing.parts import parts_of, whole_of
from ioassay.sizing.quantities import Quantity
from ioassay.sizing.rates.names import rate_name
from ioassay.sizing.search.candidates import Candidate, candidate_of
from ioassay.sizing.search.context import Context
from ioassay.sizing.search.model import Movement
from ioassay.sizing.search.needs import DATA_KINDS, METADATA_KINDS
from ioassay.sizing.search.problem import Counts, Problem

FACTORS = (0.8, 1.2)


def movements(context: Context, bought: Mapping[Candidate, int]) -> Iterator[Movement]:
    """The effect of each figure behind the counts of an answer, in no order.

    Raises `Expired` where the deadline ends before all are known.
    """
    baseline = _Baseline(context, tuple(bought), tuple(bought.values()))
    problem = context.problem(context.needs, baseline.candidates)
    for need in context.needs:
        for factor in FACTORS if not need.is_most else ():
            least = problem.needs[need.what] * Fraction(factor).limit_denominator(1000)
            changed = replace(problem, needs={**problem.needs, need.what: least})
            yield baseline.moved(changed, context.catalogue, need.value.name, need.value, factor)
    for entry in _components(context.catalogue, baseline.candidates):
        for key, quantity in _figures(entry):
            value = context.catalogue.number(quantity, f"{_noun(key)} of {entry.name}", entry, (entry.name, key))
            for factor in FACTORS:
                catalogue = context.catalogue.with_changed(entry.name, key, factor)
                candidates = baseline.with_figures_of(catalogue, entry.name)
                if candidates is not None:
                    changed = context.problem(context.needs, candidates)
                    yield baseline.moved(changed, catalogue, value.name, value, factor)


def effect(movement: Movement, cost: Value) -> tuple[float, int]:
    """How much a figure moves the answer, of which `cost` is the cost: the largest where no count meets the needs."""
    if movement.after is None or movement.cost is None:
        return (float("inf"), 0)
    moved = abs(movement.cost.nominal / cost.nominal - 1)
    counts = sum(abs(after - before) for (_, before), (_, after) in zip(movement.before, movement.after, strict=True))
    return (moved, counts)


@dataclass(frozen=True)
class _Baseline:
    """The answer as it is."""

    context: Context
    candidates: tuple[Candidate, ...]
    counts: Counts

    def with_figures_of(self, catalogue: Catalogue, component: str) -> tuple[Candidate, ...] | None:
        """The candidates by a catalogue in which a figure of a component differs; `None` where nothing follows."""
        context, candidates, differs = self.context, [], False
        for candidate in self.candidates:
            if component not in (
                whole_of(candidate.name),
                *parts_of(catalogue, candidate.name),
                _file_system(catalogue, candidate),
            ):
                candidates.append(candidate)
                continue
            other = candidate_of(
                context.requirements, catalogue, candidate.name, context.market.currency, candidate.tier
            )
            differs |= any(candidate.gives.get(key) != other.gives.get(key) for key in self._relevant_figures)
            differs |= any(candidate.takes.get(key) != other.takes.get(key) for key in self._relevant_figures)
            candidates.append(other)
        return tuple(candidates) if differs else None

    @cached_property
    def _relevant_figures(self) -> set[str]:
        """The amounts that candidates give and take and that affect the answer."""
        problem = self.context.problem(self.context.needs)
        in_racks = {"weight": problem.rack.weight, "power": problem.rack.power}
        limited = {key for key, most in in_racks.items() if most is not None}
        return {*problem.needs, *problem.most, *limited, self.context.cost_key}

    def moved(self, problem: Problem, catalogue: Catalogue, figure: str, value: Value, factor: float) -> Movement:
        """The counts that meet a changed problem; those of the answer, where none is cheaper."""
        key = self.context.cost_key
        bought = self.context.finder.find(problem, "least", key)
        before, after, cost = self._named_counts(self.counts), None, None
        if bought is not None:
            is_as_good = problem.fits(self.counts) and problem.taken(self.counts, key) == problem.taken(
                bought.counts, key
            )
            counts = self.counts if is_as_good else bought.counts
            after = self._named_counts(counts)
            cost = self.context.cost_by(catalogue, problem.bought(counts))
        return Movement(figure, value, factor, before, after, cost)

    def _named_counts(self, counts: Counts) -> tuple[tuple[str, int], ...]:
        return tuple((candidate.title, count) for candidate, count in zip(self.candidates, counts, strict=True))


def _components(catalogue: Catalogue, candidates: tuple[Candidate, ...]) -> list[Entry]:
    """All that candidates are built of, each once."""
    names: dict[str, None] = {}
    for candidate in candidates:
        names |= dict.fromkeys(
            (whole_of(candidate.name), *parts_of(catalogue, candidate.name), _file_system(catalogue, candidate))
        )
    return [catalogue.entries[name] for name in names if name in catalogue.entries]


def _file_system(catalogue: Catalogue, candidate: Candidate) -> str:
    component = catalogue.entries[whole_of(candidate.name)].component
    return (component.file_system or "") if isinstance(component, Brick) else ""


def _noun(key: str) -> str:
    """The noun of a figure: `write rate`, `rack units`."""
    return rate_name(cast(RateKind, key)) if key in (*DATA_KINDS, *METADATA_KINDS) else key.replace("_", " ")


def _figures(entry: Entry) -> Iterator[tuple[str, Quantity]]:
    """Every figure of a component, with its key in `Catalogue.changed`."""
    component = entry.component
    for key in type(component).model_fields:
        figure = getattr(component, key)
        if isinstance(figure, Quantity):
            yield key, figure
    if isinstance(component, Brick):
        for kind, measured in component.measured.items():
            yield kind, measured.rate

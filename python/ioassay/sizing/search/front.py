"""The best configurations: the cheapest, the largest, the fastest, and some between (the ε-constraint method).

Each is the cheapest of its capacity or speed, and among the cheapest one that none beats in both (Y. Haimes, L. Lasdon,
D. Wismer, *On a Bicriterion Formulation of the Problems of Integrated System Identification and System Optimization*,
IEEE Transactions on Systems, Man, and Cybernetics 1, 1971).

Not: how one of them is found (`finder`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from ioassay.sizing.search.candidates import Candidate
from ioassay.sizing.search.context import Context
from ioassay.sizing.search.finder import Found
from ioassay.sizing.search.formulation import Aim
from ioassay.sizing.search.model import Answer
from ioassay.sizing.search.problem import Problem
from ioassay.sizing.search.solver import Expired

COST_FACTOR = 2
"""How many times the cheapest others may cost, where no limit says how much there may be."""

_BETWEEN = (Fraction(1, 3), Fraction(2, 3))
"""How far between the cheapest and the largest, and between the cheapest and the fastest."""

Role = Literal["cheapest", "smallest", "largest", "fastest", "between"]
"""`smallest`: of the least rack units, where prices are unknown."""


@dataclass
class Front:
    """What was found."""

    answers: list[Answer] = field(default_factory=list)
    """The cheapest first."""
    first: Mapping[Candidate, int] = field(default_factory=dict)
    """What the first of them buys."""
    most_cost: Fraction | None = None
    """The cost up to which configurations were looked at; `None` where the limits end them."""
    is_complete: bool = True


@dataclass(frozen=True)
class _Point:
    """A configuration of the front."""

    role: Role
    found: Found
    cost: Fraction
    usable: Fraction
    speed: Fraction

    def beats(self, other: _Point) -> bool:
        """Whether it is at least as good in all three, and not alike."""
        mine, theirs = (self.cost, -self.usable, -self.speed), (other.cost, -other.usable, -other.speed)
        return mine != theirs and all(one <= other for one, other in zip(mine, theirs, strict=True))


def front(context: Context) -> Front:
    """The best configurations; no answers where nothing meets all needs."""
    search, result, points = _Search(context), Front(), []
    try:
        for point in search.points(result):
            points.append(point)
            result.is_complete &= point.found.is_best
    except Expired:
        result.is_complete = False
    kept = [point for point in points if not any(other.beats(point) for other in points)]
    roles: dict[tuple[int, ...], list[_Point]] = {}
    for point in kept:
        roles.setdefault(point.found.counts, []).append(point)
    distinct = {(same[0].cost, same[0].usable, same[0].speed): same for same in reversed(roles.values())}
    for same in sorted(distinct.values(), key=lambda same: same[0].cost):
        named = [point.role for point in same if point.role != "between"]
        result.first = result.first or search.problem.bought(same[0].found.counts)
        result.answers.append(context.answer(search.problem, same[0].found, " and ".join(named) or "between"))
    return result


class _Search:
    def __init__(self, context: Context) -> None:
        self._context = context
        self.problem = context.problem(context.needs)

    def points(self, result: Front) -> Iterator[_Point]:
        """The points of the front, the cheapest first, then the ends, then those between."""
        role: Role = "cheapest" if self._context.market.cost == "price" else "smallest"
        cheapest = self._cheapest(role, self.problem)
        if cheapest is None:
            return
        yield cheapest
        outer = self.problem
        if not any(need.is_most and need.what in ("racks", "power", "budget") for need in self._context.needs):
            result.most_cost = cheapest.cost * COST_FACTOR
            outer = self._within_cost(outer, result.most_cost)
        ends = [self._largest(outer), self._fastest(outer)]
        yield from filter(None, ends)
        for share in _BETWEEN:
            for end, level in zip(ends, (self._of_capacity, self._of_speed), strict=True):
                if end is not None and (point := level(outer, cheapest, end, share)) is not None:
                    yield point

    def _largest(self, outer: Problem) -> _Point | None:
        found = self._find(outer, "most", "usable")
        if found is None:
            return None
        return self._cheapest("largest", _raised(outer, {"usable": outer.total(found.counts, "usable")}))

    def _fastest(self, outer: Problem) -> _Point | None:
        found = self._find(outer, "fastest") if outer.speed else None
        return (
            None
            if found is None
            else self._cheapest("fastest", self._at_speed(outer, self.problem.speed_of(found.counts)))
        )

    def _of_capacity(self, outer: Problem, first: _Point, last: _Point, share: Fraction) -> _Point | None:
        usable = first.usable + share * (last.usable - first.usable)
        return self._cheapest("between", _raised(outer, {"usable": usable}))

    def _of_speed(self, outer: Problem, first: _Point, last: _Point, share: Fraction) -> _Point | None:
        return self._cheapest("between", self._at_speed(outer, first.speed + share * (last.speed - first.speed)))

    def _at_speed(self, outer: Problem, speed: Fraction) -> Problem:
        return _raised(outer, {kind: one * speed for kind, one in outer.speed.items()})

    def _cheapest(self, role: Role, problem: Problem) -> _Point | None:
        """The cheapest; of equally cheap ones one that none beats in capacity and speed."""
        key = self._context.cost_key
        found = self._find(problem, "least", key)
        if found is None:
            return None
        cost = problem.taken(found.counts, key)
        try:
            better = self._find(self._within_cost(problem, cost), "balanced")
        except Expired:
            better = None
        best = found if better is None else better
        return _Point(role, best, cost, problem.total(best.counts, "usable"), problem.speed_of(best.counts))

    def _within_cost(self, problem: Problem, cost: Fraction) -> Problem:
        key = self._context.cost_key
        return replace(problem, most={**problem.most, key: min(cost, problem.most.get(key, cost))})

    def _find(self, problem: Problem, aim: Aim, what: str = "") -> Found | None:
        return self._context.finder.find(
            problem, aim, what, holds=lambda counts: self._context.holds(self.problem, counts)
        )


def _raised(problem: Problem, needs: Mapping[str, Fraction]) -> Problem:
    return replace(
        problem,
        needs={**problem.needs, **{what: max(least, problem.needs.get(what, least)) for what, least in needs.items()}},
    )

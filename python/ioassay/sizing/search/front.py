"""The best configurations: the cheapest, the largest, the fastest, and some between (the ε-constraint method).

Each is the cheapest of its capacity or speed, and among the cheapest one that none beats in both (Y. Haimes, L. Lasdon,
D. Wismer, *On a Bicriterion Formulation of the Problems of Integrated System Identification and System Optimization*,
IEEE Transactions on Systems, Man, and Cybernetics 1, 1971).

Not: how one of them is found (`finder`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

from ioassay.sizing.search.candidates import Candidate
from ioassay.sizing.search.context import Context
from ioassay.sizing.search.finder import BoughtCounts
from ioassay.sizing.search.formulation import Aim
from ioassay.sizing.search.greedy import greedy
from ioassay.sizing.search.model import Answer
from ioassay.sizing.search.problem import Problem
from ioassay.sizing.search.solver import Expired

COST_FACTOR = 2
"""How many times the cheapest others may cost, where no limit says how much there may be."""

_BETWEEN = (Fraction(1, 3), Fraction(2, 3))
"""How far between the cheapest and the largest, and between the cheapest and the fastest."""


@dataclass
class Front:
    """The result of a search."""

    answers: list[Answer] = field(default_factory=list)
    """The cheapest first."""
    first: Mapping[Candidate, int] = field(default_factory=dict)
    """The parts of the first of them."""
    most_cost: Fraction | None = None
    """The cost up to which configurations were searched; `None` where the limits end them."""
    is_complete: bool = True


@dataclass(frozen=True)
class _Point:
    """A configuration of the front."""

    bought: BoughtCounts
    cost: Fraction
    usable: Fraction
    speed: Fraction

    @property
    def figures(self) -> tuple[Fraction, Fraction, Fraction]:
        """Cost, capacity and speed: the lower, the better."""
        return (self.cost, -self.usable, -self.speed)

    def beats(self, other: _Point) -> bool:
        """Whether it is at least as good in all three, and not alike."""
        return self.figures != other.figures and all(
            figure <= other_figure for figure, other_figure in zip(self.figures, other.figures, strict=True)
        )


def front(context: Context) -> Front:
    """The best configurations; no answers where nothing meets all needs.

    A first one is known at once, and what one kind of bricks reaches soon. Where time ends the search for more, they
    stand beside what was found.
    """
    result = Front()
    problem = context.problem(context.needs)
    points = list(_Search(context, problem).first())
    try:
        for kinds in sorted({1, problem.kinds}):
            before, points, cost_before = points, list[_Point](), result.most_cost
            for point in _Search(context, replace(problem, kinds=kinds)).points(result):
                points.append(point)
                result.is_complete &= point.bought.is_best
    except Expired:
        result.is_complete = False
        points, result.most_cost = [*points, *before], cost_before or result.most_cost
    kept = [point for point in points if not any(other.beats(point) for other in points)]
    distinct = {point.figures: point for point in reversed(kept)}
    for point in sorted(distinct.values(), key=lambda point: point.figures):
        result.first = result.first or problem.bought(point.bought.counts)
        result.answers.append(context.answer(problem, point.bought, _role(context, point, kept)))
    return result


def _role(context: Context, point: _Point, points: Sequence[_Point]) -> str:
    """In what it is the best of the points, of equal ones the cheapest; `between` where that is nothing."""
    best = {
        "cheapest" if context.market.cost == "price" else "smallest": min(points, key=lambda candidate: candidate.cost),
        "largest": min(points, key=lambda candidate: (-candidate.usable, candidate.cost)),
        "fastest": min(points, key=lambda candidate: (-candidate.speed, candidate.cost)) if context.speed else None,
    }
    named = [
        role for role, best_point in best.items() if best_point is not None and best_point.figures == point.figures
    ]
    return " and ".join(named) or "between"


class _Search:
    def __init__(self, context: Context, problem: Problem) -> None:
        self._context = context
        self.problem = problem

    def first(self) -> Iterator[_Point]:
        """One that meets all needs, if it is seen at once."""
        bought = greedy(self.problem, self._context.cost_key, partial(self._context.holds, self.problem))
        if bought is not None:
            yield self._point(self.problem, bought)

    def points(self, result: Front) -> Iterator[_Point]:
        """The points of the front, the cheapest first, then the ends, then those between."""
        cheapest = self._cheapest(self.problem)
        if cheapest is None:
            return
        yield cheapest
        outer = self.problem
        if not any(need.is_most and need.what in ("racks", "power", "budget") for need in self._context.needs):
            result.most_cost = cheapest.cost * COST_FACTOR
            outer = outer.at_most(self._context.cost_key, result.most_cost)
        ends = []
        for find, level in ((self._largest, self._of_capacity), (self._fastest, self._of_speed)):
            if (end := find(outer)) is not None:
                yield end
                ends.append((end, level))
        for share in _BETWEEN:
            for end, level in ends:
                if (point := level(outer, cheapest, end, share)) is not None:
                    yield point

    def _largest(self, outer: Problem) -> _Point | None:
        bought = self._find(outer, "most", "usable")
        if bought is None:
            return None
        return self._cheapest(outer.at_least({"usable": outer.total(bought.counts, "usable")}))

    def _fastest(self, outer: Problem) -> _Point | None:
        bought = self._find(outer, "fastest") if outer.speed else None
        return None if bought is None else self._cheapest(outer.at_speed(outer.speed_of(bought.counts)))

    def _of_capacity(self, outer: Problem, first: _Point, last: _Point, share: Fraction) -> _Point | None:
        usable = first.usable + share * (last.usable - first.usable)
        return self._cheapest(outer.at_least({"usable": usable}))

    def _of_speed(self, outer: Problem, first: _Point, last: _Point, share: Fraction) -> _Point | None:
        return self._cheapest(outer.at_speed(first.speed + share * (last.speed - first.speed)))

    def _cheapest(self, problem: Problem) -> _Point | None:
        """The cheapest; of equally cheap ones one that none beats in capacity and speed."""
        key = self._context.cost_key
        bought = self._find(problem, "cheapest", key)
        if bought is None:
            return None
        return self._point(problem, bought)

    def _point(self, problem: Problem, bought: BoughtCounts) -> _Point:
        cost, usable = problem.taken(bought.counts, self._context.cost_key), problem.total(bought.counts, "usable")
        return _Point(bought, cost, usable, problem.speed_of(bought.counts))

    def _find(self, problem: Problem, aim: Aim, what: str = "") -> BoughtCounts | None:
        return self._context.finder.find(problem, aim, what, holds=partial(self._context.holds, self.problem))

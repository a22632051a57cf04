"""Counts that meet a problem best: solved, checked exactly, packed, and solved again where that fails.

Not: the program (`formulation`), which problems there are (`front`, `shortfalls`, `movements`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ioassay.sizing.packing import Item, RackLimits, first_fit
from ioassay.sizing.search.formulation import Aim, Formulation
from ioassay.sizing.search.one_kind import counts_in_order, is_of_one_kind
from ioassay.sizing.search.problem import Counts, Problem
from ioassay.sizing.search.racks import pack
from ioassay.sizing.search.solver import Solver

Holds = Callable[[Counts], bool]
"""Whether counts meet what a program does not say of them."""


@dataclass(frozen=True)
class BoughtCounts:
    """Counts that meet a problem."""

    counts: Counts
    racks: tuple[tuple[Item, ...], ...]
    is_best: bool
    """False where the deadline ended the search for better ones."""


_FEW = 10
"""So many candidates are searched as fast without what one kind of them reaches."""


@dataclass(frozen=True)
class Finder:
    """Finds counts for one search."""

    solver: Solver

    def find(
        self, problem: Problem, aim: Aim, what: str = "", holds: Holds = lambda counts: True
    ) -> BoughtCounts | None:
        """The best counts by `aim` (`Formulation.objective`); `None` where nothing meets the problem.

        `holds` is what else must be true of them. Raises `Expired` where the deadline is over and none is known.
        """
        self.solver.check()
        if is_of_one_kind(problem):
            return self._try_one_kind(problem, aim, what, holds)
        if problem.kinds > 1 and len(problem.candidates) > _FEW and aim != "racks":
            alone = self._solve(replace(problem, kinds=1), aim, what, holds)
            problem = problem if alone is None else _at_least_as_good(problem, aim, what, alone.counts)
        return self._solve(problem, aim, what, holds)

    def _try_one_kind(self, problem: Problem, aim: Aim, what: str, holds: Holds) -> BoughtCounts | None:
        for counts in counts_in_order(problem, aim, what):
            packed = first_fit(problem.items(counts), problem.rack)  # exact: all items are alike
            if packed is not None and (problem.racks is None or len(packed) <= problem.racks) and holds(counts):
                return BoughtCounts(counts, tuple(tuple(rack) for rack in packed), is_best=True)
        return None

    def _solve(self, problem: Problem, aim: Aim, what: str, holds: Holds) -> BoughtCounts | None:
        formulation = Formulation(problem, needs_bind=aim in ("least", "cheapest", "racks"))
        objective = formulation.objective(aim, what)
        while (solution := self.solver.solve(formulation.program, objective)) is not None:
            counts = formulation.counts(solution.values)
            racks = formulation.racks(solution.values) if aim == "racks" else problem.racks
            if not problem.fits(counts):  # by less than the solver's tolerance
                formulation.cut_off(counts)
                continue
            packed = pack(problem.items(counts), problem.rack, racks, self.solver)
            if packed is None:
                assert racks is not None  # nothing is bought that does not fit into a rack
                self._cut_off_packing(problem, formulation, counts, racks)
                continue
            if not problem.network_carries(counts) or not holds(counts):
                formulation.cut_off(counts)
                continue
            return BoughtCounts(counts, tuple(tuple(rack) for rack in packed), solution.is_optimal)
        return None

    def _cut_off_packing(self, problem: Problem, formulation: Formulation, counts: Counts, racks: int) -> None:
        """Excludes counts that do not fit into racks: with all others of such heights, where heights are why."""
        items, limits = problem.items(counts), RackLimits(problem.rack.units)
        if pack(items, limits, racks, self.solver) is not None:  # weight or power is why
            formulation.cut_off_packing(counts, racks)
            return
        heights = sorted({item.rack_units for item in items}, reverse=True)
        while pack([item for item in items if item.rack_units > heights[-1]], limits, racks, self.solver) is None:
            heights.pop()
        formulation.pack(heights)
        problem.packed_heights.append(tuple(heights))


def _at_least_as_good(problem: Problem, aim: Aim, what: str, counts: Counts) -> Problem:
    """The problem without what is worse than counts that meet it: there is less to look at."""
    match aim:
        case "most":
            return problem.at_least({what: problem.carried(counts, what)})
        case "fastest":
            return problem.at_speed(problem.speed_of(counts))
        case _:
            return problem.at_most(what, problem.taken(counts, what))

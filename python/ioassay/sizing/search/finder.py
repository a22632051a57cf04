"""Counts that meet a problem best: solved, checked exactly, packed, and solved again where that fails.

Not: the program (`formulation`), which problems there are (`front`, `shortfalls`, `movements`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ioassay.sizing.packing import Item
from ioassay.sizing.search.formulation import Aim, Formulation
from ioassay.sizing.search.problem import Counts, Problem
from ioassay.sizing.search.racks import pack
from ioassay.sizing.search.solver import Solver


@dataclass(frozen=True)
class Found:
    """Counts that meet a problem."""

    counts: Counts
    racks: tuple[tuple[Item, ...], ...]
    is_best: bool
    """False where the deadline ended the search for better ones."""


@dataclass(frozen=True)
class Finder:
    """Finds counts for one search."""

    solver: Solver

    def find(
        self, problem: Problem, aim: Aim, what: str = "", holds: Callable[[Counts], bool] = lambda counts: True
    ) -> Found | None:
        """The best counts by `aim` (`Formulation.objective`); `None` where nothing meets the problem.

        `holds` is what else must be true of them. Raises `Expired` where the deadline is over and none is known.
        """
        formulation = Formulation(problem, needs_bind=aim in ("least", "racks"))
        objective = formulation.objective(aim, what)
        while (solution := self.solver.solve(formulation.program, objective)) is not None:
            counts = formulation.counts(solution.values)
            racks = formulation.racks(solution.values) if aim == "racks" else problem.racks
            if not problem.fits(counts):  # by less than the solver's tolerance
                formulation.cut_off(counts)
                continue
            packed = pack(problem.items(counts), problem.rack, racks, self.solver)
            if packed is None:
                formulation.cut_off_packing(problem.bought(counts), racks if aim == "racks" else None)
                if aim != "racks":
                    problem.packings.append(problem.bought(counts))
                continue
            if not holds(counts):
                formulation.cut_off(counts)
                continue
            return Found(counts, tuple(tuple(rack) for rack in packed), solution.is_optimal)
        return None

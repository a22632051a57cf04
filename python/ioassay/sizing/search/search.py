"""Requirements and a catalogue → the best configurations, or why there is none.

Not: reading them (`read`), how each part is done (the other modules of this package).
"""

from __future__ import annotations

from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.requirements import Requirements
from ioassay.sizing.search.context import Context
from ioassay.sizing.search.finder import Finder
from ioassay.sizing.search.front import Front, front
from ioassay.sizing.search.market import market
from ioassay.sizing.search.model import Movement, Search
from ioassay.sizing.search.movements import effect, movements
from ioassay.sizing.search.needs import needs
from ioassay.sizing.search.one_kind import is_of_one_kind
from ioassay.sizing.search.shortfalls import clients_shortfalls, shortfalls
from ioassay.sizing.search.solver import Expired, Solver

_FOR_MOVEMENTS = 0.3
"""The share of the time that the front leaves: without it, it would take all where several kinds are mixed."""


def search(requirements: Requirements, catalogue: Catalogue, *, limit_s: float = 10.0) -> Search:
    """The best configurations that meet `requirements`, within so many seconds of processor time.

    Raises `UsageError` for what the catalogue does not have or where it cannot be computed with, `CannotRun` where the
    process that solves dies.
    """
    with Solver(limit_s) as solver:
        return search_with(solver, requirements, catalogue)


def search_with(solver: Solver, requirements: Requirements, catalogue: Catalogue) -> Search:
    """Likewise, within the time of a solver that is there already."""
    wanted = needs(requirements)
    context = Context(requirements, catalogue, wanted, market(requirements, catalogue, wanted), Finder(solver))
    if not is_of_one_kind(context.problem(wanted)):
        solver.start()
    impossible = clients_shortfalls(context)
    with solver.keeping(_FOR_MOVEMENTS):
        solutions = Front() if impossible else front(context)
    moved: list[Movement] = []
    is_impossible = bool(impossible) or (not solutions.answers and solutions.is_complete and context.is_decisive)
    try:
        if solutions.answers:
            moved.extend(movements(context, solutions.first))
        elif solutions.is_complete and context.has_bricks:
            impossible += shortfalls(context)
    except Expired:
        solutions.is_complete = False
    costs = [answer.cost for answer in solutions.answers]
    return Search(
        requirements=requirements,
        needs=wanted,
        cost=context.market.cost,
        currency=context.market.currency,
        candidates=context.market.looked_at,
        dominated=context.market.dominated,
        answers=tuple(solutions.answers),
        shortfalls=tuple(impossible),
        movements=tuple(sorted(moved, key=lambda movement: effect(movement, costs[0]), reverse=True)),
        unknown=context.market.unknown,
        is_complete=solutions.is_complete,
        limit_s=solver.limit_s,
        is_impossible=is_impossible,
        fragile=context.market.fragile,
        beyond_limits=context.market.beyond_limits,
        empty_tiers=context.empty_tiers,
        cost_ends_at=solutions.most_cost,
    )

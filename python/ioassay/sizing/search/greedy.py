"""A configuration that meets a problem, at once: the fewest of one kind of bricks, of metadata modules and of switches.

It need not be the best, and where none is found there may be one.

Not: the best (`finder`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product

from ioassay.errors import UsageError
from ioassay.sizing.packing import first_fit
from ioassay.sizing.search.candidates import Candidate
from ioassay.sizing.search.finder import BoughtCounts, Holds
from ioassay.sizing.search.model import kind_of, tier_of
from ioassay.sizing.search.needs import METADATA_KINDS
from ioassay.sizing.search.problem import Counts, Problem

_MOST = 1000
"""The most of a kind that scales by a table or a law."""

MOST_PLACED = 100_000
"""Bricks and modules that a search places in racks, which takes seconds. The largest systems have some thousands."""


def greedy(problem: Problem, cost: str, holds: Holds) -> BoughtCounts | None:
    """The cheapest of those; where that does not fit, the one that takes least of something else.

    Raises `UsageError` where it is of more parts than racks would take.
    """
    for key in dict.fromkeys((cost, "rack_units", "power", "price", "weight")):
        if all(key in candidate.takes for candidate in problem.candidates):
            bought = _least_of_all_tiers(problem, key)
            if bought is not None and (parts := sum(bought.values())) > MOST_PLACED:
                raise UsageError(
                    f"What is required would take {parts:,} bricks, and at most {MOST_PLACED:,} are placed in racks.",
                    "Check the units: `usable: 10PB` is ten petabytes.",
                )
            for counts in () if bought is None else _with_switches(problem, bought, key):
                racks = first_fit(problem.items(counts), problem.rack)
                fits = racks is not None and (problem.racks is None or len(racks) <= problem.racks)
                if (
                    racks is not None
                    and fits
                    and problem.fits(counts)
                    and problem.network_carries(counts)
                    and holds(counts)
                ):
                    return BoughtCounts(counts, tuple(map(tuple, racks)), is_best=False)
    return None


def _least_of_all_tiers(problem: Problem, key: str) -> dict[Candidate, int] | None:
    """Bricks of each tier, and modules that go with them, which take the least of `key`."""
    counts: dict[Candidate, int] = {}
    for tier in problem.tiers:
        least = _least_of_tier(problem, tier, key)
        if least is None:
            return None
        counts |= least
    return counts


def _least_of_tier(problem: Problem, tier: str, key: str) -> dict[Candidate, int] | None:
    of_tier = [candidate for candidate in problem.candidates if candidate.tier == tier]
    wants_modules = tier in problem.with_modules or any(
        need for what, need in problem.needs.items() if tier_of(what) == tier and kind_of(what) in METADATA_KINDS
    )
    bricks = _fewest(problem, (candidate for candidate in of_tier if candidate.kind == "brick"))
    modules = _fewest(problem, (candidate for candidate in of_tier if candidate.kind == "metadata module"))
    together: Iterable[dict[Candidate, int]] = (
        ({brick: bricks[brick], module: modules[module]} for brick, module in product(bricks, modules))
        if wants_modules
        else ({brick: number} for brick, number in bricks.items())
    )
    fitting = [parts for parts in together if len({part.software for part in parts} - {None}) < 2]
    return min(
        fitting,
        key=lambda parts: sum((part.takes[key] * number for part, number in parts.items()), Fraction(0)),
        default=None,
    )


def _fewest(problem: Problem, candidates: Iterable[Candidate]) -> dict[Candidate, int]:
    """The fewest of each kind that meet all needs by themselves; without those of which no number does."""
    counts = {candidate: _count(problem, candidate) for candidate in candidates}
    return {candidate: count for candidate, count in counts.items() if count is not None}


def _count(problem: Problem, candidate: Candidate) -> int | None:
    needs = problem.needs_of(candidate)
    if any(need > 0 and not candidate.gives.get(what) for what, need in needs.items()):
        return None
    most = problem.most_of(candidate)
    least = max([1, *(math.ceil(need / candidate.gives[what]) for what, need in needs.items() if need > 0)])
    if candidate.is_linear:
        return least if most is None or least <= most else None
    for count in range(least, (_MOST if most is None else most) + 1):
        if not candidate.is_possible(count):
            return None
        if all((candidate.together(what, count) or 0) >= need for what, need in needs.items()):
            return count
    return None


def _with_switches(problem: Problem, bought: dict[Candidate, int], key: str) -> Iterator[Counts]:
    """The counts, with switches of each kind where there must be some; those first that take the least of `key`."""
    if not problem.has_switches:
        yield problem.counts(bought)
        return
    taken = sum(int(candidate.takes["switch_ports"]) * count for candidate, count in bought.items())
    switches = []
    for switch in (candidate for candidate in problem.candidates if candidate.kind == "switch"):
        to_clients = max([1, *(problem.ports(switch, what, need) for what, need in problem.carried_needs.items())])
        switches.append((switch, math.ceil((taken + to_clients) / switch.gives["ports"])))
    for switch, count in sorted(switches, key=lambda pair: pair[0].takes[key] * pair[1]):
        yield problem.counts({**bought, switch: count})

"""Counts of one kind of bricks, tried one after the other: exact, and known at once.

Not: several kinds, metadata modules and switches, which take a program (`formulation`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

from ioassay.sizing.search.candidates import Candidate
from ioassay.sizing.search.formulation import MOST_COUNT, Aim
from ioassay.sizing.search.problem import Counts, Problem

_Key = tuple[Fraction, ...]


def is_of_one_kind(problem: Problem) -> bool:
    """Whether nothing but bricks of one kind may be bought."""
    return (
        problem.kinds == 1
        and not problem.with_modules
        and len(problem.tiers) == 1
        and not problem.has_switches
        and all(candidate.kind == "brick" for candidate in problem.candidates)
    )


def counts_in_order(problem: Problem, aim: Aim, what: str) -> Iterator[Counts]:
    """All counts of one kind of bricks that meet a problem but for packing, the best first."""
    merit = max((candidate.gives["usable"] for candidate in problem.candidates), default=Fraction(1)) or Fraction(1)

    def key(counts: Counts) -> _Key:
        match aim:
            case "least":
                return (problem.taken(counts, what),)
            case "cheapest":
                good = problem.total(counts, "usable") / merit + problem.speed_of(counts)
                return (problem.taken(counts, what), -good)
            case "most":
                return (-problem.carried(counts, what),)
            case "fastest":
                return (-problem.speed_of(counts),)
            case "racks":
                items = problem.items(counts)
                return (Fraction(math.ceil(Fraction(len(items), problem.rack.most(items[0])))),)

    def ordered(index: int) -> Iterator[tuple[_Key, Counts]]:
        candidate = problem.candidates[index]
        every = (
            tuple(number if other == index else 0 for other in range(len(problem.candidates)))
            for number in _possible_counts(problem, candidate, descending=aim in ("most", "fastest"))
        )
        fitting = ((key(counts), counts) for counts in every if problem.fits(counts))
        return fitting if candidate.is_linear else iter(sorted(fitting))

    return (counts for _, counts in heapq.merge(*map(ordered, range(len(problem.candidates)))))


def _possible_counts(problem: Problem, candidate: Candidate, *, descending: bool) -> Iterable[int]:
    """The counts of a kind that limits and its scaling allow."""
    most = problem.most_of(candidate)
    if not candidate.is_linear:
        every = range(1, (MOST_COUNT if most is None else most) + 1)
        end = next((number for number in every if not candidate.is_possible(number)), every.stop)
        return range(1, end)
    if any(need > 0 and not candidate.gives.get(what) for what, need in problem.needs.items()):
        return ()
    least = max([1, *(math.ceil(need / candidate.gives[what]) for what, need in problem.needs.items() if need > 0)])
    counts = range(least, (max(MOST_COUNT, least) if most is None else most) + 1)
    return reversed(counts) if descending else counts

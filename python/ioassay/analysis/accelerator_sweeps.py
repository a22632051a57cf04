"""Which cases differ in nothing but the number of accelerators, and how many of them a search will measure.

Not here: how many accelerators they show to be fed (`feeding`); progress and dry runs need this without any tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ioassay.store.document import CaseEntry, RunDocument
from ioassay.store.point import CLIENTS, PLACEMENT, SweepPoint

LEAST = 3
"""Repetitions before a number of accelerators can be certain."""


def accelerator_sweeps(cases: Sequence[CaseEntry]) -> dict[str, SweepPoint]:
    """By case the sweep of accelerators that it belongs to: the values of all other axes. The number of clients is one
    of these where `ranks_per_client` is swept for several.
    """
    placements: dict[str, tuple[set[int], set[int]]] = {}
    for case in cases:
        clients, ranks = placements.setdefault(case.workload, (set(), set()))
        clients.add(case.clients)
        ranks.add(case.ranks_per_client)
    sweeps = {}
    for case in cases:
        clients, ranks = placements[case.workload]
        apart = {*PLACEMENT} - ({CLIENTS} if len(clients) > 1 and len(ranks) > 1 else set())
        values = tuple((axis, value) for axis, value in case.point.items() if axis not in apart)
        sweeps[case.id] = SweepPoint(case.workload, values)
    return sweeps


def likely_cases(document: RunDocument) -> Sequence[CaseEntry]:
    """The cases of a run that have begun or will: of a search as many as it takes if no repetition moves its limit."""
    searched = {entry.name for entry in document.study.workloads if entry.search}
    if not searched:
        return document.cases
    swept = accelerator_sweeps(document.cases)
    sweeps: dict[SweepPoint, list[CaseEntry]] = {}
    for case in document.cases:
        if case.workload in searched:
            sweeps.setdefault(swept[case.id], []).append(case)
    spared = {case.id for cases in sweeps.values() for case in _unlikely(cases)}
    return [case for case in document.cases if case.id not in spared]


def _unlikely(cases: Sequence[CaseEntry]) -> Sequence[CaseEntry]:
    """Those cases of a search that it will hardly measure."""
    pending = [case for case in cases if case.state == "pending"]
    begun = sum(case.state not in ("pending", "not needed") for case in cases)
    numbers = len({(case.clients, case.ranks_per_client) for case in cases})
    usual = math.ceil(math.log2(numbers + 1)) + 2 * (min(LEAST, max(case.repetition for case in cases)) - 1)
    return pending[max(1, usual - begun) :]

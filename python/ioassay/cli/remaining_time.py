"""The share of a phase that is done, and an estimate of a run's remaining time from its phases so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import fmean

from ioassay.store.document import CaseEntry, PhaseEntry

Of = tuple[str, str]
"""A workload, and the name of a phase of it."""

_WHOLE = 0.01
"""Largest deviation from the planned amount, as a share, for a phase to count as ended by its amount."""


@dataclass
class RemainingPhases:
    """Phases that are to come: how many, of which one may have begun, and their units of work."""

    phases: Counter[Of] = field(default_factory=Counter)
    units: Counter[Of] = field(default_factory=Counter)

    def add(self, case: CaseEntry, phases: Iterable[PhaseEntry], sign: int = 1) -> None:
        """Phases of a case, or with `sign` -1 what is no longer to come."""
        for phase in phases:
            self.phases[case.workload, phase.name] += sign
            self.units[case.workload, phase.name] += sign * units_of(phase)


@dataclass(frozen=True)
class _PhaseDuration:
    """Duration of a phase of a workload, from the latest that has ended."""

    duration_s: float
    s_per_unit: float | None
    """`None` where a time ended it, and not its amount: a stonewall, or a minimum for which it wrote more than once."""


class Remaining:
    """Learns how long the phases of each workload take, and what cases take beside their phases.

    A small random transfer takes a hundred times longer per byte than a large sequential one, so neither the
    share of phases nor the share of bytes tells the time. Of a workload of which nothing is known yet, a phase is
    taken to last as long as others of its name: studies give their phases amounts or limits that make them alike.
    """

    def __init__(self) -> None:
        self._took: dict[Of, _PhaseDuration] = {}
        self._phases_s = 0.0
        self._cases_s = 0.0
        self._cases = 0

    def phase_took(self, case: CaseEntry, phase: PhaseEntry, duration_s: float, done: int) -> None:
        """A phase of `case` has taken `duration_s`, for so many of its units."""
        self._phases_s += duration_s
        units = units_of(phase)
        is_whole = units > 0 and abs(done - units) <= _WHOLE * units
        self._took[case.workload, phase.name] = _PhaseDuration(duration_s, duration_s / units if is_whole else None)

    def case_took(self, duration_s: float) -> None:
        """A case took this long from start to removal of its files."""
        self._cases += 1
        self._cases_s += duration_s

    def seconds(self, cases: int, left: RemainingPhases, begun: tuple[Of, float, int] | None = None) -> float | None:
        """The time that so many cases will still take, and the phases that are left.

        `begun` is a phase that runs, the share of it that is left, and its units. `None` before the first phase has
        ended.
        """
        if not self._took:
            return None
        between = max(0.0, self._cases_s - self._phases_s) / self._cases if self._cases else 0.0
        whole = sum(self._duration_s(of, count, left.units[of]) for of, count in left.phases.items())
        return between * cases + whole + (self._duration_s(begun[0], 1, begun[2]) * begun[1] if begun else 0.0)

    def _duration_s(self, of: Of, count: int, units: int) -> float:
        took = self._took.get(of)
        if took is None:
            alike = [other.duration_s for (_, name), other in self._took.items() if name == of[1]]
            return count * fmean(alike or [other.duration_s for other in self._took.values()])
        return count * took.duration_s if took.s_per_unit is None else units * took.s_per_unit


def share_done(phase: PhaseEntry, moved_bytes: int, operations: int) -> float | None:
    """The share of a phase that is done, from 0 to 1. `None` where the amount is unknown, as in a walk."""
    units = units_of(phase)
    return min(1.0, units_done(phase, moved_bytes, operations) / units) if units else None


def units_done(phase: PhaseEntry, moved_bytes: int, operations: int) -> int:
    """The units of work of a phase that are done."""
    return moved_bytes if _planned_bytes(phase) else operations


def units_of(phase: PhaseEntry) -> int:
    """The work of a phase: bytes, or operations where it moves none. Phases of one name have one kind of unit."""
    return _planned_bytes(phase) or sum(job.planned_operations for job in phase.jobs)


def _planned_bytes(phase: PhaseEntry) -> int:
    return sum(job.planned_bytes for job in phase.jobs)

"""How much of a phase is done, and how much longer a run will take, judged by what its phases took so far."""

from __future__ import annotations

from collections.abc import Mapping

from ioassay.results.document import CaseEntry, PhaseEntry


class Remaining:
    """Learns the time per unit of work of each phase of a workload, and what cases take beside their phases.

    A small random transfer takes a hundred times longer per byte than a large sequential one, so neither the
    share of phases nor the share of bytes tells the time.
    """

    def __init__(self) -> None:
        self._s_per_unit: dict[tuple[str, str], float] = {}
        self._phases_s = 0.0
        self._cases_s = 0.0
        self._cases = 0

    def phase_took(self, case: CaseEntry, phase: PhaseEntry, duration_s: float) -> None:
        """A phase of `case` has taken `duration_s`."""
        self._phases_s += duration_s
        if units := units_of(phase):
            self._s_per_unit[case.workload, phase.name] = duration_s / units

    def case_took(self, duration_s: float) -> None:
        """A case took this long from start to removal of its files."""
        self._cases += 1
        self._cases_s += duration_s

    def seconds(self, cases: int, units: Mapping[tuple[str, str], float]) -> float | None:
        """The time that so many cases will still take, whose phases have `units` left, by workload and phase.

        `None` before the first phase has ended.
        """
        if not self._s_per_unit:
            return None
        between = max(0.0, self._cases_s - self._phases_s) / self._cases if self._cases else 0.0
        return between * cases + sum(self._of(*of) * left for of, left in units.items())

    def _of(self, workload: str, phase: str) -> float:
        known = self._s_per_unit
        alike = [value for (_, other), value in known.items() if other == phase] or list(known.values())
        return known.get((workload, phase), sum(alike) / len(alike))


def share_done(phase: PhaseEntry, moved_bytes: int, operations: int) -> float | None:
    """How much of a phase is done, from 0 to 1. `None` where the amount is unknown, as in a walk."""
    units = units_of(phase)
    done = moved_bytes if _planned_bytes(phase) else operations
    return min(1.0, done / units) if units else None


def units_of(phase: PhaseEntry) -> int:
    """Its work: bytes, or operations where it moves none. Units of different kinds never meet in one phase's name."""
    return _planned_bytes(phase) or sum(job.planned_operations for job in phase.jobs)


def _planned_bytes(phase: PhaseEntry) -> int:
    return sum(job.planned_bytes for job in phase.jobs)

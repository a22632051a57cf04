"""Spares the repetitions that would not end in time. The first repetition always runs.

Not here: how many repetitions are planned (`calibration.sizes`).
"""

from __future__ import annotations

import time

from ioassay.store.document import CaseEntry
from ioassay.store.point import SweepPoint


class Deadline:
    """When the last case of a run is to have ended."""

    def __init__(self, at_s: float, why: str) -> None:
        """`at_s`: of `time.monotonic`. `why`: a sentence about the cases that are spared."""
        self._at_s = at_s
        self._why = why
        self._took_s: dict[SweepPoint, float] = {}
        self._begun: set[int] = set()
        """Repetitions that were found to fit."""

    def note(self, case: CaseEntry, took_s: float) -> None:
        """Takes over how long a case took."""
        self._took_s[case.sweep_point] = max(took_s, self._took_s.get(case.sweep_point, 0.0))

    def spares(self, case: CaseEntry) -> bool:
        """True where the repetition of `case` would end too late if it took as long as the slowest cases before; it is
        then not needed. A repetition that has begun is finished, so that all points have equally many.
        """
        if case.repetition not in self._begun:
            if case.repetition > 1 and time.monotonic() + sum(self._took_s.values()) > self._at_s:
                case.state, case.skipped = "not needed", self._why
                return True
            self._begun.add(case.repetition)
        return False

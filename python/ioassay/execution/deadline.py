"""Skips repetitions that would not end in time. The first repetition always runs.

Not here: how many repetitions are planned (`calibration.sizes`).
"""

from __future__ import annotations

import time

from ioassay.store.document import CaseEntry
from ioassay.store.point import SweepPoint


class Deadline:
    """The time by which the last case of a run should have ended."""

    def __init__(self, at_s: float, why: str) -> None:
        """`at_s`: of `time.monotonic`. `why`: the reason stored with the cases that are skipped."""
        self._at_s = at_s
        self._why = why
        self._took_s: dict[SweepPoint, float] = {}
        self._begun: set[int] = set()
        """Repetitions that have begun."""

    def note(self, case: CaseEntry, took_s: float) -> None:
        """Records how long a case took."""
        self._took_s[case.sweep_point] = max(took_s, self._took_s.get(case.sweep_point, 0.0))

    def skips(self, case: CaseEntry) -> bool:
        """Skips `case`, and returns True, if its repetition would end too late: if it took as long as the slowest cases
        so far. A repetition that has begun is finished, so that all points have equally many.
        """
        if case.repetition not in self._begun:
            if case.repetition > 1 and time.monotonic() + sum(self._took_s.values()) > self._at_s:
                case.state, case.skipped = "not needed", self._why
                return True
            self._begun.add(case.repetition)
        return False

"""Repetitions of one quantity, as tables and figures show them. Not: which repetitions belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ioassay.analysis import intervals
from ioassay.analysis.intervals import Interval


@dataclass(frozen=True)
class Spread:
    """The valid values of one quantity, in its own unit."""

    values: Sequence[float]

    @property
    def median(self) -> float | None:
        """The median; `None` without values."""
        return median(self.values) if self.values else None

    @property
    def interval(self) -> Interval | None:
        return intervals.of_median(self.values)

    def ends(self, divisor: float = 1.0) -> dict[str, float | None]:
        """`median`, `low` and `high`, each divided by `divisor`; `None` if unknown."""
        middle, known = self.median, self.interval
        return {
            "median": None if middle is None else middle / divisor,
            "low": known.low / divisor if known else None,
            "high": known.high / divisor if known else None,
        }

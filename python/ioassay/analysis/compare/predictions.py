"""Whether measured rates lie within what was predicted for them. Not: predicting (`sizing.prediction`), words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ioassay.analysis import intervals
from ioassay.analysis.compare.ratios import Compared, Ratio
from ioassay.analysis.compare.subject import Band, Point
from ioassay.analysis.intervals import Interval

Verdict = Literal["within", "below", "above"]


@dataclass(frozen=True)
class Judged:
    """A measured point, and the band that was predicted for it; both in the unit of the series' column."""

    measured: Point
    band: Band

    @property
    def verdict(self) -> Verdict:
        """Where the median of the measured point lies. The ends of the band belong to it."""
        if self.measured.median < self.band.low:
            return "below"
        return "above" if self.measured.median > self.band.high else "within"

    @property
    def reaching(self) -> Interval | None:
        """The interval of the measured median, where that lies outside of the band but the interval reaches into it."""
        known = intervals.of_median(self.measured.rates)
        if self.verdict == "within" or known is None:
            return None
        return known if known.low <= self.band.high and known.high >= self.band.low else None


def judge(ratio: Ratio) -> Judged | None:
    """A point that one side measured and the other predicted; `None` of two measured or two predicted ones."""
    match ratio.reference.band, ratio.other.band:
        case Band() as band, None:
            return Judged(ratio.other, band)
        case None, Band() as band:
            return Judged(ratio.reference, band)
        case _:
            return None


def judged(compared: Compared) -> list[Judged]:
    """Those of a series, in their order."""
    return [found for ratio in compared.points if (found := judge(ratio))]

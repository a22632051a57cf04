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
class PredictionCheck:
    """A measured point, and the band that was predicted for it; both in the unit of the series' column."""

    measured: Point
    band: Band

    @property
    def verdict(self) -> Verdict:
        """Where the median of the measured point lies; the band includes its ends."""
        if self.measured.median < self.band.low:
            return "below"
        return "above" if self.measured.median > self.band.high else "within"

    @property
    def reaching(self) -> Interval | None:
        """The interval of a measured median that lies outside the band, if the interval overlaps the band."""
        interval = intervals.of_median(self.measured.rates)
        if self.verdict == "within" or interval is None:
            return None
        return interval if interval.low <= self.band.high and interval.high >= self.band.low else None


def judge(ratio: Ratio) -> PredictionCheck | None:
    """The judgement of a measured point against a predicted one; `None` if both are measured or both predicted."""
    match ratio.reference.band, ratio.other.band:
        case Band() as band, None:
            return PredictionCheck(ratio.other, band)
        case None, Band() as band:
            return PredictionCheck(ratio.reference, band)
        case _:
            return None


def judged(compared: Compared) -> list[PredictionCheck]:
    """The judged points of a series, in order."""
    return [judgement for ratio in compared.points if (judgement := judge(ratio))]

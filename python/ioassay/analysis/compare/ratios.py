"""The speed of a subject relative to the reference, at each point of the sweep, at the peak and sustained; and the
verdict on a series: which side is faster, by how much and where, or that neither is.

The interval of a ratio is that of `intervals.of_ratio`, over the valid repetitions of both sides; of sustained rates
over the sustained rate of each repetition's sweep. Only an interval that excludes 1 shows a difference. With several
points one may do so by chance: at 95 %, one of 20 points without a difference.

Not: how many are significant (`multiple_testing`), words (`ioassay.reports.compare`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ioassay.analysis import intervals
from ioassay.analysis.compare import matching, multiple_testing
from ioassay.analysis.compare.matching import Pair
from ioassay.analysis.compare.multiple_testing import Chance, RatioTest
from ioassay.analysis.compare.subject import (
    ConditionDifference,
    Conditions,
    Curve,
    Point,
    Rates,
    Subject,
    condition_differences,
)
from ioassay.analysis.intervals import Interval
from ioassay.text.rate_units import RateColumn


@dataclass(frozen=True)
class Ratio:
    """The median of `other` over that of `reference`. `interval` is `None` if a side has too few repetitions."""

    reference: Point
    other: Point
    interval: Interval | None
    unlike: tuple[ConditionDifference, ...]

    @property
    def value(self) -> float:
        """Above 1 where the other is faster."""
        return self.other.median / self.reference.median

    @property
    def differs(self) -> bool:
        """True if the interval is known and excludes 1."""
        return self.interval is not None and intervals.differs(self.interval)

    @property
    def judged(self) -> RatioTest | None:
        """The test of whether it is 1."""
        if self.interval is None:
            return None
        return RatioTest(self.interval, intervals.chance_of_order(self.reference.rates, self.other.rates))


@dataclass(frozen=True)
class Compared:
    """Two curves. `peak` is the ratio of the best points, which may have different numbers of clients."""

    reference: Curve
    other: Curve
    column: RateColumn
    points: tuple[Ratio, ...]
    unmatched_points: tuple[Point, ...]
    """Points of one side without a counterpart."""
    peak: Ratio | None
    sustained: Ratio | None

    @property
    def is_swept(self) -> bool:
        """True unless both sides are the same single point."""
        return len(self.points) != 1 or bool(self.unmatched_points)

    @property
    def ratios(self) -> tuple[Ratio, ...]:
        return tuple(ratio for ratio in (*self.points, self.peak, self.sustained) if ratio)


@dataclass(frozen=True)
class Comparison:
    """A subject against the reference."""

    reference: Subject
    other: Subject
    series: tuple[Compared, ...]
    unmatched: tuple[tuple[Subject, Curve], ...]
    """Curves without a counterpart, and whose they are."""

    @cached_property
    def chance(self) -> Chance | None:
        """The verdict on all points together; single points differ now and then by chance."""
        return multiple_testing.judge_together(
            [ratio.judged for series in self.series for ratio in series.points if ratio.judged]
        )


def compare(reference: Subject, other: Subject) -> Comparison:
    """All curves of both that belong together, in the order of the reference."""
    pairs = matching.pairs(reference, other)
    matched = {id(curve) for pair in pairs for curve in (pair.reference, pair.other)}
    unmatched = [(side, curve) for side in (reference, other) for curve in side.curves if id(curve) not in matched]
    return Comparison(reference, other, tuple(map(_compared, pairs)), tuple(unmatched))


def _compared(pair: Pair) -> Compared:
    first, second = pair.reference.rates[pair.column], pair.other.rates[pair.column]
    points, unmatched_points = matching.points(first.points, second.points)
    return Compared(
        reference=pair.reference,
        other=pair.other,
        column=pair.column,
        points=tuple(_ratio(first_point, second_point) for first_point, second_point in points),
        unmatched_points=tuple(unmatched_points),
        peak=_ratio(first.peak, second.peak) if first.peak and second.peak else None,
        sustained=_sustained(first, second),
    )


def _ratio(reference: Point, other: Point) -> Ratio:
    interval = intervals.of_ratio(other.rates, reference.rates)
    return Ratio(reference, other, interval, condition_differences(reference.conditions, other.conditions))


def _sustained(first: Rates, second: Rates) -> Ratio | None:
    """`None` if both sides have only one point, which is the peak. Differing conditions are reported for the points.

    The reported ratio is that of the medians; the median of each repetition's sustained rate may differ from it, so the
    interval is extended to include the reported ratio.
    """
    reference, other = first.sustained, second.sustained
    if reference is None or other is None or (_is_peak(first) and _is_peak(second)):
        return None
    tools = Conditions(tool=reference.conditions.tool), Conditions(tool=other.conditions.tool)
    interval, value = intervals.of_ratio(other.rates, reference.rates), other.median / reference.median
    if interval is not None:
        interval = Interval(value, min(interval.low, value), max(interval.high, value), interval.confidence)
    return Ratio(reference, other, interval, condition_differences(*tools))


def _is_peak(rates: Rates) -> bool:
    """True if the sustained rate is that of the only point."""
    return len(rates.points) == 1 and rates.sustained is not None and rates.sustained.median == rates.points[0].median


Outcome = Literal["differs", "no difference", "too few repetitions"]


@dataclass(frozen=True)
class Verdict:
    """The verdict on a series. A ratio is `None` if nothing differs in that direction."""

    outcome: Outcome
    fastest: Ratio | None = None
    """The point at which the other subject leads most."""
    slowest: Ratio | None = None
    """The point at which it trails most."""
    last: Ratio | None = None
    """The point with the most clients, if it differs and is neither of the two."""


def verdict(compared: Compared) -> Verdict:
    judged = [ratio for ratio in compared.points if ratio.interval]
    if not judged:
        return Verdict("too few repetitions")
    differing = [ratio for ratio in judged if ratio.differs]
    if not differing:
        return Verdict("no difference")
    fastest = max((ratio for ratio in differing if ratio.value > 1), key=_value, default=None)
    slowest = min((ratio for ratio in differing if ratio.value < 1), key=_value, default=None)
    last = judged[-1]
    return Verdict("differs", fastest, slowest, last if last.differs and last not in (fastest, slowest) else None)


def _value(ratio: Ratio) -> float:
    return ratio.value

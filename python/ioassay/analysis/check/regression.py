"""Whether a run is slower than a baseline, at each point of its sweep.

A point has become slower where its median is below the baseline's by more than the tolerance and so low a rate is no
chance among all points of the run (`moderated_t`): the tolerance is for what does not matter, the test for what may be
chance. Where it may be, nothing is judged. What the baseline has and the run has not fails: it might be what broke.

Not: refusing a baseline that was measured otherwise (`differing` says in what), which is the user's to accept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Literal

from ioassay.analysis.acceptance import Judgement
from ioassay.analysis.check.moderated_t import DropTest, detect_drops
from ioassay.analysis.compare.condition_differences import ConditionDifference
from ioassay.analysis.compare.ratios import Compared, Comparison, Ratio
from ioassay.analysis.compare.subject import Conditions, Curve, Point

Reason = Literal["held", "slower", "scatter", "too few repetitions", "missing"]
"""`scatter`: slower by more than the tolerance, but the repetitions scatter so much that it may be chance."""

_JUDGEMENTS: dict[Reason, Judgement] = {
    "held": "passed",
    "slower": "failed",
    "scatter": "not judged",
    "too few repetitions": "not judged",
    "missing": "failed",
}


@dataclass(frozen=True)
class PointCheck:
    """The verdict on a point of the baseline; on a whole series of it where the run has none like it."""

    reason: Reason
    curve: Curve
    """Of the baseline."""
    point: Point | None = None
    compared: Compared | None = None
    ratio: Ratio | None = None
    tested: DropTest | None = None
    """Together with all other points; `None` where a side has too few repetitions."""

    @property
    def judgement(self) -> Judgement:
        """What the reason comes down to."""
        return _JUDGEMENTS[self.reason]


def differing(comparison: Comparison) -> tuple[ConditionDifference, ...]:
    """Each condition that differs between points that are compared, once, with the values of the first such point.

    A condition that one side does not tell, as runs of earlier versions, is no difference.
    """
    first: dict[str, ConditionDifference] = {}
    for ratio in (ratio for one in comparison.series for ratio in one.points):
        for unlike in ratio.unlike:
            if unlike.is_told:
                first.setdefault(unlike.what, unlike)
    return tuple(first[field.name] for field in fields(Conditions) if field.name in first)


def regressions(comparison: Comparison, tolerance: float) -> Iterator[PointCheck]:
    """A verdict for each point of each series of the baseline, which is the comparison's reference.

    `tolerance` is the share of the baseline that may be lost, 0 to 1.
    """
    repeated = [ratio for one in comparison.series for ratio in one.points if ratio.interval]
    found = detect_drops([(ratio.reference.rates, ratio.other.rates) for ratio in repeated], tolerance)
    by_ratio = {id(ratio): one for ratio, one in zip(repeated, found, strict=True)}
    for one in comparison.series:
        for ratio in one.points:
            point = by_ratio.get(id(ratio))
            yield PointCheck(_reason(ratio, point, tolerance), one.reference, ratio.reference, one, ratio, point)
        own = {id(point) for point in one.reference.rates[one.column].points}
        for alone in one.only_one:
            if id(alone) in own:
                yield PointCheck("missing", one.reference, alone, one)
    for side, curve in comparison.alone:
        if side is comparison.reference:
            yield PointCheck("missing", curve)


def _reason(ratio: Ratio, point: DropTest | None, tolerance: float) -> Reason:
    if point is None:
        return "too few repetitions"
    if ratio.value >= 1 - tolerance:
        return "held"
    return "slower" if point.is_slower else "scatter"

"""Whether a run is slower than a baseline at each point of its sweep; many points raise no more false alarms than one.

A point has become slower if its median is below the baseline's by more than the tolerance and the drop is significant
among all points of the run: the tolerance covers irrelevant drops, the test those that may be chance. If a drop may be
chance, or a large loss could be missed, the point is not judged. A point that the run lacks fails: it might be broken.

Each point is tested one-sided with Student's t on the logarithms of its repetitions. Three repetitions hardly
show their scatter, so the variance of each point is shrunk towards that of all points (`moderated_variance`).
Holm's procedure (1979) then keeps the probability that any point fails although none is slower at `FALSE_ALARMS`.

The rank tests of `compare` cannot do this: 3 repetitions against 3 never come below 5 % one-sided, and 20 points need
0.25 %. Instead this assumes that logarithms of rates are roughly normal;
bench/statistics/check.py measures what happens if they are not.

Not: refusing a baseline that was measured under other conditions (`differing` lists them), which the user may accept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from ioassay.analysis.acceptance import Judgement
from ioassay.analysis.compare.ratios import Compared, Comparison, Ratio
from ioassay.analysis.compare.subject import ConditionDifference, Conditions, Curve, Point
from ioassay.analysis.detectable_drop import POWER, is_insensitive
from ioassay.analysis.moderated_variance import moderated

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FALSE_ALARMS = 0.05
"""Largest share of runs in which any point fails although none is slower than its baseline."""

Pair = tuple[Sequence[float], Sequence[float]]
"""Repetitions of the baseline and of the run, above 0, at least two of each."""

Reason = Literal["held", "slower", "scatter", "insensitive", "too few repetitions", "missing"]
"""`scatter`: slower by more than the tolerance, but the repetitions scatter so much that it may be chance.
`insensitive`: not slower, but the repetitions scatter so much that a large loss could be missed (`is_insensitive`).
"""

_JUDGEMENTS: dict[Reason, Judgement] = {
    "held": "passed",
    "slower": "failed",
    "scatter": "not judged",
    "insensitive": "not judged",
    "too few repetitions": "not judged",
    "missing": "failed",
}


@dataclass(frozen=True)
class PointCheck:
    """The verdict on a point of the baseline, or on a whole series that the run lacks."""

    reason: Reason
    curve: Curve
    """Curve of the baseline."""
    point: Point | None = None
    compared: Compared | None = None
    ratio: Ratio | None = None
    tested: DropTest | None = None
    """The test together with all other points; `None` if a side has too few repetitions."""

    @property
    def judgement(self) -> Judgement:
        """The judgement that follows from the reason."""
        return _JUDGEMENTS[self.reason]


def differing(comparison: Comparison) -> tuple[ConditionDifference, ...]:
    """Each condition that differs between compared points, once, with the values of the first such point.

    A condition that one side does not state, as in runs of earlier versions, is no difference.
    """
    first: dict[str, ConditionDifference] = {}
    for ratio in (ratio for series in comparison.series for ratio in series.points):
        for difference in ratio.unlike:
            if difference.is_stated:
                first.setdefault(difference.what, difference)
    return tuple(first[field.name] for field in fields(Conditions) if field.name in first)


def regressions(comparison: Comparison, tolerance: float) -> Iterator[PointCheck]:
    """A verdict for each point of each series of the baseline, which is the comparison's reference.

    `tolerance` is the share of the baseline that may be lost, 0 to 1.
    """
    repeated = [ratio for series in comparison.series for ratio in series.points if ratio.interval]
    drop_tests = detect_drops([(ratio.reference.rates, ratio.other.rates) for ratio in repeated], tolerance)
    by_ratio = {id(ratio): drop_test for ratio, drop_test in zip(repeated, drop_tests, strict=True)}
    for series in comparison.series:
        for ratio in series.points:
            drop_test = by_ratio.get(id(ratio))
            yield PointCheck(
                _reason(ratio, drop_test, tolerance), series.reference, ratio.reference, series, ratio, drop_test
            )
        baseline_points = {id(point) for point in series.reference.rates[series.column].points}
        for unmatched in series.unmatched_points:
            if id(unmatched) in baseline_points:
                yield PointCheck("missing", series.reference, unmatched, series)
    for side, curve in comparison.unmatched:
        if side is comparison.reference:
            yield PointCheck("missing", curve)


def _reason(ratio: Ratio, drop_test: DropTest | None, tolerance: float) -> Reason:
    if drop_test is None:
        return "too few repetitions"
    if ratio.value >= 1 - tolerance:
        return "insensitive" if is_insensitive(drop_test.detectable, tolerance) else "held"
    return "slower" if drop_test.is_slower else "scatter"


@dataclass(frozen=True)
class DropTest:
    """The test of a point's repetitions, among all points that were tested with it."""

    chance: float
    """Holm's adjusted probability of so low a rate by chance, 0 to 1."""
    detectable: float
    """Smallest detectable drop: the share of the baseline whose loss is detected with probability `POWER`, 0 to 1."""

    @property
    def is_slower(self) -> bool:
        """True if the drop is significant."""
        return self.chance <= FALSE_ALARMS


def detect_drops(pairs: Sequence[Pair], tolerance: float) -> list[DropTest]:
    """Tests all points of a run, in order. Only a drop above `tolerance`, a share (0 to 1), counts."""
    if not pairs:
        return []
    import numpy as np  # noqa: PLC0415
    from scipy.special import nctdtrinc, stdtr, stdtrit  # noqa: PLC0415  (0.3 s, and most commands do not need it)

    logs = [(np.log(before), np.log(after)) for before, after in pairs]
    freedom = np.array([len(before) + len(after) - 2 for before, after in logs], dtype=np.float64)
    squares = np.array([before.var() * len(before) + after.var() * len(after) for before, after in logs])
    drops = np.array([before.mean() - after.mean() for before, after in logs])
    variances, freedom = moderated(squares / freedom, freedom)
    errors = np.sqrt(variances * [1 / len(before) + 1 / len(after) for before, after in logs])
    chances = _holm(stdtr(freedom, -drops / errors))
    # A drop is detected if it is significant and exceeds the tolerance: each of both in `POWER` of all runs.
    significant = nctdtrinc(freedom, 1 - POWER, stdtrit(freedom, 1 - FALSE_ALARMS / len(pairs))) * errors
    tolerated = (-math.log1p(-tolerance) if tolerance < 1 else math.inf) + stdtrit(freedom, POWER) * errors
    detectable = -np.expm1(-np.maximum(significant, tolerated))
    return [DropTest(float(chance), float(drop)) for chance, drop in zip(chances, detectable, strict=True)]


def _holm(chances: Array) -> Array:
    import numpy as np  # noqa: PLC0415

    order = np.argsort(chances)
    adjusted = np.empty_like(chances)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(chances[order] * np.arange(len(chances), 0, -1)))
    return adjusted

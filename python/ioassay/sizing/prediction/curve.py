"""The measured rates of a run that is attached to a brick, scaled to a configuration of several.

The curve is scaled in both directions: k bricks do with k times the ranks k times the rate. Between two measured
numbers of ranks it is interpolated; below the first and beyond the last it says nothing. Not: reading runs
(`sizing.runs`).
"""

from __future__ import annotations

from fractions import Fraction

from ioassay.sizing.arithmetic import Formula, Value, applied, product
from ioassay.sizing.prediction.model import Spot
from ioassay.sizing.prediction.storage import Curve
from ioassay.systems.amounts import NUMBER, Interval


def expected(curve: Curve, spot: Spot, carried: Value) -> Value | None:
    """The rate of the ranks of a spot, if the storage does `carried` at its peak; `None` outside of the curve."""
    if not curve:
        return None
    peak = max((value for _, value in curve), key=lambda value: value.interval.nominal)
    times = carried.interval.nominal / peak.interval.nominal
    each = Fraction(spot.job.ranks) / times
    below = next((point for point in reversed(curve) if point[0] <= each), None)
    above = next((point for point in curve if point[0] >= each), None)
    if below is None or above is None:
        return None
    at_peak = below[1] if below[0] == above[0] else _interpolated(each, below, above)
    # Both are of the same peak, whose interval is that of the curve already.
    exact = Interval(times, times, times)
    multiple = Value("multiple of the measured brick", exact, NUMBER, Formula("quotient", (carried, peak)))
    return product(f"predicted rate of {spot.job.ranks} ranks", multiple, at_peak)


def _interpolated(ranks: Fraction, below: tuple[int, Value], above: tuple[int, Value]) -> Value:
    weight = (ranks - below[0]) / (above[0] - below[0])
    return applied(
        f"rate of {float(ranks):g} ranks",
        lambda first, second: (1 - weight) * first + weight * second,
        below[1],
        above[1],
        text=f"interpolated between {below[0]} and {above[0]} ranks",
        dimension=below[1].dimension,
    )

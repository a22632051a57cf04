"""How well the best of several medians is known: which rate the best point truly has, and how lucky the best one is.

The highest of several medians is too high on average, the more points lie close to the best and the more they scatter:
of 7 equal points with 3 repetitions and 5 % scatter by 4.5 %. Two things are said of it, both from the means of
logarithms with moderated variances:

- **Interval** of the highest true rate among all points: its upper end is the highest upper end of Student's
  intervals, since that of the truly best point suffices; its lower end the highest lower end of intervals that hold
  for all points together (Bonferroni), since whichever looks best was chosen.
- **Luck**: how far the highest of so many normal means lies above them on average (Tippett, 1925), for as many points
  as cannot be distinguished from the best (Gupta's subset, 1965). It is what the estimate may be too high by, exact
  where these are equal, and less where they are not; so it is said beside the number and not taken from it.

Not: which points are compared (`peak_sustained`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ioassay.analysis.intervals import WANTED, Interval
from ioassay.analysis.moderated_variance import moderated


@dataclass(frozen=True)
class Best:
    """What is known of the highest median."""

    interval: Interval
    """Of the highest true rate, around the highest median."""
    alike: int
    """Points that cannot be distinguished from the best, which is one of them."""
    luck: float
    """The share of the rate by which the highest median is too high on average where these are equal; 0 of one."""


def best_of(points: Sequence[Sequence[float]], *, estimate: float) -> Best | None:
    """What is known of the highest of `points`, each the repetitions of one, above 0; `estimate` is its median.

    `None` for fewer than two points, and where one has fewer than two repetitions or a rate that is not above 0.
    """
    if len(points) < 2 or min(map(len, points)) < 2 or min(map(min, points)) <= 0:
        return None
    from scipy.special import stdtrit  # noqa: PLC0415  (0.3 s, and few commands need it)

    logs = [np.log(one) for one in points]
    means = np.array([one.mean() for one in logs])
    counts = np.array([len(one) for one in logs], dtype=np.float64)
    variances, freedom = moderated(np.array([one.var(ddof=1) for one in logs]), counts - 1)
    errors = np.sqrt(variances / counts)
    tail = (1 - WANTED) / 2
    low = float(np.exp(np.max(means + stdtrit(freedom, tail / len(points)) * errors)))
    high = float(np.exp(np.max(means - stdtrit(freedom, tail) * errors)))
    best = int(means.argmax())
    apart = (means[best] - means) / np.hypot(errors, errors[best])
    alike = int(np.sum(apart <= -stdtrit(np.minimum(freedom, freedom[best]), (1 - WANTED) / (len(points) - 1))))
    # The median of few repetitions scatters a little more than their mean, which the luck is of.
    luck = math.expm1(_highest_of(alike) * float(errors[best]) * _MEDIAN_ERROR)
    return Best(Interval(estimate, min(low, estimate), max(high, estimate), WANTED), alike, luck)


_MEDIAN_ERROR = 1.2
"""Standard error of a median over that of a mean: of 3 to 10 normal values between 1.09 and 1.22."""


def _highest_of(count: int) -> float:
    """The mean of the highest of `count` standard normal values: the integral of 1 - F(x)^n - F(-x)^n, x from 0."""
    from scipy.special import ndtr  # noqa: PLC0415

    if count == 1:
        return 0.0
    at = np.linspace(0, 8, 801)
    return float(np.trapezoid(1 - ndtr(at) ** count - ndtr(-at) ** count, at))

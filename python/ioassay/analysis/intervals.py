"""Confidence intervals of a median, and of the ratio of two medians, that hold for few repetitions.

Both use ranks alone, so they need no assumption about the distribution of rates, and cover what they claim:

- Median: from the k-th smallest to the k-th largest repetition. The true median lies between them with
  probability 1 - 2 P(B < k), B binomial with n trials of 1/2 (Thompson, 1936; David and Nagaraja, *Order Statistics*,
  2003, chapter 7).
- Ratio of two medians: from the k-th smallest to the k-th largest ratio of a repetition of each, with k from the exact
  distribution of Mann and Whitney's U (Hodges and Lehmann, 1963, on logarithms). It is exact if both scatter alike; if
  one scatters five times as much as the other, an interval of 97 % covered 93 %, and one of 90 %, the highest
  confidence of 3 against 3, covered 83 %.

A bootstrap of so few does not help: its interval of a median ends at the same repetitions but claims 95 % while it
covers 75 % (n = 3), 88 % (4) or 88 % (7). Instead an interval here is as narrow as `WANTED` allows and states its
`confidence`: 75 % for 3 repetitions, 88 % for 4, 94 % for 5, more than 95 % from 6 on.
docs/concepts/statistics.md has the table; `test_intervals.py` measures it.

Not: which repetitions belong together (`rates`), which of them are outliers (`findings.outliers`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ioassay.text.units import format_share

FEWEST = 3
"""The fewest repetitions with an interval: two values cover their median with only 50 %."""

WANTED = 0.95
"""The wanted confidence. If even the range of all values has less, the interval is the range, with its confidence."""

SURE = next(count for count in itertools.count(FEWEST) if 1 - 2 * 0.5**count >= WANTED)
"""The fewest repetitions whose range covers the median with at least `WANTED`."""


@dataclass(frozen=True)
class Interval:
    """Contains the true value with probability `confidence` (0 to 1); `estimate` is the best guess.

    All three values are in the unit of the measured values; ratios have no unit.
    """

    estimate: float
    low: float
    high: float
    confidence: float

    @property
    def name(self) -> str:
        """Its name in a sentence: `95 % interval`, or `range` with too few repetitions."""
        return f"{format_share(WANTED)} interval" if self.confidence >= WANTED else "range"

    @property
    def reach(self) -> float:
        """The larger distance of an end from the estimate, as a share of the estimate; 0 if that is 0."""
        if self.estimate == 0:
            return 0.0
        return max(self.high - self.estimate, self.estimate - self.low) / self.estimate


def of_median(values: Sequence[float]) -> Interval | None:
    """The interval of the median that independent `values` come from. `None` for fewer than `FEWEST`."""
    count = len(values)
    if count < FEWEST:
        return None
    ways = [math.comb(count, successes) for successes in range(count // 2)]
    index, confidence = _narrowest(ways, 2**count)
    ascending = sorted(values)
    return Interval(median(values), ascending[index], ascending[-1 - index], confidence)


def of_ratio(numerator: Sequence[float], denominator: Sequence[float]) -> Interval | None:
    """The interval of the median behind `numerator` over that behind `denominator`; repetitions are independent.

    `None` if one of them has fewer than `FEWEST`, or a value that is not above 0.
    """
    few = min(len(numerator), len(denominator)) < FEWEST
    if few or min(*numerator, *denominator) <= 0:
        return None
    ways = _mann_whitney(len(numerator), len(denominator))
    index, confidence = _narrowest(ways[: len(ways) // 2], sum(ways))
    ratios = sorted(above / below for above in numerator for below in denominator)
    return Interval(median(numerator) / median(denominator), ratios[index], ratios[-1 - index], confidence)


def chance_of_order(first: Sequence[float], second: Sequence[float]) -> float:
    """The probability that repetitions of one rate lie as far apart by chance as these, in either direction.

    Mann and Whitney's U, two-sided; orders exactly as far apart count half (Lancaster's mid-p, 1961), which suits
    combinations of many: if 3 all lie above 3, which has 10 %, it is 5 %. Equal values count as close together.
    """
    below = sum(value < other for value in first for other in second)
    equal = sum(value == other for value in first for other in second)
    ways = _mann_whitney(len(first), len(second))
    apart = min(below, len(first) * len(second) - below - equal) + equal
    return min(1.0, (2 * sum(ways[:apart]) + ways[apart]) / sum(ways))


def differs(ratio: Interval) -> bool:
    """True if equality, a ratio of 1, lies outside of the interval."""
    return not ratio.low <= 1 <= ratio.high


def _narrowest(ways: Sequence[int], all_ways: int) -> tuple[int, float]:
    """The number of values to cut off at each end, and the remaining confidence.

    `ways[k]` of `all_ways` equally likely outcomes have exactly k values beyond one end.
    """
    confidence = _inside(ways[:1], all_ways)
    cut = 0
    while cut + 1 < len(ways) and (narrower := _inside(ways[: cut + 2], all_ways)) >= WANTED:
        cut, confidence = cut + 1, narrower
    return cut, confidence


def _inside(outside: Sequence[int], all_ways: int) -> float:
    return 1 - 2 * sum(outside) / all_ways


def _mann_whitney(first: int, second: int) -> list[int]:
    """The numbers of orders of `first` and `second` values with U = 0, 1, …: coefficients of the Gaussian binomial."""
    size = first * second + 1
    ways = [1] + [0] * (size - 1)
    for step in range(1, second + 1):
        for index in range(size - 1, first + step - 1, -1):
            ways[index] -= ways[index - first - step]
        for number in range(step, size):
            ways[number] += ways[number - step]
    return ways

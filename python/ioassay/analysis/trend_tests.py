"""Whether values in the order of time go along a line, go in steps, or only scatter: what such tests are made of.

- The slope is that of Theil and Sen, the median of the slopes of all pairs, with Sen's interval (1968). Whether there
  is one says Kendall's tau against time (Mann, 1945).
- Values that resemble their neighbours look like a trend or a change to tests that take them as independent. So the
  standard deviation of a test is multiplied by what the correlation of neighbours makes of the number of values,
  sqrt((1 + r)/(1 - r)) (Bayley and Hammersley, 1946).
- Of a line and of steps, the one that fits better: Schwarz's criterion on absolute deviations.

All of it rests on ranks and medians, so a few odd values change little. Not: what counts as a change, and how large it
has to be (`drift` within a phase, `trend.change_detection` over runs).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ioassay.analysis.intervals import Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

CONFIDENCE = 0.95

_MOST_CORRELATION = 0.9


class Slopes:
    """The slopes between every two of `values` at the ascending times `at`, and what they tell."""

    def __init__(self, values: Array, at: Array) -> None:
        import numpy as np  # noqa: PLC0415

        first, second = np.triu_indices(len(values), k=1)
        self._ascending = np.sort((values[second] - values[first]) / (at[second] - at[first]))
        count = len(values)
        self._deviation = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)

    @property
    def median(self) -> float:
        """Theil and Sen's slope, in the unit of the values per unit of time."""
        import numpy as np  # noqa: PLC0415

        return float(np.median(self._ascending))

    def significance(self, widening: float) -> float:
        """How many standard deviations Kendall's tau is away from none."""
        import numpy as np  # noqa: PLC0415

        return abs(float(np.sign(self._ascending).sum())) / (self._deviation * widening)

    def interval(self, widening: float) -> Interval:
        """The slope with Sen's interval of 95 %."""
        reach = 1.96 * self._deviation * widening  # the 97.5 % quantile of the normal distribution
        last = len(self._ascending) - 1
        ends = ((last + 1 - reach) / 2, (last + 1 + reach) / 2)
        low, high = (float(self._ascending[min(last, max(0, round(end)))]) for end in ends)
        return Interval(self.median, low, high, CONFIDENCE)


def off_line(values: Array, at: Array) -> Array:
    """What the line of Theil and Sen leaves over."""
    import numpy as np  # noqa: PLC0415

    off = values - Slopes(values, at).median * at
    return np.asarray(off - np.median(off))


def off_steps(values: Array, splits: Sequence[int]) -> Array:
    """What the medians of the parts leave over; a part begins at each of `splits`."""
    import numpy as np  # noqa: PLC0415

    return np.concatenate([part - np.median(part) for part in np.split(values, splits)])


def is_line(values: Array, at: Array, splits: Sequence[int]) -> bool:
    """True if a line fits better than these steps, or as well."""
    return _unfitness(off_line(values, at), 2) <= _unfitness(off_steps(values, splits), 2 * len(splits) + 1)


def _unfitness(off: Array, terms: int) -> float:
    """Schwarz's criterion for absolute deviations: the less, the better the model with so many terms."""
    import numpy as np  # noqa: PLC0415

    mean = max(float(np.abs(off).mean()), 1e-12)
    return len(off) * math.log(mean) + terms * math.log(len(off)) / 2


def widening(values: Array, at: Array, splits: Sequence[int]) -> float:
    """How much wider a test gets because neighbours resemble each other: 1 where they do not.

    The correlation is that of what a line, or the steps, leave over: what leaves less. It is too low by as much as
    the model has followed the noise (Kendall, 1954), which is put back.
    """
    import numpy as np  # noqa: PLC0415

    rest = min((off_line(values, at), off_steps(values, splits)), key=lambda off: float(np.abs(off).sum()))
    bound = 3 * np.median(np.abs(rest))
    rest = np.clip(rest, -bound, bound)
    whole = float(rest @ rest)
    neighbours = float(rest[1:] @ rest[:-1]) / whole if whole > 0 else 0.0
    neighbours += (1 + 3 * neighbours) * (len(splits) + 1) / len(values)
    bounded = min(max(neighbours, 0.0), _MOST_CORRELATION)
    return math.sqrt((1 + bounded) / (1 - bounded))

"""Building blocks of tests whether values over time follow a line, change in steps, or only scatter.

- The slope is that of Theil and Sen, the median of the slopes of all pairs, with Sen's interval (1968). Kendall's tau
  against time tests whether it differs from 0 (Mann, 1945).
- Correlated neighbours look like a trend or a change to tests that assume independent values. So the standard
  deviation of a test is multiplied by sqrt((1 + r)/(1 - r)), which accounts for the lower effective number of values
  (Bayley and Hammersley, 1946).
- Schwarz's criterion on absolute deviations selects the better fit of a line and steps.

All methods use ranks and medians, so a few odd values change little. Not: which changes are reported, and their least
size (`drift` within a phase, `trend.change_detection` over runs).
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
    """The slopes between all pairs of `values` at ascending `times`, with test and interval."""

    def __init__(self, values: Array, times: Array) -> None:
        import numpy as np  # noqa: PLC0415

        first, second = np.triu_indices(len(values), k=1)
        self._ascending = np.sort((values[second] - values[first]) / (times[second] - times[first]))
        count = len(values)
        self._deviation = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)

    @property
    def median(self) -> float:
        """Theil and Sen's slope, in the unit of the values per unit of time."""
        import numpy as np  # noqa: PLC0415

        return float(np.median(self._ascending))

    def significance(self, widening: float) -> float:
        """Kendall's tau in standard deviations from 0."""
        import numpy as np  # noqa: PLC0415

        return abs(float(np.sign(self._ascending).sum())) / (self._deviation * widening)

    def interval(self, widening: float) -> Interval:
        """The slope with Sen's interval of 95 %."""
        reach = 1.96 * self._deviation * widening  # the 97.5 % quantile of the normal distribution
        last = len(self._ascending) - 1
        ends = ((last + 1 - reach) / 2, (last + 1 + reach) / 2)
        low, high = (float(self._ascending[min(last, max(0, round(end)))]) for end in ends)
        return Interval(self.median, low, high, CONFIDENCE)


def residuals_of_line(values: Array, times: Array) -> Array:
    """Residuals of the line of Theil and Sen."""
    import numpy as np  # noqa: PLC0415

    off = values - Slopes(values, times).median * times
    return np.asarray(off - np.median(off))


def residuals_of_steps(values: Array, splits: Sequence[int]) -> Array:
    """Residuals of the medians of the parts; a part begins at each of `splits`."""
    import numpy as np  # noqa: PLC0415

    return np.concatenate([part - np.median(part) for part in np.split(values, splits)])


def is_line(values: Array, times: Array, splits: Sequence[int]) -> bool:
    """True if a line fits at least as well as these steps."""
    return _unfitness(residuals_of_line(values, times), 2) <= _unfitness(
        residuals_of_steps(values, splits), 2 * len(splits) + 1
    )


def _unfitness(off: Array, terms: int) -> float:
    """Schwarz's criterion for absolute deviations of a model with so many terms: lower is better."""
    import numpy as np  # noqa: PLC0415

    mean = max(float(np.abs(off).mean()), 1e-12)
    return len(off) * math.log(mean) + terms * math.log(len(off)) / 2


def widening(values: Array, times: Array, splits: Sequence[int]) -> float:
    """The factor by which the correlation of neighbours widens a test: 1 without correlation.

    The correlation is that of the residuals of a line or the steps, whichever fits better. It is too low because the
    model has followed the noise (Kendall, 1954), which is corrected.
    """
    import numpy as np  # noqa: PLC0415

    rest = min(
        (residuals_of_line(values, times), residuals_of_steps(values, splits)), key=lambda off: float(np.abs(off).sum())
    )
    bound = 3 * np.median(np.abs(rest))
    rest = np.clip(rest, -bound, bound)
    whole = float(rest @ rest)
    neighbours = float(rest[1:] @ rest[:-1]) / whole if whole > 0 else 0.0
    neighbours += (1 + 3 * neighbours) * (len(splits) + 1) / len(values)
    bounded = min(max(neighbours, 0.0), _MOST_CORRELATION)
    return math.sqrt((1 + bounded) / (1 - bounded))

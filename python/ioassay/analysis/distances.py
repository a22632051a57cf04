"""How unlike two distributions are: the largest difference of their cumulative shares, 0 identical to 1 disjoint.

The statistic of Kolmogorov (1933) and Smirnov (1948), for weights of which only a range is known: calls in a bucket of
sizes, bytes in a step of time. Where the ranges of two distributions differ, each share is known between two bounds
only, and the distance is the least that these allow; where they are the same, it is exact at their ends.

Not here: what is compared (`analysis.profile.comparison`, `analysis.replay.faithful`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


class Spread(NamedTuple):
    """Weights that lie somewhere between their beginnings and their ends."""

    begins: Floats
    ends: Floats
    weights: Floats


def spread(begins: ArrayLike, ends: ArrayLike, weights: ArrayLike) -> Spread | None:
    """The distribution of some weights; `None` where they weigh nothing. An end that is `inf` is unknown."""
    import numpy as np  # noqa: PLC0415

    weighed = np.asarray(weights, dtype=np.float64)
    if not weighed.sum() > 0:
        return None
    return Spread(np.asarray(begins, dtype=np.float64), np.asarray(ends, dtype=np.float64), weighed)


def distance(reference: Spread | None, other: Spread | None) -> float | None:
    """The largest difference of the cumulative shares, each the least or the most that the ranges allow; `None` where
    either distribution is unknown.
    """
    import numpy as np  # noqa: PLC0415

    if reference is None or other is None:
        return None
    at = np.unique(np.concatenate([reference.begins, reference.ends, other.begins, other.ends]))
    (least, most), (others_least, others_most) = (cumulative_shares(one, at) for one in (reference, other))
    return float(max(0.0, (least - others_most).max(), (others_least - most).max()))


def cumulative_shares(of: Spread, at: Floats) -> tuple[Floats, Floats]:
    """The least and the most share of the weights that lies below each of `at`."""
    return _below(of.ends, of.weights, at, "right"), _below(of.begins, of.weights, at, "left")


def steps(weights: Sequence[float]) -> Spread | None:
    """Weights in equal steps of the time from 0 to 1."""
    import numpy as np  # noqa: PLC0415

    bounds = np.linspace(0.0, 1.0, len(weights) + 1)
    return spread(bounds[:-1], bounds[1:], list(weights))


def _below(bounds: Floats, weights: Floats, at: Floats, side: Literal["left", "right"]) -> Floats:
    import numpy as np  # noqa: PLC0415

    order = np.argsort(bounds, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    found: Floats = sums[np.searchsorted(bounds[order], at, side=side)] / weights.sum()
    return found

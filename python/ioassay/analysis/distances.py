"""The distance of two distributions: the largest difference of their cumulative shares, 0 (identical) to 1 (disjoint).

The statistic of Kolmogorov (1933) and Smirnov (1948), for weights with known ranges: calls in a bucket of sizes, bytes
in a step of time. If the ranges of two distributions differ, each share has two bounds, and the distance is the
smallest one that these allow; if the ranges are equal, it is exact at their ends.

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
    """Weights, each somewhere between its begin and its end."""

    begins: Floats
    ends: Floats
    weights: Floats


def spread(begins: ArrayLike, ends: ArrayLike, weights: ArrayLike) -> Spread | None:
    """The distribution of some weights; `None` if their sum is 0. An end of `inf` is unknown."""
    import numpy as np  # noqa: PLC0415

    weighed = np.asarray(weights, dtype=np.float64)
    if not weighed.sum() > 0:
        return None
    return Spread(np.asarray(begins, dtype=np.float64), np.asarray(ends, dtype=np.float64), weighed)


def distance(reference: Spread | None, other: Spread | None) -> float | None:
    """The smallest possible value of the largest difference of the cumulative shares; `None` if either distribution is
    unknown.
    """
    import numpy as np  # noqa: PLC0415

    if reference is None or other is None:
        return None
    points = np.unique(np.concatenate([reference.begins, reference.ends, other.begins, other.ends]))
    (least, most), (others_least, others_most) = (
        cumulative_shares(distribution, points) for distribution in (reference, other)
    )
    return float(max(0.0, (least - others_most).max(), (others_least - most).max()))


def cumulative_shares(distribution: Spread, points: Floats) -> tuple[Floats, Floats]:
    """The smallest and largest possible share of the weights below each of `points`."""
    return _below(distribution.ends, distribution.weights, points, "right"), _below(
        distribution.begins, distribution.weights, points, "left"
    )


def steps(weights: Sequence[float]) -> Spread | None:
    """Weights in equal steps of the time from 0 to 1."""
    import numpy as np  # noqa: PLC0415

    bounds = np.linspace(0.0, 1.0, len(weights) + 1)
    return spread(bounds[:-1], bounds[1:], list(weights))


def _below(bounds: Floats, weights: Floats, points: Floats, side: Literal["left", "right"]) -> Floats:
    import numpy as np  # noqa: PLC0415

    order = np.argsort(bounds, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    shares: Floats = sums[np.searchsorted(bounds[order], points, side=side)] / weights.sum()
    return shares

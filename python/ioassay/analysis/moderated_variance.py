"""Variances of points with few repetitions, estimated with the help of all other points.

The variance of each point is shrunk towards the common one, the more so the more alike all of them are, and gains
degrees of freedom: the empirical Bayes estimate of Smyth (*Linear models and empirical Bayes methods for assessing
differential expression*, 2004, equations 6 to 10). Points with very different variances keep theirs.

Not: the tests that use it (`regression`, `peak_sustained`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

CALMEST = 1e-3
"""Lower bound of the scatter. Imported rates are rounded, so all repetitions may be equal."""


def moderated(variances: Array, freedom: Array) -> tuple[Array, Array]:
    """Each variance and its degrees of freedom, moderated with all others.

    `variances` are those of logarithms of rates, raised to at least `CALMEST` squared; `freedom` is above 0. A single
    variance stays as it is.
    """
    import numpy as np  # noqa: PLC0415

    variances = np.maximum(variances, CALMEST**2)
    if len(variances) < 2:
        return variances, freedom
    from scipy.special import digamma, polygamma  # noqa: PLC0415  (0.3 s, and most commands do not need it)

    logs = np.log(variances) - digamma(freedom / 2) + np.log(freedom / 2)
    differing = float(logs.var(ddof=1) - polygamma(1, freedom / 2).mean())
    if differing <= 0:
        pooled = float((variances * freedom).sum() / freedom.sum())
        return np.full_like(variances, pooled), np.full_like(freedom, freedom.sum())
    prior = 2 * _inverse_trigamma(differing)
    common = math.exp(float(logs.mean()) + float(digamma(prior / 2)) - math.log(prior / 2))
    together = (variances * freedom + common * prior) / (freedom + prior)
    return together, np.minimum(freedom + prior, freedom.sum())


def _inverse_trigamma(value: float) -> float:
    """The argument at which the trigamma function has `value`, which is above 0."""
    from scipy.optimize import brentq  # noqa: PLC0415
    from scipy.special import polygamma  # noqa: PLC0415

    # It lies between 1/x and 1/x + 1/x², which bracket the argument.
    most = (1 + math.sqrt(1 + 4 * value)) / (2 * value)
    return float(brentq(lambda argument: float(polygamma(1, argument)) - value, 0.99 / value / 1.01, 1.01 * most))

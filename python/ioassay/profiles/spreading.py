"""Amounts of intervals of time, spread over the steps of a time line. Not: what is spread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SNAP = 1e-6
"""Of a step: a moment that is so near to the begin of one is there. Multiples of 0.1 are inexact."""


def bins_of(moments: Floats, step_s: float, bins: int) -> NDArray[np.int64]:
    """The steps in which moments are; those beyond the last are in the last."""
    return np.clip(np.floor(moments / step_s + _SNAP), 0, bins - 1).astype(np.int64)


def spread(start: Floats, end: Floats, amount: Floats, step_s: float, bins: int) -> Floats:
    """Amounts of intervals in each step of time, evenly spread over the interval. Their sum is kept."""
    first, last = bins_of(start, step_s, bins), bins_of(end - 2 * _SNAP * step_s, step_s, bins)
    last = np.maximum(first, last)
    length = end - start
    is_within = (first == last) | (length <= 0)
    sums: Floats = np.bincount(first[is_within], amount[is_within], bins).astype(np.float64)
    if is_within.all():
        return sums
    start, end, first, last = (column[~is_within] for column in (start, end, first, last))
    amount, length = amount[~is_within], length[~is_within]
    rate = amount / length
    head = np.clip(((first + 1) * step_s - start) * rate, 0, amount)
    inner = (last - first - 1) * step_s * rate
    sums += np.bincount(first, head, bins) + np.bincount(last, amount - head - inner, bins)
    steps = np.bincount(first + 1, rate * step_s, bins + 1) - np.bincount(last, rate * step_s, bins + 1)
    between = np.bincount(first + 1, minlength=bins + 1) - np.bincount(last, minlength=bins + 1)
    sums += np.where(np.cumsum(between)[:bins] > 0, np.cumsum(steps)[:bins], 0.0)  # no rest of rounding where none is
    return sums

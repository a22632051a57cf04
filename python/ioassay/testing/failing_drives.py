"""Groups of drives that fail and are rebuilt, one event after the other: what the chance of loss is held against.

Not: computing that chance (`ioassay.sizing.reliability.chain`).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ioassay.sizing.reliability.chain import Group

Array = NDArray[np.float64]

Law = Literal["independent", "constant rebuilds", "wear", "batches"]
"""`independent`: as the chain has it.
`constant rebuilds`: all take equally long.
`wear`: lifetimes of new drives follow a Weibull law of shape 1.12 (Elerath, Schindler, 2014).
`batches`: the drives of one group in ten fail four times as often, the others less; as many fail in all.
"""

_SHAPE = 1.12
_BAD, _TIMES = 0.1, 4.0


def share_lost(dice: np.random.Generator, group: Group, time_s: float, groups: int, law: Law = "independent") -> float:
    """The share of `groups` like `group` that are lost within `time_s`."""
    mean_s = 1 / group.failures_per_s / _relative_rates(dice, groups, law)

    def lifetimes(of: NDArray[np.intp]) -> Array:
        if law == "wear":
            return mean_s[of] * dice.weibull(_SHAPE, len(of)) / math.gamma(1 + 1 / _SHAPE)
        return mean_s[of] * dice.exponential(1, len(of))

    def rebuilds(count: int) -> Array:
        drawn = np.ones(count) if law == "constant rebuilds" else dice.exponential(1, count)
        return drawn / group.rebuilds_per_s

    every = np.arange(groups)
    next_s = np.stack([lifetimes(every) for _ in range(group.drives)], axis=1)
    down = np.zeros(next_s.shape, dtype=bool)
    lost, left = np.zeros(groups, dtype=bool), every
    while len(left):
        drive = next_s[left].argmin(axis=1)
        now_s = next_s[left, drive]
        is_rebuilt = down[left, drive]
        is_critical = down[left].sum(axis=1) == group.parity
        is_lost = is_critical & (~is_rebuilt | (dice.random(len(left)) < group.unreadable)) & (now_s < time_s)
        down[left, drive] = ~is_rebuilt
        next_s[left, drive] = now_s + np.where(is_rebuilt, lifetimes(left), rebuilds(len(left)))
        lost[left] = is_lost
        left = left[~is_lost & (now_s < time_s)]
    return float(lost.mean())


def _relative_rates(dice: np.random.Generator, groups: int, law: Law) -> Array:
    """How often the drives of each group fail, relative to the mean."""
    if law != "batches":
        return np.ones(groups)
    return np.where(dice.random(groups) < _BAD, _TIMES, (1 - _BAD * _TIMES) / (1 - _BAD))

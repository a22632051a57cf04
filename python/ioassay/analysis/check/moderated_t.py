"""Which points of a run lie below their baseline, tested jointly: many points raise no more false alarms than one.

Each point is tested one-sided with Student's t on the logarithms of its repetitions. Of three repetitions a scatter is
hardly known, so the variance of each point is drawn towards that of all points (`moderated_variance`).
Holm's procedure (1979) then holds the probability that any point fails where none is slower at `FALSE_ALARMS`.

The rank tests of `compare` cannot do this: 3 repetitions against 3 never come below 5 % one-sided, and 20 points need
0.25 %. What this takes for granted instead is that logarithms of rates scatter roughly normally;
bench/statistics/check.py measures what happens where they do not. Not: what is compared with what (`regression`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ioassay.analysis.intervals import POWER
from ioassay.analysis.moderated_variance import moderated

FALSE_ALARMS = 0.05
"""In how many runs any point fails, at most, where none is slower than its baseline."""

Array = NDArray[np.float64]
Pair = tuple[Sequence[float], Sequence[float]]
"""The repetitions of the baseline and those of the run, above 0, at least two of each."""


@dataclass(frozen=True)
class DropTest:
    """What the repetitions of a point tell, among all points that were tested with it."""

    chance: float
    """Holm's adjusted probability of so low a rate where nothing is slower, 0 to 1."""
    detectable: float
    """Smallest detectable drop: the share of the baseline whose loss is detected with probability `POWER`, 0 to 1."""

    @property
    def is_slower(self) -> bool:
        """True if chance explains it too rarely."""
        return self.chance <= FALSE_ALARMS


def detect_drops(pairs: Sequence[Pair], tolerance: float) -> list[DropTest]:
    """All points of a run, in their order. A drop is only one that exceeds `tolerance`, a share (0 to 1)."""
    from scipy.special import nctdtrinc, stdtr, stdtrit  # noqa: PLC0415  (0.3 s, and most commands need none of it)

    if not pairs:
        return []
    logs = [(np.log(before), np.log(after)) for before, after in pairs]
    freedom = np.array([len(before) + len(after) - 2 for before, after in logs], dtype=np.float64)
    squares = np.array([before.var() * len(before) + after.var() * len(after) for before, after in logs])
    drops = np.array([before.mean() - after.mean() for before, after in logs])
    variances, freedom = moderated(squares / freedom, freedom)
    errors = np.sqrt(variances * [1 / len(before) + 1 / len(after) for before, after in logs])
    chances = _holm(stdtr(freedom, -drops / errors))
    # Detected is what is significant and exceeds the tolerance: each for itself in `POWER` of all runs.
    significant = nctdtrinc(freedom, 1 - POWER, stdtrit(freedom, 1 - FALSE_ALARMS / len(pairs))) * errors
    tolerated = (-math.log1p(-tolerance) if tolerance < 1 else math.inf) + stdtrit(freedom, POWER) * errors
    detectable = -np.expm1(-np.maximum(significant, tolerated))
    return [DropTest(float(chance), float(drop)) for chance, drop in zip(chances, detectable, strict=True)]


def _holm(chances: Array) -> Array:
    order = np.argsort(chances)
    adjusted = np.empty_like(chances)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(chances[order] * np.arange(len(chances), 0, -1)))
    return adjusted

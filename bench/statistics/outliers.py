"""How often a point whose repetitions scatter normally gets an outlier: at ioassay's limits and at the usual 3.5.

python bench/statistics/outliers.py [TIMES]
"""

from __future__ import annotations

import sys

import numpy as np
from table import head, percent, row

from ioassay.analysis.findings.outliers import NORMAL, limit

USUAL = 3.5
"""The limit of Iglewicz and Hoaglin."""


def shares(repetitions: int, times: int) -> tuple[float, float]:
    """The shares of points with a modified z-score beyond the limit for so many repetitions, and beyond 3.5."""
    values = np.random.default_rng(repetitions).normal(size=(times, repetitions))
    distance = np.abs(values - np.median(values, axis=1, keepdims=True))
    scores = NORMAL * distance.max(axis=1) / np.median(distance, axis=1)
    return float((scores > limit(repetitions)).mean()), float((scores > USUAL).mean())


def main() -> None:
    """Print the table of docs/concepts/statistics.md."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    head("repetitions", "limit", "named by chance", "named with a limit of 3.5")
    for repetitions in (5, 6, 7, 8, 9, 10, 11, 12, 15, 20, 30):
        row(str(repetitions), f"{limit(repetitions)}", *map(percent, shares(repetitions, times)))


if __name__ == "__main__":
    main()

"""How often the intervals of the Universal Scalability Law hold the terms and the peak of the law behind a sweep.

python bench/statistics/scalability.py [TIMES]
"""

from __future__ import annotations

import sys

import numpy as np
from table import head, percent, row

from ioassay.analysis.scalability import Law, fit

COUNTS = (1, 2, 4, 8, 16, 32, 64)
ERRORS = (0.03, 0.10)


def covered(law: Law, points: int, error: float, times: int) -> list[float]:
    """The shares of sweeps whose intervals hold contention, coherency and peak."""
    dice = np.random.default_rng(9)
    true = law.contention, law.coherency, law.peak_at
    hits = np.zeros(3)
    for _ in range(times):
        fitted = fit(tuple((count, law.rate(count) * float(dice.lognormal(0, error))) for count in COUNTS[:points]))
        assert fitted is not None
        terms = fitted.contention, fitted.coherency, fitted.peak_at
        hits += [interval.low <= value <= interval.high for interval, value in zip(terms, true, strict=True)]
    return [float(share) for share in hits / times]


def main() -> None:
    """Print the table of docs/concepts/statistics.md."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    head("contention, coherency", "points", "contention covered (errors of 3, 10 %)", "coherency", "peak")
    for law in (Law(1, 0.05, 0.001), Law(1, 0.3, 0), Law(1, 0.02, 0.01)):
        for points in (4, 5, 7):
            columns = zip(*(covered(law, points, error, times) for error in ERRORS), strict=True)
            row(
                f"{law.contention:g}, {law.coherency:g}",
                str(points),
                *(f"{percent(few)}, {percent(many)}" for few, many in columns),
            )


if __name__ == "__main__":
    main()

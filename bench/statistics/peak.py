"""Statements about the peak of a sweep: the interval of the best median, and whether the sweep shows its peak.

python bench/statistics/peak.py [TIMES]
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from table import head, percent, row, whole

from ioassay.analysis import intervals, scalability
from ioassay.analysis.peak_sustained import best_of
from ioassay.analysis.scalability import Law, Sweep
from ioassay.analysis.series import Series

CLIENTS = (1, 2, 4, 8, 16, 32, 64)

LAWS: Mapping[str, Law] = {
    "7 equal points": Law(1, 1, 0),
    "reaches 88 % of its limit": Law(1, 0.1, 0),
    "still rising": Law(1, 0.01, 0),
    "peak at 18 of 64 clients": Law(1, 0.05, 0.003),
    "peak at 10 of 64 clients": Law(1, 0.02, 0.01),
}

Array = NDArray[np.float64]


def rates(law: Law) -> Array:
    """The true rates of the sweep."""
    return np.array([law.rate(count) for count in CLIENTS])


def drawn(dice: np.random.Generator, law: Law, repetitions: int, scatter: float) -> Array:
    """Repetitions of a sweep, log-normal: a row per point."""
    return np.asarray(rates(law)[:, None] * dice.lognormal(0, scatter, (len(CLIENTS), repetitions)))


def peaks(law: Law, repetitions: int, scatter: float, times: int) -> list[float]:
    """Bias of the best median and the reported luck; what the interval of its own repetitions covers and claims;
    what that of the highest rate covers.
    """
    dice, highest = np.random.default_rng(1), rates(law).max()
    rows = []
    for _ in range(times):
        points = drawn(dice, law, repetitions, scatter)
        medians = np.median(points, axis=1)
        best_index = int(medians.argmax())
        best, own_interval = (
            best_of(points.tolist(), estimate=float(medians[best_index])),
            intervals.of_median(points[best_index].tolist()),
        )
        assert best is not None
        assert own_interval is not None
        rows.append(
            (
                medians[best_index] / highest - 1,
                best.luck,
                own_interval.low <= highest <= own_interval.high,
                own_interval.confidence,
                best.interval.low <= highest <= best.interval.high,
            )
        )
    return [float(mean) for mean in np.mean(rows, axis=0)]


def reaches(law: Law, repetitions: int, scatter: float, times: int) -> tuple[Counter[str], int]:
    """How often each verdict on the peak of a sweep is given, and how often the estimate alone lies within it."""
    dice = np.random.default_rng(2)
    counts: Counter[str] = Counter()
    within = 0
    for _ in range(times):
        medians = tuple(zip(CLIENTS, np.median(drawn(dice, law, repetitions, scatter), axis=1).tolist(), strict=True))
        fitted = scalability.fit(medians)
        sweep = Sweep(
            "w", Series("p", "j", "write"), None, (), "clients", "rate_bytes_per_s", medians, (), False, False, fitted
        )
        counts[sweep.reach] += 1
        within += sweep.law is not None and sweep.law.law.peak_at <= CLIENTS[-1]
    return counts, within


def main() -> None:
    """Print the tables of docs/concepts/statistics.md."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 900
    head(
        "sweep",
        "repetitions",
        "scatter",
        "peak too high by",
        "reported",
        "own interval covers, claims",
        "interval of the peak covers",
    )
    for name, law in LAWS.items():
        for repetitions in (3, 5, 10):
            for scatter in (0.02, 0.05, 0.10):
                bias, luck, covered, claims, covers = peaks(law, repetitions, scatter, times)
                numbers = percent(bias), percent(luck), f"{whole(covered)}, {whole(claims)}", whole(covers)
                row(name, str(repetitions), whole(scatter), *numbers)
    print()
    head(
        "sweep of 3 repetitions",
        "scatter",
        "peak within, by the estimate alone",
        "reached, by its interval",
        "level",
        "uncertain",
        "not reached",
    )
    for name, law in LAWS.items():
        for scatter in (0.02, 0.05, 0.10):
            count = max(times // 3, 1)
            counts, within = reaches(law, 3, scatter, count)
            shares = (counts[reach] / count for reach in ("reached", "level", "uncertain", "not reached"))
            row(name, whole(scatter), *map(whole, (within / count, *shares)))


if __name__ == "__main__":
    main()

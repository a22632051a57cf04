"""How often the intervals of a median, and of a ratio of two medians, hold the true value.

python bench/statistics/intervals.py [TIMES]
"""

from __future__ import annotations

import math
import sys
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from table import head, percent, row

from ioassay.analysis import intervals

RESAMPLES = 2000
"""Of each point, for the bootstrap."""

Scatter = Literal["even", "skewed"]
"""Log-normal with 10 %; rates that fall short of a best one by 10 % on average (exponential)."""

Array = NDArray[np.float64]


def points(scatter: Scatter, repetitions: int, times: int) -> tuple[Array, float]:
    """Repetitions, a row per point, and their true median."""
    dice = np.random.default_rng(repetitions)
    size = (times, repetitions)
    if scatter == "even":
        return dice.lognormal(0, 0.1, size), 1.0
    return np.exp(-dice.exponential(0.1, size)), math.exp(-0.1 * math.log(2))


def of_median(scatter: Scatter, repetitions: int, times: int) -> tuple[float, float]:
    """The share of intervals that hold the true median, and the share that they claim."""
    drawn, truth = points(scatter, repetitions, times)
    known = [interval for rates in drawn.tolist() if (interval := intervals.of_median(rates)) is not None]
    return float(np.mean([interval.low <= truth <= interval.high for interval in known])), known[0].confidence


def by_bootstrap(scatter: Scatter, repetitions: int, times: int) -> float:
    """The share of percentile bootstrap intervals of 95 % that hold the true median."""
    drawn, truth = points(scatter, repetitions, times)
    dice = np.random.default_rng(1)
    inside = 0
    for rates in drawn:
        medians = np.median(rates[dice.integers(0, repetitions, (RESAMPLES, repetitions))], axis=1)
        low, high = np.quantile(medians, (0.025, 0.975))
        inside += bool(low <= truth <= high)
    return inside / times


def of_ratio(first: int, second: int, scatters: tuple[float, float], times: int) -> tuple[float, float]:
    """The share of intervals of a ratio that hold the true one, and the share that they claim."""
    dice = np.random.default_rng(first + second)
    inside, claimed = 0, 0.0
    for _ in range(times):
        interval = intervals.of_ratio(
            dice.lognormal(0, scatters[0], first).tolist(), dice.lognormal(0, scatters[1], second).tolist()
        )
        assert interval is not None
        inside += interval.low <= 1 <= interval.high
        claimed = interval.confidence
    return inside / times, claimed


def main() -> None:
    """Print the tables of docs/concepts/statistics.md."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    head(
        "repetitions",
        "confidence claimed",
        "covered: even scatter",
        "skewed scatter",
        "bootstrap (claims 95 %): even",
        "skewed",
    )
    for repetitions in range(3, 11):
        coverage = [of_median(scatter, repetitions, times) for scatter in get_args(Scatter)]
        row(
            str(repetitions),
            f"{coverage[0][1] * 100:.3g} %",
            *(percent(covered) for covered, _ in coverage),
            *(percent(by_bootstrap(scatter, repetitions, times // 4)) for scatter in get_args(Scatter)),
        )
    print()
    head("repetitions", "confidence claimed", "covered: both scatter by 5 %", "3 % against 15 %", "15 % against 3 %")
    for first, second in ((3, 3), (3, 5), (4, 4), (5, 5), (7, 7), (10, 10)):
        alike, *unlike = (
            of_ratio(first, second, scatters, times) for scatters in ((0.05, 0.05), (0.03, 0.15), (0.15, 0.03))
        )
        row(
            f"{first} and {second}",
            f"{alike[1] * 100:.3g} %",
            percent(alike[0]),
            *(percent(covered) for covered, _ in unlike),
        )


if __name__ == "__main__":
    main()

"""How often `ioassay trend` raises a false alarm, and what it finds, by how runs scatter from night to night.

python bench/statistics/trend.py [TIMES]
"""

from __future__ import annotations

import sys
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from table import head, percent, row, whole

from ioassay.analysis.trend.change_detection import courses
from ioassay.testing.nightly_runs import history

SERIES = 8
SCATTER = 0.03

Array = NDArray[np.float64]
Kind = Literal[
    "independent",
    "common nights",
    "heavy tails (t, 5)",
    "heavy tails (t, 3)",
    "one-sided",
    "slow nights",
    "slow nights for all",
    "correlated 0.3",
    "correlated 0.6",
]
"""How runs scatter. `slow nights`: on one night of five a series loses 22 %; `for all`: all lose it on the same nights.
"""

Decline = Literal["latest run alone", "last 3 runs", "last third", "gradual"]


def nights(kind: Kind, dice: np.random.Generator, runs: int) -> Array:
    """Logarithms of rates that have not changed; a row per series."""
    rates = dice.normal(0, SCATTER, (SERIES, runs))
    match kind:
        case "common nights":
            rates = rates / 2 + dice.normal(0, SCATTER, runs)
        case "heavy tails (t, 5)" | "heavy tails (t, 3)":
            rates = SCATTER * dice.standard_t(5 if "5" in kind else 3, (SERIES, runs))
        case "one-sided":
            rates = -dice.exponential(SCATTER, (SERIES, runs))
        case "slow nights":
            rates = rates - 0.25 * (dice.random((SERIES, runs)) < 0.2)
        case "slow nights for all":
            rates = rates - 0.25 * (dice.random(runs) < 0.2)
        case "correlated 0.3" | "correlated 0.6":
            share = float(kind.split()[1])
            for night in range(1, runs):
                rates[:, night] = share * rates[:, night - 1] + np.sqrt(1 - share**2) * rates[:, night]
    return rates


def false_alarms(kind: Kind, runs: int, times: int) -> tuple[float, float]:
    """The shares of collections in which anything is reported, and in which a latest run has declined."""
    dice = np.random.default_rng(7)
    alarms = declined = 0
    for _ in range(times):
        all_courses = courses([history(row) for row in 1e9 * np.exp(nights(kind, dice, runs))], 0.0)
        alarms += any(course.trend or course.changes for course in all_courses)
        declined += any(course.reason == "declined" for course in all_courses)
    return alarms / times, declined / times


def detected(decline: Decline, runs: int, scatter: float, loss: float, times: int) -> float:
    """The share of collections in which the one series that declined is reported."""
    dice = np.random.default_rng(7)
    lost = {"latest run alone": 1, "last 3 runs": 3, "last third": runs // 3}
    factor = np.ones(runs)
    if decline == "gradual":
        factor = np.linspace(1, 1 - loss, runs)
    else:
        factor[-lost[decline] :] = 1 - loss
    count = 0
    for _ in range(times):
        rates = 1e9 * dice.lognormal(0, scatter, (SERIES, runs))
        rates[0] *= factor
        count += courses([history(row) for row in rates], 0.05)[0].reason == "declined"
    return count / times


def detectable(runs: int, scatter: float, times: int) -> tuple[float, float]:
    """The smallest detectable drop, the median of collections without a change, and how often one of this size is
    detected in the latest run alone.
    """
    dice = np.random.default_rng(3)
    drops = []
    for _ in range(times):
        all_courses = courses([history(row) for row in 1e9 * dice.lognormal(0, scatter, (SERIES, runs))], 0.05)
        drops += [
            course.smallest_detectable_drop for course in all_courses if course.smallest_detectable_drop is not None
        ]
    drop = float(np.median(drops))
    return drop, detected("latest run alone", runs, scatter, drop, times)


def main() -> None:
    """Print the tables of docs/concepts/statistics.md."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    lengths = (6, 12, 30, 60)
    head("scatter of the runs", *(f"{runs} runs" for runs in lengths))
    for kind in get_args(Kind):
        # Of 60 runs a collection takes five times as long.
        shares = [false_alarms(kind, runs, times if runs < 60 else times // 4) for runs in lengths]
        row(kind, *(f"{percent(alarms)} ({percent(declined)})" for alarms, declined in shares))
    print()
    head("runs, their scatter", *get_args(Decline))
    for scatter in (0.02, 0.05):
        for runs in (8, 14, 30):
            cells = (
                ", ".join(whole(detected(decline, runs, scatter, loss, times // 4)) for loss in (0.2, 0.3))
                for decline in get_args(Decline)
            )
            row(f"{runs} runs, {whole(scatter)}", *cells)
    print()
    head("runs, their scatter", "smallest detectable drop", "detected")
    for scatter in (0.02, 0.05):
        for runs in (8, 14, 30):
            row(f"{runs} runs, {whole(scatter)}", *map(whole, detectable(runs, scatter, times // 2)))


if __name__ == "__main__":
    main()

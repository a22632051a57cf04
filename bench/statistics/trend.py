"""How often `ioassay trend` raises a false alarm, and what it finds, by how runs scatter from night to night.

python bench/statistics/trend.py [TIMES]
"""

from __future__ import annotations

import sys
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ioassay.analysis.trend.course import courses
from ioassay.testing.nights import history

SERIES = 8
SCATTER = 0.03

Array = NDArray[np.float64]
Kind = Literal[
    "independent", "common nights", "t5", "t3", "neighbours 0.3", "neighbours 0.6", "one-sided", "slow", "slow for all"
]
"""How runs scatter. `slow`: on one night of five a series loses 22 %; `for all`: all series do on the same nights."""

Decline = Literal["latest alone", "last 3", "last third", "gradually"]


def nights(kind: Kind, dice: np.random.Generator, runs: int) -> Array:
    """Logarithms of rates that have not changed; a row per series."""
    own = dice.normal(0, SCATTER, (SERIES, runs))
    match kind:
        case "common nights":
            own = own / 2 + dice.normal(0, SCATTER, runs)
        case "t5" | "t3":
            own = SCATTER * dice.standard_t(int(kind[1:]), (SERIES, runs))
        case "one-sided":
            own = -dice.exponential(SCATTER, (SERIES, runs))
        case "slow":
            own = own - 0.25 * (dice.random((SERIES, runs)) < 0.2)
        case "slow for all":
            own = own - 0.25 * (dice.random(runs) < 0.2)
        case "neighbours 0.3" | "neighbours 0.6":
            share = float(kind.split()[1])
            for at in range(1, runs):
                own[:, at] = share * own[:, at - 1] + np.sqrt(1 - share**2) * own[:, at]
    return own


def false_alarms(kind: Kind, runs: int, times: int) -> tuple[float, float]:
    """The shares of collections in which anything is told, and in which a latest run has declined."""
    dice = np.random.default_rng(7)
    told = declined = 0
    for _ in range(times):
        found = courses([history(row) for row in 1e9 * np.exp(nights(kind, dice, runs))], 0.0)
        told += any(one.trend or one.changes for one in found)
        declined += any(one.reason == "declined" for one in found)
    return told / times, declined / times


def detected(decline: Decline, runs: int, scatter: float, loss: float, times: int) -> float:
    """The share of collections in which the one series that declined is said to have."""
    dice = np.random.default_rng(7)
    lost = {"latest alone": 1, "last 3": 3, "last third": runs // 3}
    factor = np.ones(runs)
    if decline == "gradually":
        factor = np.linspace(1, 1 - loss, runs)
    else:
        factor[-lost[decline] :] = 1 - loss
    count = 0
    for _ in range(times):
        rates = 1e9 * dice.lognormal(0, scatter, (SERIES, runs))
        rates[0] *= factor
        count += courses([history(row) for row in rates], 0.05)[0].reason == "declined"
    return count / times


def main() -> None:
    """Print both tables of docs/concepts/statistics.md."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    lengths = (6, 12, 30, 60)
    print("| scatter of the runs | " + " | ".join(f"{runs} runs" for runs in lengths) + " |\n|" + "---|" * 5)
    for kind in get_args(Kind):
        # Of 60 runs a collection takes five times as long.
        shares = [false_alarms(kind, runs, times if runs < 60 else times // 4) for runs in lengths]
        print(
            f"| {kind} | " + " | ".join(f"{told:.1%} ({declined:.1%})" for told, declined in shares) + " |", flush=True
        )
    print("\n| runs, their scatter | " + " | ".join(get_args(Decline)) + " |\n|" + "---|" * 5)
    for scatter in (0.02, 0.05):
        for runs in (8, 14, 30):
            cells = (
                ", ".join(f"{detected(decline, runs, scatter, loss, times // 4):.0%}" for loss in (0.2, 0.3))
                for decline in get_args(Decline)
            )
            print(f"| {runs} runs, {scatter:.0%} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

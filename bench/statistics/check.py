"""How often `ioassay check --baseline` fails in vain, and which drops it detects: by point and jointly.

python bench/statistics/check.py [RUNS]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Literal

import numpy as np
from table import head, percent, row, whole

from ioassay.analysis import intervals
from ioassay.analysis.regression import detect_drops

TOLERANCE = 0.05

Kind = Literal["log-normal", "points unlike", "heavy tails", "one in ten slow"]
"""`points unlike`: they scatter by half to twice as much. `heavy tails`: t with 4 degrees of freedom. `one in ten
slow`: one repetition in ten is slower, at a scatter of 5 % by a quarter.
"""

SCATTERS: tuple[tuple[float, Kind], ...] = (
    *((scatter, "log-normal") for scatter in (0.03, 0.05, 0.10)),
    *((0.05, kind) for kind in ("points unlike", "heavy tails", "one in ten slow")),
)
Pair = tuple[list[float], list[float]]


def runs(
    dice: np.random.Generator,
    points: int,
    repetitions: int,
    scatter: float,
    *,
    drop: float = 0.0,
    kind: Kind = "log-normal",
) -> Iterator[list[Pair]]:
    """Baseline and run, point by point; the first point of the run has lost `drop`, a share."""
    while True:
        logs = dice.normal(0, scatter, (2, points, repetitions))
        if kind == "points unlike":
            logs *= np.exp(dice.uniform(-np.log(2), np.log(2), (1, points, 1)))
        elif kind == "heavy tails":
            logs = scatter * dice.standard_t(4, (2, points, repetitions))
        elif kind == "one in ten slow":
            logs -= 5 * scatter * (dice.random(logs.shape) < 0.1)
        rates = np.exp(logs)
        rates[1, 0] *= 1 - drop
        yield list(zip(rates[0].tolist(), rates[1].tolist(), strict=True))


def by_point(pairs: list[Pair]) -> list[bool]:
    """Which points failed before they were tested jointly: the interval of each by itself excludes 1."""
    failed = []
    for before, after in pairs:
        interval = intervals.of_ratio(after, before)
        is_low = float(np.median(after) / np.median(before)) < 1 - TOLERANCE
        failed.append(is_low and interval is not None and intervals.differs(interval))
    return failed


def jointly(pairs: list[Pair]) -> list[bool]:
    """Which points fail."""
    drops = detect_drops(pairs, TOLERANCE)
    return [
        point.is_slower and float(np.median(after) / np.median(before)) < 1 - TOLERANCE
        for point, (before, after) in zip(drops, pairs, strict=True)
    ]


def shares(points: int, repetitions: int, scatter: float, kind: Kind, times: int) -> list[float]:
    """False alarms by point and jointly, drops of 10, 20 and 30 % that are found, the smallest that is detectable (a
    share of the rate, the median of all), and how often such a drop is found.
    """
    dice = np.random.default_rng(1)

    def drawn(drop: float, count: int) -> list[list[Pair]]:
        return list(islice(runs(dice, points, repetitions, scatter, drop=drop, kind=kind), count))

    def finds(drop: float) -> float:
        return float(np.mean([jointly(pairs)[0] for pairs in drawn(drop, times // 4)]))

    equal = drawn(0.0, times)
    every = [point.detectable for pairs in equal[: times // 4] for point in detect_drops(pairs, TOLERANCE)]
    detectable = float(np.median(every))
    return [
        float(np.mean([any(by_point(pairs)) for pairs in equal[: times // 4]])),
        float(np.mean([any(jointly(pairs)) for pairs in equal])),
        *(finds(drop) for drop in (0.1, 0.2, 0.3)),
        detectable,
        finds(detectable),
    ]


def main() -> None:
    """Print the tables of docs/concepts/statistics.md and of docs/guides/continuous-integration.md."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    head(
        "points",
        "repetitions",
        "scatter",
        "fails by point",
        "fails jointly",
        "finds 10 %",
        "20 %",
        "30 %",
        "smallest detectable drop",
        "finds that",
    )
    for points in (1, 2, 5, 20):
        for repetitions in (3, 5, 10):
            for scatter, kind in SCATTERS:
                results = shares(points, repetitions, scatter, kind, times)
                label = whole(scatter) + ("" if kind == "log-normal" else f", {kind}")
                row(str(points), str(repetitions), label, *map(percent, results))


if __name__ == "__main__":
    main()

"""What tuning sweeps find on a device with a known optimum, and how often they recommend what brings nothing.

python bench/statistics/sweep.py [TIMES]
"""

from __future__ import annotations

import math
import random
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from table import head, percent, row, whole

from ioassay.execution.interruption import Interruption
from ioassay.store.sweep_directory import SweepDirectory
from ioassay.testing.artificial_device import ArtificialDevice, sweep_document
from ioassay.tuning.sweep.answer import Answer, answer
from ioassay.tuning.sweep.loop import Loop
from ioassay.tuning.sweep.search import Point, Search

_SIZES = ("64", "128", "256", "512", "1024")
_DEPTHS = ("1", "8", "64")
_TODAY = {"size": "128", "depth": "8"}
_SCATTERS = (0.02, 0.05, 0.10, 0.20)

Values = Mapping[str, str]


def _nothing_matters(values: Values) -> float:
    return 1e9


def _prefers_512(values: Values) -> float:
    """1.5 times as fast at 512 as at 128, and with depth 1 a tenth slower."""
    far = abs(_SIZES.index(values["size"]) - 3)
    return 1e9 * (1 + 1 / (1 + far)) * (0.9 if values["depth"] == "1" else 1.0)


@dataclass(frozen=True)
class Outcome:
    """Shares of all sweeps."""

    recommends: float
    reaches: float
    """The confirmed point has at least 95 % of the best of the grid."""
    covers: float
    """The true gain lies in the interval of the confirmed gain, of sweeps that confirmed one."""


def _swept(response: Callable[[Values], float], scatter: float, seed: int, *, trials: int, rule: str | None) -> Answer:
    device = ArtificialDevice(response, _TODAY, noise=scatter, seed=seed)
    document = sweep_document({"size": _SIZES, "depth": _DEPTHS}, _TODAY, trials=trials, seed=seed)
    document.parameters[0].suggested = rule
    with (
        tempfile.TemporaryDirectory() as place,
        SweepDirectory.create(Path(place) / "sweep", document) as directory,
    ):
        Loop(directory, device, device, lambda line: None, Interruption()).run()
        return answer(directory.document)


def outcome(
    response: Callable[[Values], float], scatter: float, times: int, *, trials: int = 30, rule: str | None = None
) -> Outcome:
    """Whole sweeps: search, confirmation, contributions."""
    best = max(response({"size": size, "depth": depth}) for size, depth in product(_SIZES, _DEPTHS))
    recommends = reaches = covers = confirmed = 0
    for seed in range(1, times + 1):
        result = _swept(response, scatter, seed, trials=trials, rule=rule)
        recommends += bool(result.recommended)
        gain = result.confirmed.gain if result.confirmed else None
        if result.confirmed is None or gain is None:
            continue
        values = {name: value or "" for name, value in result.confirmed.values.items()}
        confirmed += 1
        reaches += response(values) >= 0.95 * best
        covers += gain.low <= response(values) / response(_TODAY) <= gain.high
    return Outcome(recommends / times, reaches / times, covers / confirmed if confirmed else math.nan)


_SURFACES: dict[str, tuple[tuple[int, ...], Callable[[Point], float]]] = {
    "one peak of 8 × 8 × 8": (
        (8, 8, 8),
        lambda point: 1 + math.exp(-sum((a - b) ** 2 for a, b in zip(point, (5, 2, 6), strict=True)) / 8),
    ),
    "a ridge of 10 × 10": (
        (10, 10),
        lambda point: 1 + math.exp(-((point[0] + point[1] - 12) ** 2) / 4) * (1 + point[0] / 10),
    ),
    "one of 4 parameters": ((6, 6, 6, 6), lambda point: 1 + point[1] / 3),
}


def _mean_of_best(tried: Callable[[int], list[Point]], surface: Callable[[Point], float], times: int) -> float:
    return sum(max(map(surface, tried(seed))) for seed in range(1, times + 1)) / times


def _searched(sizes: tuple[int, ...], surface: Callable[[Point], float], scatter: float, seed: int) -> list[Point]:
    search, chance, tried = Search(sizes, 20, None, seed=seed), random.Random(seed), []
    while (point := search.ask()) is not None:
        search.tell(point, surface(point) * math.exp(chance.gauss(0, scatter)))
        tried.append(point)
    return tried


def _drawn(sizes: tuple[int, ...], seed: int) -> list[Point]:
    chance = random.Random(seed)
    every = list(product(*map(range, sizes)))
    return chance.sample(every, 20)


def main() -> None:
    """Print the tables of docs/concepts/statistics.md."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    head("scatter", "recommends nothing by mistake", "reaches 95 %", "reaches 95 %, rule, 5 trials", "covers")
    for scatter in _SCATTERS:
        null = outcome(_nothing_matters, scatter, times)
        whole_grid = outcome(_prefers_512, scatter, times)
        with_rule = outcome(_prefers_512, scatter, times, trials=5, rule="512")
        row(
            whole(scatter),
            percent(1 - null.recommends),
            percent(whole_grid.reaches),
            percent(with_rule.reaches),
            percent(whole_grid.covers),
        )
    print()
    head("20 trials of", "estimator", "estimator, scatter 5 %", "drawn at random")
    for name, (sizes, surface) in _SURFACES.items():
        best = max(map(surface, product(*map(range, sizes))))
        ours = [_mean_of_best(partial(_searched, sizes, surface, scatter), surface, times) for scatter in (0.0, 0.05)]
        drawn = _mean_of_best(partial(_drawn, sizes), surface, 10 * times)
        row(name, *(percent(mean / best) for mean in (*ours, drawn)))


if __name__ == "__main__":
    main()

"""How often the interval of a ratio of two sustained rates holds the true ratio.

python bench/statistics/sustained.py [TIMES]
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from table import head, row, whole

from ioassay.analysis import intervals
from ioassay.analysis.compare.ratios import compare
from ioassay.analysis.compare.subject import Conditions, Curve, Point, Rates, Subject
from ioassay.analysis.peak_sustained import PeakSustained, peak_and_sustained

CLIENTS = (1, 2, 4, 8, 16, 32, 64)

FORMS: Mapping[str, tuple[float, ...]] = {
    "saturates slowly": tuple(count / (1 + 0.1 * (count - 1)) for count in CLIENTS),
    "saturated from the start": (1.0,) * len(CLIENTS),
    "falls beyond a peak": tuple(count / (1 + 0.05 * (count - 1) + 0.003 * count * (count - 1)) for count in CLIENTS),
    "a step": (1.0, 1.8, 3.0, 3.0, 3.0, 3.0, 3.0),
}
"""True rates by clients."""

Array = NDArray[np.float64]


def summary(rates: Array) -> PeakSustained:
    """Peak and sustained rate of a sweep."""
    levels = peak_and_sustained(list(zip(CLIENTS, rates.tolist(), strict=True)))
    assert levels is not None
    return levels


def subject(sweeps: Array) -> Subject:
    """Repetitions of a sweep, a row for each, as `compare.measured_run` makes a subject of them."""
    each = tuple(summary(sweep).sustained.rate for sweep in sweeps)
    level = Point(None, Conditions(), each, sustained=summary(np.median(sweeps, axis=0)).sustained.rate)
    rates = Rates((Point(1, Conditions(), (1.0,)),), None, level)
    return Subject("", "run", (Curve(("w",), "w", "write", "rate_bytes_per_s", {"rate_bytes_per_s": rates}),))


def fixed_points(sweeps: Array) -> list[float]:
    """The median of each repetition over the points at which the medians of all are saturated."""
    points = [CLIENTS.index(count) for count in summary(np.median(sweeps, axis=0)).sustained.points]
    return [float(median) for median in np.median(sweeps[:, points], axis=1)]


def covered(
    forms: tuple[str, str], scatters: tuple[float, float], repetitions: int, times: int
) -> tuple[float, float, float]:
    """The share of intervals that hold the true ratio, with points of each repetition and with fixed ones; the share
    that is claimed.
    """
    dice = np.random.default_rng(repetitions)
    true = [np.array(FORMS[form]) for form in forms]
    first, second = (summary(rates).sustained.rate for rates in true)
    truth = second / first
    inside, fixed, claimed = 0, 0, 0.0
    for _ in range(times):
        reference, other = (
            rates * dice.lognormal(0, scatter, (repetitions, len(CLIENTS)))
            for rates, scatter in zip(true, scatters, strict=True)
        )
        ratio = compare(subject(reference), subject(other)).series[0].sustained
        held = intervals.of_ratio(fixed_points(other), fixed_points(reference))
        assert ratio is not None
        assert ratio.interval is not None
        assert held is not None
        inside += ratio.interval.low <= truth <= ratio.interval.high
        fixed += held.low <= truth <= held.high
        claimed = ratio.interval.confidence
    return inside / times, fixed / times, claimed


def extremes(shares: list[float]) -> str:
    """The least and the most."""
    return f"{min(shares) * 100:.0f} to {whole(max(shares))}"


def main() -> None:
    """Print the tables of docs/concepts/statistics.md, then every number that they are made of."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 700
    alike = [(form, form) for form in FORMS]
    unlike = list(permutations(FORMS, 2))
    equal = [(scatter, scatter) for scatter in (0.02, 0.05, 0.15)]
    every: list[tuple[int, tuple[str, str], tuple[float, float], tuple[float, float, float]]] = []

    def shares(repetitions: int, forms: list[tuple[str, str]], scatters: list[tuple[float, float]]) -> list[float]:
        rows = [(repetitions, pair, two, covered(pair, two, repetitions, times)) for pair in forms for two in scatters]
        every.extend(rows)
        return [case[3][0] for case in rows]

    head(
        "repetitions",
        "confidence claimed",
        "covered: same form, same scatter",
        "two forms, same scatter",
        "2 % against 10 %",
    )
    for repetitions in (3, 5, 7):
        columns = (
            shares(repetitions, alike, equal),
            shares(repetitions, unlike, equal),
            shares(repetitions, alike + unlike, [(0.02, 0.1)]),
        )
        row(f"{repetitions} and {repetitions}", whole(every[-1][3][2]), *map(extremes, columns))
    print()
    head("repetitions", "reference", "against it", "scatter", "claimed", "covered", "covered with fixed points")
    for repetitions, forms, scatters, (inside, fixed, claimed) in every:
        row(
            f"{repetitions} and {repetitions}",
            *forms,
            " and ".join(map(whole, dict.fromkeys(scatters))),
            *map(whole, (claimed, inside, fixed)),
        )


if __name__ == "__main__":
    main()

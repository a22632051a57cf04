"""How often a point that `repetitions: until 5 %, at most N` stops as narrow has an interval that misses the true rate.

python bench/statistics/stop_rule.py [TIMES]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit
from table import head, percent, row, whole

from ioassay.analysis.stop_rule import CHECK_CONFIDENCE, CONFIDENCE
from ioassay.studies.repetitions import LEAST

SHARE = 0.05
SCATTERS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.10, 0.15, 0.20)


@dataclass(frozen=True)
class Outcome:
    """Shares of all points, and repetitions on average. `covered` is a share of those that stopped as narrow."""

    narrow: float
    misses: float
    covered: float
    repetitions: float


def outcome(scatter: float, at_most: int, look: float, times: int) -> Outcome:
    """Points of log-normal repetitions, each checked after every one with Student's interval of confidence `look`."""
    rates = np.random.default_rng(1).lognormal(0, scatter, (times, at_most))
    counts = np.arange(1, at_most + 1)
    means = np.cumsum(rates, axis=1) / counts
    squares = np.cumsum(rates**2, axis=1) - counts * means**2
    halves = np.full_like(rates, np.inf)
    after = slice(LEAST - 1, None)
    freedom = counts[after] - 1
    quantiles = stdtrit(freedom, (1 + look) / 2)
    halves[:, after] = quantiles * np.sqrt(np.maximum(squares[:, after], 0) / freedom / counts[after])
    medians = np.stack([np.median(rates[:, :count], axis=1) for count in counts], axis=1)
    is_narrow = halves <= SHARE * medians
    narrow = is_narrow.any(axis=1)
    stops = np.where(narrow, is_narrow.argmax(axis=1), at_most - 1)
    points = np.arange(times)
    covers = np.abs(means[points, stops] - 1) <= halves[points, stops]
    covered = float(covers[narrow].mean()) if narrow.any() else float("nan")
    return Outcome(float(narrow.mean()), float((narrow & ~covers).mean()), covered, float(stops.mean()) + 1)


def main() -> None:
    """Print the table of docs/concepts/measuring.md."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    head(
        "at most",
        "scatter",
        "confidence of a look",
        "stop and miss",
        "stop as narrow",
        "covered of these",
        "repetitions",
    )
    for at_most in (10, 30, 100):
        for scatter in SCATTERS:
            for look in (CONFIDENCE, CHECK_CONFIDENCE):
                result = outcome(scatter, at_most, look, times if at_most < 100 else times // 4)
                row(
                    str(at_most),
                    whole(scatter),
                    whole(look),
                    percent(result.misses),
                    percent(result.narrow),
                    "–" if np.isnan(result.covered) else whole(result.covered),
                    f"{result.repetitions:.1f}",
                )


if __name__ == "__main__":
    main()

"""How often the saturation point of a survey is the true one, and how often the points that are named hold it.

python bench/statistics/saturation.py [TIMES]
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np
from table import head, row, whole

from ioassay.analysis.saturation import Cell, Saturation, saturation

RANKS = (1, 2, 4, 8, 16, 32)
FILES = (1, 2, 4)

Rate = Mapping[tuple[int, int], float]
"""True rates by files and ranks."""

GRIDS: Mapping[str, Rate] = {
    "a knee, one point at 96 % of the best": {
        (files, ranks): min(1.0, 0.24 * ranks) for files in FILES for ranks in RANKS
    },
    "flattens slowly": {
        (files, ranks): ranks / (1 + 0.5 * (ranks - 1)) * (1 - 0.03 / files) for files in FILES for ranks in RANKS
    },
    "rises, and falls beyond": {
        (files, ranks): ranks / (1 + 0.05 * (ranks - 1) + 0.01 * ranks * (ranks - 1))
        for files in FILES
        for ranks in RANKS
    },
}


@dataclass(frozen=True)
class Outcome:
    """Shares of surveys: the point is the true one; it is reported as certain, and was right then; what is named holds
    the true one. `named` is how many points that are on average. Without repetitions nothing is named.
    """

    right: float
    certain: float
    right_if_certain: float
    holds: float
    named: float


def survey(dice: np.random.Generator, true: Rate, repetitions: int, scatter: float) -> Saturation:
    """One survey with log-normal repetitions."""
    cells = []
    for (files, ranks), rate in true.items():
        rates = tuple((rate * dice.lognormal(0, scatter, repetitions)).tolist())
        cells.append(Cell(files, ranks, 1, median(rates), min(rates), max(rates), repetitions, rates))
    result = saturation(cells)
    assert result is not None
    return result


def outcome(true: Rate, repetitions: int, scatter: float, times: int) -> Outcome:
    """What surveys say of a grid whose saturation point is known."""
    dice = np.random.default_rng(1)
    truth = survey(dice, true, 1, 0.0).point
    where = truth.files, truth.ranks
    right, certain, holds, named = [], [], [], []
    for _ in range(times):
        result = survey(dice, true, repetitions, scatter)
        right.append((result.point.files, result.point.ranks) == where)
        certain.append(result.is_certain)
        if result.possible is not None:
            holds.append(where in {(cell.files, cell.ranks) for cell in result.possible})
            named.append(len(result.possible))
    sure = [is_right for is_right, is_certain in zip(right, certain, strict=True) if is_certain]
    shares = (float(np.mean(values)) if values else float("nan") for values in (right, certain, sure, holds, named))
    return Outcome(*shares)


def main() -> None:
    """Print the table of docs/concepts/measuring.md."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    head(
        "grid",
        "scatter",
        "repetitions",
        "point is the true one",
        "reported as certain",
        "right if certain",
        "points named hold it",
        "points named, of 18",
    )
    for name, true in GRIDS.items():
        for scatter in (0.02, 0.05, 0.10):
            for repetitions in (1, 3, 5, 10):
                result = outcome(true, repetitions, scatter, times)
                shares = (result.right, result.certain, result.right_if_certain, result.holds)
                row(
                    name,
                    whole(scatter),
                    str(repetitions),
                    *("–" if np.isnan(share) else whole(share) for share in shares),
                    "–" if np.isnan(result.named) else f"{result.named:.1f}",
                )


if __name__ == "__main__":
    main()

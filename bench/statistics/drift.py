"""How often a steady phase gets a trend or a change of level by chance, and which changes are found.

python bench/statistics/drift.py [TIMES]
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
from numpy.typing import NDArray
from table import head, percent, row, whole

from ioassay.analysis.drift import Drift, drifts
from ioassay.store import schema
from ioassay.store.measurement import KEY

MIB = 1 << 20
LENGTHS = (30, 60, 120)

Array = NDArray[np.float64]


def noise(correlation: float, spread: float, phases: int, samples: int) -> Array:
    """Rates around 1 with log-normal noise; a row per phase."""
    logs = np.random.default_rng(1).normal(0, spread, (phases, samples))
    for index in range(1, samples):
        logs[:, index] = correlation * logs[:, index - 1] + np.sqrt(1 - correlation**2) * logs[:, index]
    return np.asarray(np.exp(logs))


def drifts_of(rates: Array) -> list[Drift]:
    """What is found in phases of one rank with these rates, in 100 MiB/s; a row per phase, a sample per second."""
    phases, samples = rates.shape
    keys = [dict(zip(KEY, (f"case-{index}", "write", "write", "write"), strict=True)) for index in range(phases)]
    rows = pl.DataFrame(keys)
    drawn = rows.select(pl.all().repeat_by(samples).explode()).with_columns(
        pl.lit(0).alias("rank"),
        pl.Series("sample", np.tile(np.arange(samples), phases)),
        pl.Series("bytes", (rates * 100 * MIB).astype(np.int64).ravel()),
        pl.lit(100).alias("operations"),
    )
    measurements = rows.with_columns(pl.lit(True).alias("valid"), pl.lit(10**9).alias("sample_interval_ns"))
    return drifts(
        drawn.cast({name: schema.SAMPLES[name] for name in drawn.columns}).lazy(),
        measurements.cast({name: schema.MEASUREMENTS[name] for name in measurements.columns}),
    )


def share_with_drift(rates: Array) -> float:
    """The share of phases with a trend or a change."""
    results = drifts_of(rates)
    assert len(results) == len(rates)
    return float(np.mean([bool(drift.trend or drift.changes) for drift in results]))


def course(change: str, samples: int) -> Array:
    """The rate of a phase that changes, as a share of that at its beginning."""
    positions = np.arange(samples) / samples
    match change.split():
        case ["decline", "by", percentage, "%"]:
            return 1 - positions * int(percentage) / 100
        case [*_, begin, "%"]:
            return np.where(positions < int(begin) / 100, 1.0, 2 / 3)
    raise ValueError(change)


def main() -> None:
    """Print the tables of docs/concepts/statistics.md."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    columns = [f"{samples} samples" for samples in LENGTHS]
    head("correlation of neighbours", "noise", *columns)
    for correlation in (0, 0.3, 0.6, 0.8):
        for spread in (0.1, 0.3):
            shares = (share_with_drift(noise(correlation, spread, times, samples)) for samples in LENGTHS)
            row(str(correlation), whole(spread), *map(percent, shares))
    print()
    head("change", *columns)
    for change in (
        "decline by 15 %",
        "decline by 30 %",
        "decline by 50 %",
        "drop by a third after 10 %",
        "drop by a third after 30 %",
        "drop by a third after 50 %",
    ):
        shares = (
            share_with_drift(noise(0, 0.1, max(times // 4, 1), samples) * course(change, samples))
            for samples in LENGTHS
        )
        row(change, *map(percent, shares))


if __name__ == "__main__":
    main()

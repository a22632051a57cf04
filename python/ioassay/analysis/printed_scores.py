"""Whether the scores that a benchmark printed follow from the phases that it printed.

The IO500's program takes the geometric mean of the bandwidths, that of the metadata rates, and the square root of their
product (IO500/io500 at 02091cf, `src/main.c`; VI4IO/io-500-dev before it). A phase whose score is 0 it leaves out, so a
phase that failed can raise the score: that is said. What was printed has so many digits, and what follows is known only
as well as these tell; the shell script of 2017 to 2020 also rounded between its steps, for which `SLACK` stands.

Not: a score of our own (`io500`), what a sentence about it says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from ioassay.analysis.io500 import RULES, UNITS, Group, geometric_mean
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY, Measurement
from ioassay.store.origin import PrintedScore
from ioassay.text.units import PER_SECOND

SLACK = 1e-5
"""The share of a score that a program's own rounding between its steps may cost."""


_ONCE_EXTENDED = ("ior-rnd4K-write", "ior-rnd4K-read", "ior-rnd1MB-write", "ior-rnd1MB-read")
"""Bandwidth phases that the extended list had in 2021; where they were measured, they counted."""


@dataclass(frozen=True, kw_only=True)
class _Mean:
    """A geometric mean of scores, in their unit, with the least and the greatest that their digits allow."""

    value: float
    lowest: float
    highest: float
    left_out: tuple[str, ...]
    """Phases whose score is 0: the program leaves them out of its means."""
    missing: tuple[str, ...]
    """Phases of the list that are not there."""
    rests_on: tuple[Measurement, ...]


@dataclass(frozen=True, kw_only=True)
class Recomputed(_Mean):
    """A printed score beside what follows from the printed phases."""

    printed: PrintedScore

    @property
    def follows(self) -> bool:
        """True if what was printed can be what follows."""
        allowed = self.printed.half_unit + SLACK * self.printed.value
        return self.lowest - allowed <= self.printed.value <= self.highest + allowed


def recomputed(run: LoadedRun) -> list[Recomputed]:
    """Every score that was printed, in the order in which it was; none of a run of our own."""
    if run.document.imported is None:
        return []
    rows = run.measurements.join(run.sources, on=list(KEY), how="left")
    return [_recomputed(score, rows) for score in run.document.imported.printed]


def _recomputed(score: PrintedScore, rows: pl.DataFrame) -> Recomputed:
    groups: Sequence[Group] = ("bandwidth", "metadata") if score.name == "total" else (score.name,)
    means = [_mean(rows, score.list, group) for group in groups]
    root = 1 / len(means)
    return Recomputed(
        printed=score,
        value=math.prod(mean.value for mean in means) ** root,
        lowest=math.prod(mean.lowest for mean in means) ** root,
        highest=math.prod(mean.highest for mean in means) ** root,
        left_out=tuple(phase for mean in means for phase in mean.left_out),
        missing=tuple(phase for mean in means for phase in mean.missing),
        rests_on=tuple(place for mean in means for place in mean.rests_on),
    )


def _mean(rows: pl.DataFrame, of: Literal["standard", "extended"], group: Group) -> _Mean:
    wanted = [rule.phase for rule in RULES if of in rule.lists and rule.group == group]
    if of == "extended" and group == "bandwidth":
        wanted += rows.filter(pl.col("phase").is_in(_ONCE_EXTENDED))["phase"].to_list()
    found = {phase: own for phase in wanted if (own := _score(rows, phase, group)) is not None}
    counted = {phase: score for phase, score in found.items() if score[0] > 0}
    return _Mean(
        value=geometric_mean(score for score, _, _ in counted.values()),
        lowest=geometric_mean(max(score - half, 0.0) for score, half, _ in counted.values()),
        highest=geometric_mean(score + half for score, half, _ in counted.values()),
        left_out=tuple(phase for phase in found if phase not in counted),
        missing=tuple(phase for phase in wanted if phase not in found),
        rests_on=tuple(place for _, _, place in found.values()),
    )


def _score(rows: pl.DataFrame, phase: str, group: Group) -> tuple[float, float, Measurement] | None:
    """A phase's score, half the unit of its last digit, both in the unit of its group, and where it was measured."""
    own = rows.filter(phase=phase)
    if own.is_empty():
        return None
    row = own.row(0, named=True)
    unit = PER_SECOND[UNITS[group]]
    rate = row["rate_bytes_per_s"] if group == "bandwidth" else row["rate_operations_per_s"]
    return (rate or 0.0) / unit, (row["half_unit_per_s"] or 0.0) / unit, Measurement.of(row)

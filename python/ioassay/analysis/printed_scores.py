"""Checks whether the scores that a benchmark printed follow from the phases that it printed.

The IO500's program takes the geometric mean of the bandwidths, that of the metadata rates, and the square root of their
product (IO500/io500 at 02091cf, `src/main.c`; VI4IO/io-500-dev before it). It leaves out phases whose score is
0, so a failed phase can raise the score, which is reported. Printed numbers are rounded, so the recomputed score has a
range; the shell script of 2017 to 2020 also rounded between its steps, which `SLACK` covers.

Not: the score of a run of ioassay (`io500`), sentences.
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
"""Relative error of a score due to a program's rounding between its steps."""


_ONCE_EXTENDED = ("ior-rnd4K-write", "ior-rnd4K-read", "ior-rnd1MB-write", "ior-rnd1MB-read")
"""Bandwidth phases that the extended list had in 2021; they count if they were measured."""


@dataclass(frozen=True, kw_only=True)
class _Mean:
    """A geometric mean of scores, in their unit, with its lowest and highest value within their rounding."""

    value: float
    lowest: float
    highest: float
    left_out: tuple[str, ...]
    """Phases whose score is 0, which the program leaves out of its means."""
    missing: tuple[str, ...]
    """Missing phases of the list."""
    rests_on: tuple[Measurement, ...]


@dataclass(frozen=True, kw_only=True)
class RecomputedScore(_Mean):
    """A printed score, and the score that follows from the printed phases."""

    printed: PrintedScore

    @property
    def follows(self) -> bool:
        """True if the printed score agrees with the recomputed one."""
        allowed = self.printed.half_unit + SLACK * self.printed.value
        return self.lowest - allowed <= self.printed.value <= self.highest + allowed


def recomputed(run: LoadedRun) -> list[RecomputedScore]:
    """Every printed score, in the printed order; empty for runs of ioassay."""
    if run.document.imported is None:
        return []
    rows = run.measurements.join(run.sources, on=list(KEY), how="left")
    return [_recomputed(score, rows) for score in run.document.imported.printed]


def _recomputed(score: PrintedScore, rows: pl.DataFrame) -> RecomputedScore:
    groups: Sequence[Group] = ("bandwidth", "metadata") if score.name == "total" else (score.name,)
    means = [_mean(rows, score.list, group) for group in groups]
    root = 1 / len(means)
    return RecomputedScore(
        printed=score,
        value=math.prod(mean.value for mean in means) ** root,
        lowest=math.prod(mean.lowest for mean in means) ** root,
        highest=math.prod(mean.highest for mean in means) ** root,
        left_out=tuple(phase for mean in means for phase in mean.left_out),
        missing=tuple(phase for mean in means for phase in mean.missing),
        rests_on=tuple(place for mean in means for place in mean.rests_on),
    )


def _mean(rows: pl.DataFrame, list_name: Literal["standard", "extended"], group: Group) -> _Mean:
    wanted = [rule.phase for rule in RULES if list_name in rule.lists and rule.group == group]
    if list_name == "extended" and group == "bandwidth":
        wanted += rows.filter(pl.col("phase").is_in(_ONCE_EXTENDED))["phase"].to_list()
    scores = {phase: score for phase in wanted if (score := _score(rows, phase, group)) is not None}
    counted = {phase: score for phase, score in scores.items() if score[0] > 0}
    return _Mean(
        value=geometric_mean(score for score, _, _ in counted.values()),
        lowest=geometric_mean(max(score - half, 0.0) for score, half, _ in counted.values()),
        highest=geometric_mean(score + half for score, half, _ in counted.values()),
        left_out=tuple(phase for phase in scores if phase not in counted),
        missing=tuple(phase for phase in wanted if phase not in scores),
        rests_on=tuple(place for _, _, place in scores.values()),
    )


def _score(rows: pl.DataFrame, phase: str, group: Group) -> tuple[float, float, Measurement] | None:
    """A phase's score, half the unit of its last digit (both in the unit of its group), and its measurement."""
    phase_rows = rows.filter(phase=phase)
    if phase_rows.is_empty():
        return None
    row = phase_rows.row(0, named=True)
    unit = PER_SECOND[UNITS[group]]
    rate = row["rate_bytes_per_s"] if group == "bandwidth" else row["rate_operations_per_s"]
    return (rate or 0.0) / unit, (row["half_unit_per_s"] or 0.0) / unit, Measurement.of(row)

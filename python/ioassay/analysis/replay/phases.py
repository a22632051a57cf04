"""Phases of I/O, and the share of an operation that falls into a period.

The time line is cut at pauses of at least `QUIET_S`, `QUIET_SHARE` of the whole time and a step of it; bytes and
metadata of the same time stay in one phase. For at most `MOST_PHASES` phases, only the longest pauses count.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ioassay.profiles.model import DIRECTION, OF_OPERATION, Profile

QUIET_SHARE, QUIET_S = 0.01, 0.5

MOST_PHASES = 24

LEAST = {"read": 0.002, "write": 0.002, "metadata": 0.01}
"""Share of the busiest step's bytes or calls below which a step counts as a pause."""

_MOST_BINS, _FEWEST_BINS, _MOST_CELLS = 256, 16, 2_000_000

_FITTINGS = 40

_LEANING = 8.0

_NOTHING = 1e-100

READS, WRITES = (
    tuple(name for name, direction in DIRECTION.items() if direction == moving) for moving in ("read", "write")
)
NAMES = ("open", "stat", "create", "rename", "remove", "sync")
"""The operations that are replayed, beside the close of each open."""

OPERATIONS: Mapping[str, tuple[str, ...]] = {"read": READS, "write": WRITES, **{name: (name,) for name in NAMES}}
"""Operations of a profile, by the operation of the replay that they become."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Span:
    """A period, in seconds from the origin of the profile."""

    begin_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        return self.end_s - self.begin_s


class Course:
    """When the operations of a profile took place: those of `kinds` (keys of `OPERATIONS`). Operations without times
    are spread evenly over the whole profile.
    """

    def __init__(self, profile: Profile, kinds: Collection[str]) -> None:
        self.whole = _whole(profile)
        self._step_s = profile.timeline_step_s
        replayed = [name for kind in kinds for name in OPERATIONS[kind]]
        rows = profile.timeline.filter(pl.col("operation").is_in(replayed))
        rows = rows.filter((pl.col("calls").fill_null(0) > 0) | (pl.col("bytes").fill_null(0) > 0))
        self.is_known = rows.height > 0
        self._cumulated = {kind: self._cumulate(rows, names) for kind, names in OPERATIONS.items()}
        self.phases = self._cut(rows) if self.is_known else [self.whole]

    def place(self, kind: str, counts: Floats, begins_s: Floats, ends_s: Floats, leaning: Floats) -> Placement:
        """When each file had its operations of a kind: `counts` of them (bytes, for transfers) between `begins_s` and
        `ends_s`, rather early (`leaning` < 0) or late (> 0).

        Each file adds up to its count, and all files to the recorded amount of each step, as far as both are possible
        (iterative proportional fitting).
        """
        edges = self._edges(max(_FEWEST_BINS, min(_MOST_BINS, _MOST_CELLS // max(1, len(counts)))))
        done = np.diff(np.interp(edges, *self._cumulated[kind]))
        lasts = np.clip(np.maximum(ends_s, begins_s + 1e-6), edges[0] + 1e-6, edges[-1])
        firsts = np.minimum(np.clip(begins_s, edges[0], edges[-1]), lasts - 1e-7)
        inside = np.maximum(np.minimum(lasts[:, None], edges[1:]) - np.maximum(firsts[:, None], edges[:-1]), 0)
        middles = (np.minimum(lasts[:, None], edges[1:]) + np.maximum(firsts[:, None], edges[:-1])) / 2
        within = np.clip((middles - firsts[:, None]) / (lasts - firsts)[:, None], 0, 1)
        grid = inside / np.diff(edges) * done * np.exp(_LEANING * leaning[:, None] * within)
        _fit(grid, inside, counts.astype(float), done * counts.sum() / max(done.sum(), _NOTHING))
        return Placement(edges, firsts, lasts, grid)

    def _edges(self, bins: int) -> Floats:
        """Bounds of about `bins` steps: steps of the time line, joined within phases, and the pauses."""
        edges = [self.whole.begin_s, self.whole.end_s]
        length_s = sum(phase.length_s for phase in self.phases)
        for phase in self.phases:
            steps = max(1, round(phase.length_s / self._step_s))
            share = max(1, min(steps, round(bins * phase.length_s / length_s)))
            within = np.unique(np.rint(np.linspace(0, steps, share + 1))) / steps
            edges += (phase.begin_s + phase.length_s * within).tolist()
        return np.unique(np.array(edges))

    def _cumulate(self, rows: pl.DataFrame, names: Collection[str]) -> tuple[Floats, Floats]:
        frame = rows.filter(pl.col("operation").is_in(list(names)))
        column = "bytes" if frame["bytes"].fill_null(0).sum() > 0 else "calls"
        sums = frame.group_by("start_s").agg(pl.col(column).fill_null(0).sum().alias("amount")).sort("start_s")
        sums = sums.filter(pl.col("amount") > 0)
        if sums.is_empty():
            return np.array([self.whole.begin_s, self.whole.end_s]), np.array([0.0, 1.0])
        begins = np.clip(sums["start_s"].to_numpy(), self.whole.begin_s, self.whole.end_s)
        ends = np.clip(sums["start_s"].to_numpy() + self._step_s, self.whole.begin_s, self.whole.end_s)
        after = np.cumsum(sums["amount"].to_numpy())
        before = np.concatenate([[0.0], after[:-1]])
        return np.column_stack([begins, ends]).ravel(), np.column_stack([before, after]).ravel()

    def _cut(self, rows: pl.DataFrame) -> list[Span]:
        starts = _busy(rows)
        begins = np.clip(starts, self.whole.begin_s, None)
        ends = np.clip(starts + self._step_s, None, max(self.whole.end_s, starts[0] + 1e-3))
        pauses = begins[1:] - ends[:-1]
        quiet_s = max(self._step_s, QUIET_S, QUIET_SHARE * self.whole.length_s)
        longest = np.sort(pauses)[::-1][: MOST_PHASES - 1]
        enough = max(quiet_s, longest[-1]) if len(longest) else quiet_s
        cuts = np.flatnonzero(pauses >= enough * (1 - 1e-9))[: MOST_PHASES - 1]
        firsts, lasts = [0, *(cuts + 1)], [*cuts, len(starts) - 1]
        return [
            Span(float(begins[first]), float(max(ends[last], begins[first] + 1e-3)))
            for first, last in zip(firsts, lasts, strict=True)
        ]


@dataclass(frozen=True)
class Placement:
    """When files had their operations: `grid` has a row for each file and a column for each step of time."""

    edges: Floats
    firsts: Floats
    lasts: Floats
    grid: Floats

    def within(self, spans: Sequence[Span]) -> Floats:
        """The number of operations of each file in each span."""
        moments, positions = np.unique([[span.begin_s, span.end_s] for span in spans], return_inverse=True)
        before = np.concatenate([np.zeros((len(self.grid), 1)), np.cumsum(self.grid, axis=1)], axis=1)
        until = self._until(before, moments)
        positions = positions.reshape(len(spans), 2)
        counts: Floats = until[:, positions[:, 1]] - until[:, positions[:, 0]]
        return np.maximum(counts, 0)

    def select(self, rows: NDArray[np.int64]) -> Placement:
        """The placement of some of the files."""
        return Placement(self.edges, self.firsts[rows], self.lasts[rows], self.grid[rows])

    def _until(self, before: Floats, moments: Floats) -> Floats:
        steps = np.clip(np.searchsorted(self.edges, moments, side="right") - 1, 0, len(self.edges) - 2)
        lowest = np.maximum(self.firsts[:, None], self.edges[steps])
        highest = np.minimum(self.lasts[:, None], self.edges[steps + 1])
        share = np.clip((moments - lowest) / np.maximum(highest - lowest, 1e-12), 0, 1)
        done: Floats = before[:, steps] + self.grid[:, steps] * share
        return done


def _fit(grid: Floats, possible: Floats, rows: Floats, columns: Floats) -> None:
    """Scales a grid in place until its rows have these sums, and its columns as far as possible. A row that becomes 0
    is spread over its possible steps.
    """
    for _ in range(_FITTINGS):
        grid *= _ratio(columns, grid.sum(axis=0))
        lacking = grid.sum(axis=1) < _NOTHING
        grid[lacking] = possible[lacking]
        grid *= _ratio(rows, grid.sum(axis=1))[:, None]


def _ratio(wanted: Floats, sums: Floats) -> Floats:
    ratio: Floats = np.divide(wanted, sums, out=np.zeros(len(sums)), where=sums > _NOTHING)
    return ratio


def _busy(rows: pl.DataFrame) -> Floats:
    """Begins of steps with I/O above the threshold; the time line also contains I/O on pipes and terminals."""
    moved = pl.when(pl.col("bytes").fill_null(0) > 0).then("bytes").otherwise("calls").cast(pl.Float64)
    amount = pl.when(pl.col("direction") == "metadata").then(pl.col("calls").cast(pl.Float64)).otherwise(moved)
    sums = (
        rows.with_columns(OF_OPERATION)
        .with_columns(amount=amount.fill_null(0))
        .group_by("start_s", "direction")
        .agg(pl.col("amount").sum())
    )
    least = pl.col("direction").replace_strict(LEAST, return_dtype=pl.Float64)
    busy = sums.filter(pl.col("amount") > 0, pl.col("amount") >= least * pl.col("amount").max().over("direction"))
    return np.unique(busy["start_s"].to_numpy())


def _whole(profile: Profile) -> Span:
    """From the beginning of the first process to the end of the last."""
    begin_s, end_s = (
        (time_ns - profile.origin_unix_ns) / 1e9 for time_ns in (profile.begin_unix_ns, profile.end_unix_ns)
    )
    return Span(begin_s, max(end_s, begin_s + 1e-3))

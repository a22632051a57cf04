"""Detects trends, change points and stalls within a phase, from its samples.

They are based on the sum of all ranks while all are at work, from the sample after the last rank's first operation to
the one before the first rank's last operation; `stragglers` covers the rest. Long phases are joined to at most
`MOST_STEPS` steps; phases shorter than `FEWEST` samples are skipped.

- **Trend**: the slope of the logarithm of the rate by Theil and Sen, if Kendall's tau against time is significant.
- **Change points**: where the sum of ranks differs most between before and after (Pettitt, 1979), in units of its
  standard deviation, so that changes near the ends count, too; repeated within both parts. A change point is kept if
  the parts beside it differ significantly.
- **Stalls**: at least `STALLED_SAMPLES` samples in a row below `STALLED` of the phase's median, in which `MISSED`
  operations were expected.

All methods use ranks and medians, so a few odd samples change little. The correlation of neighbouring samples weakens
both tests, and only the better fit of a line and steps is reported (`trend_tests`). Reports are large as well as
significant: a trend of `LEAST_TREND` over the phase, a change of `LEAST_CHANGE`. Of steady phases with log-normal noise
of 10 or 30 %, at most 0.2 % get a trend or a change with independent samples, and at most 0.9 % with a correlation of
0.8 between neighbours (`test_drift.py`; the table is in docs/concepts/statistics.md).

Not: drawing the rate over time (`timeline`), one rank against the others (`stragglers`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from ioassay.analysis import rates
from ioassay.analysis.intervals import Interval
from ioassay.analysis.timeline import Counts
from ioassay.analysis.trend_tests import Slopes, is_line, widening
from ioassay.store.measurement import KEY, Measurement
from ioassay.text.rate_units import RateColumn

if TYPE_CHECKING:
    from ioassay.analysis.trend_tests import Array

FEWEST = 24
"""The fewest samples for a trend or a change."""

MOST_STEPS = 120

LEAST_TREND = 0.1
"""The smallest reported trend over the phase, as a share of the rate at its beginning."""

LEAST_CHANGE = 0.2
"""The smallest reported change, as a share of the higher of the rates before and after."""

STALLED = 0.1
"""The share of the median rate below which a sample is part of a stall."""

STALLED_SAMPLES = 2

MISSED = 20
"""The fewest operations that a stall has room for: if an operation takes longer than a sample, some samples are empty
by chance.
"""

_SURE = 3.9
"""Standard deviations above which a trend or change is significant: 0.1 % of noise with 120 steps has one so large."""
_SHORTEST_PART = 4
"""The fewest steps before and after a change point; a twentieth of the phase if that is more."""
_LOWEST = 0.01
"""Lower bound of rates, as a share of the median, so that they have a logarithm."""


@dataclass(frozen=True)
class Trend:
    change: Interval
    """Over the examined time, as a share of the rate at its beginning: -0.2 is a decline by 20 %."""


@dataclass(frozen=True)
class Change:
    """The rate changed at `at_s`, seconds after the phase's first start, from one median to another (counts/s)."""

    at_s: float
    before: float
    after: float


@dataclass(frozen=True)
class Stall:
    """I/O stalled for `length_s` seconds from `start_s` on."""

    start_s: float
    length_s: float


@dataclass(frozen=True)
class Drift:
    """Trends, changes and stalls of a phase between `start_s` and `end_s` seconds after its first start."""

    place: Measurement
    counts: Counts
    start_s: float
    end_s: float
    median: float
    """The median of the steps' rates, in `counts` per second."""
    low: float
    high: float
    """The lowest tenth of the steps is below `low`, the highest tenth above `high`."""
    trend: Trend | None
    changes: tuple[Change, ...]
    """In the order of time; without those to and from a stall. Empty if there is a trend."""
    stalls: tuple[Stall, ...]

    @property
    def column(self) -> RateColumn:
        """The column of rates in the same quantity."""
        return "rate_bytes_per_s" if self.counts == "bytes" else "rate_operations_per_s"


def drifts(samples: pl.LazyFrame, measurements: pl.DataFrame) -> list[Drift]:
    """The drift of every valid phase with enough samples, in the order of `measurements`."""
    wanted = measurements.filter("valid", pl.col("sample_interval_ns") > 0)
    intervals = dict(zip(rates.places(wanted), wanted["sample_interval_ns"], strict=True))
    totals = {_place(key): rows for key, rows in _totals(samples).partition_by(*KEY, as_dict=True).items()}
    return [
        drift
        for place, interval_ns in intervals.items()
        if place in totals and (drift := _drift(place, totals[place], interval_ns / 1e9)) is not None
    ]


def _place(key: tuple[object, ...]) -> Measurement:
    return Measurement(*map(str, key))


def _totals(samples: pl.LazyFrame) -> pl.DataFrame:
    """Bytes and operations of all ranks per phase and sample, while all are at work: from `begin` to before `end`.

    Streams the rows: ten million of them are never in memory together.
    """
    key = list(KEY)
    at_work = (
        samples.filter((pl.col("bytes") > 0) | (pl.col("operations") > 0))
        .group_by(*key, "rank")
        .agg(pl.col("sample").min().alias("first"), pl.col("sample").max().alias("last"))
        .group_by(key)
        .agg(pl.col("first").max(), pl.col("last").min())
    )
    # The sample of a rank's first operation is cut short by its start, unless that is the start of the phase.
    begin = pl.when(pl.col("first") > 0).then(pl.col("first") + 1).otherwise(0)
    return (
        samples.group_by(*key, "sample")
        .agg(pl.col("bytes").sum(), pl.col("operations").sum())
        .join(at_work.select(*key, begin.alias("begin"), pl.col("last").alias("end")), on=key)
        .filter(pl.col("sample") >= pl.col("begin"), pl.col("sample") < pl.col("end"))
        .collect(engine="streaming")
    )


def _drift(place: Measurement, rows: pl.DataFrame, interval_s: float) -> Drift | None:
    begin, end = rows["begin"][0], rows["end"][0]
    if end - begin < FEWEST:
        return None
    import numpy as np  # noqa: PLC0415

    counts: Counts = "bytes" if rows["bytes"].sum() else "operations"
    amounts = np.zeros(end - begin)
    amounts[rows["sample"].to_numpy() - begin] = rows[counts].to_numpy()
    if np.median(amounts) == 0:
        return None
    per_step = math.ceil(len(amounts) / MOST_STEPS)
    steps = amounts[: len(amounts) // per_step * per_step].reshape(-1, per_step).mean(axis=1) / interval_s
    logs = np.log(np.maximum(steps, _LOWEST * np.median(steps)))
    candidates = _candidates(logs)
    times = np.arange(len(logs), dtype=np.float64)
    wider = widening(logs, times, candidates)
    trend = _trend(logs, times, wider)
    points = _change_points(logs, candidates, wider)
    if trend is not None and points:
        if is_line(logs, times, points):
            points = []
        else:
            trend = None
    step_s = per_step * interval_s
    start_s = begin * interval_s
    parts = np.split(steps, points)
    middle = float(np.median(steps))
    operations = float(np.median(rows["operations"].to_numpy()))
    stalls = tuple(_stalls(amounts, operations, start_s, interval_s))
    changes = (
        Change(start_s + index * step_s, float(np.median(before)), float(np.median(after)))
        for index, (before, after) in zip(points, pairwise(parts), strict=True)
    )
    return Drift(
        place=place,
        counts=counts,
        start_s=start_s,
        end_s=start_s + len(steps) * step_s,
        median=middle,
        low=float(np.quantile(steps, 0.1)),
        high=float(np.quantile(steps, 0.9)),
        trend=trend,
        changes=tuple(
            change for change in changes if not stalls or min(change.before, change.after) >= STALLED * middle
        ),
        stalls=stalls,
    )


def _trend(logs: Array, times: Array, widening: float) -> Trend | None:
    slopes = Slopes(logs, times)
    if slopes.significance(widening) < _SURE:
        return None
    slope = slopes.interval(widening)
    change, low, high = (math.expm1(growth * (len(logs) - 1)) for growth in (slope.estimate, slope.low, slope.high))
    return Trend(Interval(change, low, high, slope.confidence)) if abs(change) >= LEAST_TREND else None


def _change_points(logs: Array, candidates: Sequence[int], widening: float) -> list[int]:
    """The candidates at which the level changes significantly and by enough, ascending; the weakest go first."""
    import numpy as np  # noqa: PLC0415

    points = list(candidates)
    while points:
        parts = np.split(logs, points)
        scores = [_score(before, after) for before, after in pairwise(parts)]
        steps = [abs(float(np.median(before) - np.median(after))) for before, after in pairwise(parts)]
        weak = [
            index
            for index, (score, step) in enumerate(zip(scores, steps, strict=True))
            if score < _SURE * widening or step < -math.log1p(-LEAST_CHANGE)
        ]
        if not weak:
            break
        del points[min(weak, key=scores.__getitem__)]
    return points


def _score(before: Array, after: Array) -> float:
    """Mann and Whitney's U of two parts, in standard deviations from its mean for equal parts."""
    import numpy as np  # noqa: PLC0415

    first, second = len(before), len(after)
    ranks = float(_ranks(np.concatenate([before, after]))[:first].sum())
    deviation = math.sqrt(first * second * (first + second + 1) / 12)
    return abs(ranks - first * (first + second + 1) / 2) / deviation


def _candidates(logs: Array) -> list[int]:
    """The steps before which the level would change if samples were independent, ascending."""
    return sorted(_splits(logs, 0, max(_SHORTEST_PART, len(logs) // 20)))


def _splits(logs: Array, offset: int, shortest: int) -> Iterator[int]:
    if len(logs) < 2 * shortest:
        return
    split, score = _best_split(logs, shortest)
    if score >= _SURE:
        yield offset + split
        yield from _splits(logs[:split], offset, shortest)
        yield from _splits(logs[split:], offset + split, shortest)


def _best_split(logs: Array, shortest: int) -> tuple[int, float]:
    """The split at which the ranks before and after differ most, and by how many standard deviations."""
    import numpy as np  # noqa: PLC0415

    count = len(logs)
    before = np.arange(1, count)
    sums = np.cumsum(2 * _ranks(logs) - count - 1)[:-1]
    scores = np.abs(sums) / np.sqrt(before * (count - before) * (count + 1) / 3)
    split = shortest - 1 + int(scores[shortest - 1 : count - shortest].argmax())
    return split + 1, float(scores[split])


def _ranks(values: Array) -> Array:
    """Ranks from 1; equal values get the mean of their ranks."""
    return pl.Series(values).rank("average").to_numpy()


def _stalls(amounts: Array, operations: float, start_s: float, interval_s: float) -> Iterator[Stall]:
    import numpy as np  # noqa: PLC0415

    low = np.concatenate([[False], amounts < STALLED * np.median(amounts), [False]])
    edges = np.flatnonzero(low[1:] != low[:-1])
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if end - begin >= STALLED_SAMPLES and (end - begin) * operations >= MISSED:
            yield Stall(start_s + begin * interval_s, (end - begin) * interval_s)

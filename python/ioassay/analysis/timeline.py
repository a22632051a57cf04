"""The rate of one phase over time: in total, and per rank or as a band over the ranks.

Dividing samples by their length would be wrong in two cases. The last sample ends early, when its rank (or the phase)
ends, so its rate uses the time that it covers. And a last sample of a few milliseconds contains operations that began
in the previous one, which would show as a spike: one shorter than half a sample is joined with its neighbour.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import polars as pl

Counts = Literal["bytes", "operations"]
"""The quantity that the rates of a time line count."""

MOST_LINES = 8
"""The most ranks that have a line each; more become a band."""

MOST_STEPS = 160
"""The most steps of a time line, which joins samples if there are more: a panel could not show them."""


@dataclass(frozen=True)
class Timeline:
    """The time line of one phase. All times in seconds since the barrier opened, all rates in `counts` per second.

    `total`: start_s, end_s, rate. `ranks`: rank, start_s, end_s, rate; empty if there is a band.
    `band`: start_s, end_s, lowest, median, highest over the ranks still at work; empty if there are lines.
    Each step joins `samples_per_step` samples and is `step_s` long.
    """

    total: pl.DataFrame
    ranks: pl.DataFrame
    band: pl.DataFrame
    duration_s: float
    step_s: float
    samples_per_step: int
    counts: Counts = "bytes"


def timeline(samples: pl.LazyFrame, ranks: pl.DataFrame, sample_interval_ns: int, duration_ns: int) -> Timeline | None:
    """The time line of one phase from its rows of `samples` and `ranks`. `None` if it has none.

    It counts bytes, or operations if the phase moves no byte. There may be millions of samples: they are joined to
    steps as they are read, and never all in memory.
    """
    if ranks.is_empty() or duration_ns <= 0:
        return None
    per_step = max(1, math.ceil(duration_ns / sample_interval_ns / MOST_STEPS))
    step_ns = per_step * sample_interval_ns
    joined = (
        samples.group_by("rank", (pl.col("sample") // per_step).alias("step"))
        .agg(pl.col("bytes", "operations").sum())
        .collect(engine="streaming")
    )
    if joined.is_empty():
        return None
    counts: Counts = "bytes" if joined["bytes"].sum() else "operations"
    steps = joined.select("rank", "step", pl.col(counts).alias("amount"))

    whole = pl.DataFrame({"rank": [0], "end_ns": [duration_ns]}, schema={"rank": pl.Int64, "end_ns": pl.Int64})
    total = _rates(steps.with_columns(pl.lit(0, pl.Int64).alias("rank")), whole, step_ns)
    per_rank = _rates(steps, ranks.select("rank", "end_ns").filter(pl.col("end_ns") > 0), step_ns)
    band = _band(per_rank)
    lines = ranks.height <= MOST_LINES
    return Timeline(
        total=total.drop("rank", "step"),
        ranks=per_rank.drop("step") if lines else per_rank.drop("step").clear(),
        band=band.clear() if lines else band,
        duration_s=duration_ns / 1e9,
        step_s=step_ns / 1e9,
        samples_per_step=per_step,
        counts=counts,
    )


def _rates(steps: pl.DataFrame, ends: pl.DataFrame, step_ns: int) -> pl.DataFrame:
    """Rate per rank and step, with a row also for steps without a byte. Columns: rank, step, start_s, end_s, rate."""
    last = (pl.col("end_ns") - 1) // step_ns
    cut_short = (pl.col("end_ns") - last * step_ns) * 2 < step_ns
    ends = ends.with_columns((last - (cut_short & (last > 0)).cast(pl.Int64)).alias("last"))
    grid = ends.with_columns(pl.int_ranges(0, pl.col("last") + 1).alias("step")).explode("step")
    done = (
        steps.join(ends, on="rank")
        .with_columns(pl.min_horizontal("step", "last").alias("step"))
        .group_by("rank", "step")
        .agg(pl.col("amount").sum())
    )
    start = pl.col("step") * step_ns
    end = pl.when(pl.col("step") == pl.col("last")).then("end_ns").otherwise(start + step_ns)
    return (
        grid.join(done, on=["rank", "step"], how="left")
        .select(
            "rank",
            "step",
            (start / 1e9).alias("start_s"),
            (end / 1e9).alias("end_s"),
            (pl.col("amount").fill_null(0) * 1e9 / (end - start)).alias("rate"),
        )
        .sort("rank", "step")
    )


def _band(per_rank: pl.DataFrame) -> pl.DataFrame:
    return (
        per_rank.group_by("step")
        .agg(
            pl.col("start_s").min(),
            pl.col("end_s").max(),
            pl.col("rate").min().alias("lowest"),
            pl.col("rate").median().alias("median"),
            pl.col("rate").max().alias("highest"),
        )
        .sort("step")
        .drop("step")
        # A rank whose last step was joined extends into the next step of the others.
        .with_columns(pl.col("start_s").shift(-1).fill_null(pl.col("end_s")).alias("end_s"))
    )

"""The time line, the heat map and the sizes of requests, in as many steps and rows as a figure can show."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ioassay.analysis.profile.phases import by_direction
from ioassay.analysis.profile.totals import MOVED, REQUESTS, known_sum
from ioassay.profiles.model import HEAT, METADATA, ON_STORAGE, Profile
from ioassay.protocol.record_layout import SIZE_BEGINS_BYTES

MOST_STEPS = 400
"""The most steps of a line over time."""

MOST_COLUMNS, MOST_ROWS = 100, 50
"""The most columns and rows of a heat map."""

MOST_OPERATIONS = 5
"""The most operations over time: those with most calls."""

_Numbers = NDArray[Any]

OTHER = "other"
"""The line of all other operations."""


def rates(profile: Profile) -> tuple[pl.DataFrame, float]:
    """Bytes per second: start_s, line (read or write), rate, with a row for each step, also idle ones; and the length
    of a step in seconds.
    """
    moved = by_direction(profile).filter(pl.col("direction") != "metadata")
    return _lines(profile, moved.rename({"direction": "line", "bytes": "amount"}))


def map_rates(profile: Profile, bounds: pl.DataFrame) -> pl.DataFrame:
    """Bytes per second of maps (`maps.BOUNDS`), spread evenly over the time for which each file was mapped: start_s,
    line (read or write), least_rate, most_rate, with a row for each step of `rates`. Empty without maps.
    """
    step_s = _step_s(profile)
    steps = _steps(profile, step_s)
    first = (bounds["first_map_s"].to_numpy() / step_s).astype(int).clip(0, steps - 1)
    end_s = bounds["last_unmap_s"].fill_null(profile.end_s).to_numpy()
    beyond = np.maximum(np.ceil(end_s / step_s).astype(int).clip(1, steps), first + 1)
    frames = []
    for line, name in MOVED.items():
        least, most = (
            _spread_evenly(bounds[f"{name.removesuffix('_bytes')}_{end}_bytes"].to_numpy(), first, beyond, steps)
            for end in ("least", "most")
        )
        if most.any():
            rates = {"least_rate": least / step_s, "most_rate": most / step_s}
            frames.append(pl.DataFrame({"start_s": np.arange(steps) * step_s, "line": [line] * steps, **rates}))
    return pl.concat(frames) if frames else pl.DataFrame(schema=_MAP_RATES)


_MAP_RATES = {"start_s": pl.Float64, "line": pl.String, "least_rate": pl.Float64, "most_rate": pl.Float64}


def _spread_evenly(amounts: _Numbers, first: _Numbers, beyond: _Numbers, steps: int) -> NDArray[np.float64]:
    """The sum in each step of amounts that are equal in all steps from `first` to the one before `beyond`."""
    each = amounts / (beyond - first)
    changes = np.zeros(steps + 1)
    np.add.at(changes, first, each)
    np.subtract.at(changes, beyond, each)
    sums = np.cumsum(changes)[:-1]
    # Remainders of sums that have ended are rounding errors.
    return np.where(sums > amounts.sum(initial=0) * 1e-12, sums, 0.0)


def operation_rates(profile: Profile) -> tuple[pl.DataFrame, float]:
    """Operations per second that move no bytes: start_s, line (the operation), rate; otherwise as `rates`."""
    rows = profile.timeline.filter(pl.col("operation").is_in(METADATA))
    calls = rows.group_by("operation").agg(pl.col("calls").sum()).sort("calls", "operation", descending=True)
    named = calls["operation"].head(MOST_OPERATIONS)
    line = pl.when(pl.col("operation").is_in(named.implode())).then("operation").otherwise(pl.lit(OTHER))
    return _lines(profile, rows.select("start_s", line.alias("line"), pl.col("calls").alias("amount")))


def _lines(profile: Profile, rows: pl.DataFrame) -> tuple[pl.DataFrame, float]:
    """start_s, line, rate, from rows with start_s, line and amount."""
    step_s = _step_s(profile)
    summed = (
        rows.with_columns(step=(pl.col("start_s") / step_s).floor().cast(pl.Int64))
        .group_by("step", "line")
        .agg(pl.col("amount").sum())
    )
    every = pl.DataFrame({"step": range(_steps(profile, step_s))}, schema={"step": pl.Int64})
    whole = every.join(summed.select("line").unique(), how="cross").join(summed, on=["step", "line"], how="left")
    return (
        whole.select(start_s=pl.col("step") * step_s, line="line", rate=pl.col("amount").fill_null(0) / step_s).sort(
            "line", "start_s"
        ),
        step_s,
    )


def _step_s(profile: Profile) -> float:
    return _widened(profile.timeline_step_s, profile.end_s, MOST_STEPS)


def _steps(profile: Profile, step_s: float) -> int:
    return max(1, math.ceil(profile.end_s / step_s))


def _widened(step_s: float, end_s: float, most: int) -> float:
    """The smallest multiple of a step with at most `most` steps until the end."""
    return step_s * max(1, math.ceil(end_s / step_s / most))


class Heat(NamedTuple):
    """The heat map of processes over time."""

    cells: pl.DataFrame
    """row, start_s, bytes_per_s, busy (time in calls per second and process; null: unknown); cells without
    calls, or without any known value, are left out.
    """
    step_s: float
    """Length of a column."""
    rows: int
    processes_of_a_row: int
    """The most processes in a row: neighbours by rank, then by begin."""


def heat(profile: Profile) -> Heat:
    step_s = _widened(profile.heat_step_s, profile.end_s, MOST_COLUMNS)
    rows = _row_of(profile)
    of_row = rows.group_by("row").agg(processes=pl.len())
    cells = (
        profile.heat.cast(dict(HEAT.items()))
        .join(rows, on="process")
        .with_columns(
            start_s=(pl.col("start_s") / step_s).floor() * step_s,
            moved=_known_of("read_bytes", "written_bytes"),
            spent=_known_of("read_ns", "write_ns", "metadata_ns"),
        )
        .group_by("row", "start_s")
        .agg(known_sum("moved"), known_sum("spent"))
        .join(of_row, on="row")
        .select(
            "row",
            "start_s",
            bytes_per_s=pl.col("moved") / step_s,
            busy=pl.col("spent") / 1e9 / step_s / pl.col("processes"),
        )
        .filter(pl.any_horizontal(pl.col("bytes_per_s", "busy").is_not_null()))
        .sort("row", "start_s")
    )
    return Heat(cells, step_s, of_row.height, int(of_row["processes"].max() or 0))  # type: ignore[arg-type]


def _known_of(*columns: str) -> pl.Expr:
    """The sum of the known values of a row; null without any."""
    return pl.when(pl.any_horizontal(pl.col(columns).is_not_null())).then(pl.sum_horizontal(columns))


def _row_of(profile: Profile) -> pl.DataFrame:
    """process, row: the row of each process with I/O, by rank, then by begin."""
    active = profile.processes.join(profile.heat.select("process").unique(), on="process", how="semi")
    ordered = active.sort("rank", "process", nulls_last=True).select("process")
    of_a_row = max(1, math.ceil(ordered.height / MOST_ROWS))
    return ordered.with_row_index("row").with_columns(row=(pl.col("row") // of_a_row).cast(pl.Int64))


def sizes(profile: Profile) -> pl.DataFrame:
    """Sizes of requests on storage: direction, begin_bytes, end_bytes, calls, with a row for each bucket between the
    smallest and the largest of any direction.
    """
    files = profile.files.filter(pl.col("kind").is_in(ON_STORAGE)).select("file")
    direction = {operation: direction for direction, operations in REQUESTS.items() for operation in operations}
    stored = profile.file_sizes.join(files, on="file", how="semi").with_columns(
        direction=pl.col("operation").replace_strict(direction, default=None, return_dtype=pl.String)
    )
    rows = stored.drop_nulls("direction").group_by("direction", "begin_bytes", "end_bytes").agg(pl.col("calls").sum())
    between = pl.col("begin_bytes").is_between(rows["begin_bytes"].min(), rows["begin_bytes"].max())
    every = pl.DataFrame({"begin_bytes": SIZE_BEGINS_BYTES, "end_bytes": [*SIZE_BEGINS_BYTES[1:], None]})
    # Other sources have other bounds than the recorder; their gaps are not filled.
    known = (
        every if rows.join(every, on=["begin_bytes", "end_bytes"], how="anti", nulls_equal=True).is_empty() else rows
    )
    bounds = known.select("begin_bytes", "end_bytes").unique().filter(between)
    return (
        rows.select("direction")
        .unique()
        .join(bounds, how="cross")
        .join(rows, on=["direction", "begin_bytes", "end_bytes"], how="left", nulls_equal=True)
        .with_columns(pl.col("calls").fill_null(0))
        .sort("direction", "begin_bytes")
    )

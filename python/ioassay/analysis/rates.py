"""Rates at the points of a sweep: every repetition, the median, and the typical repetition.

Only valid measurements enter a median. Invalid ones stay among the points, marked, because a reader must
see that a measurement was discarded. Phases and jobs are separate: a warm read is no repetition of a cold one. The
typical repetition is shown where all of them would be too many.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import polars as pl

from ioassay.analysis import axes, intervals
from ioassay.store.document import RunDocument
from ioassay.store.measurement import KEY, POINT, Measurement
from ioassay.text.rate_units import UNITS, RateColumn

_POINT = list(POINT)
_RATES: tuple[RateColumn, ...] = get_args(RateColumn)


def points(measurements: pl.DataFrame) -> pl.DataFrame:
    """One row per measurement with a rate.

    Columns: those of `schema.POINT`, repetition, case, valid, rate_bytes_per_s and rate_operations_per_s (both
    last-finished, as IOR's), and each of the two with `stonewall_` before it. Ascending by the point, then by
    repetition.
    """
    rated = measurements.filter(pl.any_horizontal(pl.col(rate).is_not_null() for rate in _RATES))
    columns = (*_POINT, "repetition", "case", "valid", *_RATES, *(f"stonewall_{rate}" for rate in _RATES))
    return axes.in_order(rated.select(columns), *_POINT, "repetition")


def medians(points: pl.DataFrame, column: RateColumn) -> pl.DataFrame:
    """One row per sweep point with at least one valid measurement.

    Columns: those of `schema.POINT`, repetitions (how many valid ones), lowest, median, highest; low, high and
    confidence of the median's interval (null with too few repetitions); stonewall (the median rate at the
    stonewall, null without one). All but repetitions and confidence in the unit of `column`. Ascending by the
    point.
    """
    return repeated(points, column).drop("rates")


def repeated(points: pl.DataFrame, column: RateColumn) -> pl.DataFrame:
    """The rows of `medians`, with the list of their repetitions in `rates`."""
    grouped = (
        points.filter("valid", pl.col(column).is_not_null())
        .group_by(_POINT)
        .agg(
            pl.len().alias("repetitions"),
            pl.col(column).min().alias("lowest"),
            pl.col(column).median().alias("median"),
            pl.col(column).max().alias("highest"),
            pl.col(f"stonewall_{column}").median().alias("stonewall"),
            pl.col(column).alias("rates"),
        )
    )
    rows = axes.in_order(grouped, *_POINT)
    known = [intervals.of_median(rates) for rates in rows["rates"].to_list()]
    ends = {
        name: [interval and getattr(interval, name) for interval in known] for name in ("low", "high", "confidence")
    }
    return rows.with_columns(pl.Series(name, ends[name], pl.Float64) for name in ends)


def of(
    frame: pl.DataFrame, workload: str, operation: str, phase: str | None = None, job: str | None = None
) -> pl.DataFrame:
    """The rows of one workload's operation, in one phase and job if these are given."""
    wanted = (pl.col("workload") == workload) & (pl.col("operation") == operation)
    if phase is not None:
        wanted &= pl.col("phase") == phase
    if job is not None:
        wanted &= pl.col("job") == job
    return frame.filter(wanted)


def is_at(point: Mapping[str, Any]) -> pl.Expr:
    """True for the rows of a sweep point; `point` has columns of `schema.POINT`, some null for imported results."""
    return pl.all_horizontal(pl.col(name).eq_missing(pl.lit(point[name])) for name in POINT if name in point)


def column(document: RunDocument, points: pl.DataFrame, workload: str) -> RateColumn:
    """The quantity that the rates of a series count, from its `points`.

    Operations for files in trees, where only the number of small files matters, and for operations that move nothing,
    such as steps of training. For a file set, the quantity that the study asks for, or bytes if it asks for neither or
    both.
    """
    # An imported result may have rates without files.
    if (points["files"] == 0).all(ignore_nulls=False) or points["rate_bytes_per_s"].is_null().all():
        return "rate_operations_per_s"
    if moves_nothing(points):
        return "rate_operations_per_s"
    study = document.study
    asked = {UNITS[row.unit].column for row in study.summary if row.workload == workload}
    asked |= {UNITS[figure.unit].column for figure in study.figures if workload in figure.workloads}
    return "rate_operations_per_s" if asked == {"rate_operations_per_s"} else "rate_bytes_per_s"


def moves_nothing(points: pl.DataFrame) -> bool:
    """True for a series of operations that move no bytes, such as steps of training."""
    nothing = points.select((pl.col("rate_bytes_per_s") == 0) & (pl.col("rate_operations_per_s") > 0)).to_series()
    return not nothing.is_empty() and bool(nothing.all(ignore_nulls=False))


def places(frame: pl.DataFrame) -> list[Measurement]:
    """The measurements of the rows, in their order."""
    return [Measurement(*row) for row in frame.select(*KEY).iter_rows()]


def typical(measurements: pl.DataFrame) -> pl.DataFrame:
    """The measurement of each point whose rate is nearest the median of the valid ones, the earliest of equally near
    ones.

    The columns are those of `measurements` (`schema.MEASUREMENTS`). A point without valid repetitions has its first.
    """
    # An imported result may have only one of them.
    rate = pl.coalesce("rate_operations_per_s", "rate_bytes_per_s")
    distance = (rate - rate.filter(pl.col("valid")).median().over(POINT)).abs()
    return (
        measurements.with_columns(distance.alias("distance"))
        .sort(~pl.col("valid"), "distance", "repetition", nulls_last=True)
        .unique(list(POINT), keep="first", maintain_order=True)
        .drop("distance")
    )

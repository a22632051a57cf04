"""The figures of a profile. Not: drawing (`figures.profile`), numbers (`analysis.profile.steps`)."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from ioassay.analysis.profile import steps
from ioassay.analysis.rate_units import suited
from ioassay.figures.picture import Picture, draw
from ioassay.figures.profile import heat, latencies, over_time, sizes
from ioassay.reports import format
from ioassay.reports.profile.content import Content


def pictures(content: Content) -> dict[str, Picture]:
    """Every figure that there is something to draw for, by what it shows."""
    made = (_rates(content), _operations(content), _heat(content), _latencies(content), _sizes(content))
    return {one.id.removeprefix("profile-"): one for own in made for one in own}


def _rates(content: Content) -> Iterator[Picture]:
    data, step_s = steps.rates(content.profile)
    if data.is_empty():
        return
    unit = suited("rate_bytes_per_s", "read", data["rate"])
    yield draw(
        over_time.chart(data.with_columns(pl.col("rate") / unit.divisor), step_s, f"Rate ({unit.name})"),
        "profile-rates",
        title="Bytes read and written over time",
        data=data.rename({"line": "direction", "rate": "rate_bytes_per_s"}),
        caption=_steps(step_s),
        description=f"Rate of reads and writes in {unit.name} over the time of the profile.",
    )


def _operations(content: Content) -> Iterator[Picture]:
    data, step_s = steps.operation_rates(content.profile)
    if data.is_empty():
        return
    unit = suited("rate_operations_per_s", "stat", data["rate"])
    yield draw(
        over_time.chart(data.with_columns(pl.col("rate") / unit.divisor), step_s, f"Operations ({unit.name})"),
        "profile-operations",
        title="Metadata operations over time",
        data=data.rename({"line": "operation", "rate": "rate_operations_per_s"}),
        caption=_steps(step_s),
        description=f"Metadata operations in {unit.name} over the time of the profile.",
    )


def _heat(content: Content) -> Iterator[Picture]:
    found = steps.heat(content.profile)
    data = found.cells
    if data.is_empty():
        return
    what = "Processes" if found.processes_of_a_row == 1 else f"Processes, {found.processes_of_a_row} a row"
    unit = suited("rate_bytes_per_s", "read", data["bytes_per_s"].drop_nulls())
    yield draw(
        heat.chart(data, found.step_s, content.profile.end_s, unit, rows=found.rows, title=what),
        "profile-heat",
        title="Processes over time",
        data=data,
        caption=f"By rank, or else by their beginning; processes without I/O are left out. {_steps(found.step_s)}",
        description="Bytes moved by each process and its time in calls, where known, over the time of the profile.",
    )


def _latencies(content: Content) -> Iterator[Picture]:
    data = latencies.data(content.operations)
    if data.is_empty():
        return
    yield draw(
        latencies.chart(data),
        "profile-latencies",
        title="Latency by operation",
        data=data,
        caption="Percentiles are upper ends of buckets that are a quarter wide at most.",
        description="Median, 90 %, 99 %, 99.9 % and slowest latency of each operation.",
    )


def _sizes(content: Content) -> Iterator[Picture]:
    data = steps.sizes(content.profile)
    if data.is_empty():
        return
    labels = {begin: format.size(begin) for begin in data["begin_bytes"]}
    yield draw(
        sizes.chart(data.with_columns(size=pl.col("begin_bytes").replace_strict(labels, return_dtype=pl.String))),
        "profile-sizes",
        title="Sizes of requests",
        data=data,
        caption="A bar has the requests from its size up to the next. Streams and maps are left out.",
        description="How many reads and writes there were of which size.",
    )


def _steps(step_s: float) -> str:
    return f"Steps of {format.duration(step_s * 1e9)}."

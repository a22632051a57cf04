"""The figures of a profile. Not: drawing (`figures.profile`), numbers (`analysis.profile.steps`)."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from ioassay.analysis.profile import steps
from ioassay.analysis.profile.workflow import condensed
from ioassay.figures.picture import Picture, draw
from ioassay.figures.profile import heat, latencies, over_time, sizes
from ioassay.figures.profile import workflow as drawn_workflow
from ioassay.reports.profile import workflow
from ioassay.reports.profile.content import Content
from ioassay.text import format
from ioassay.text.rate_units import suited

_MOST_DESCRIBED = 5
"""Arrows that the description of a figure names."""


def pictures(content: Content) -> dict[str, Picture]:
    """Every figure that there is something to draw for, by what it shows."""
    every = (_rates, _operations, _heat, _latencies, _sizes, _workflow)
    figures = (draw_pictures(content) for draw_pictures in every)
    return {picture.id.removeprefix("profile-"): picture for drawn in figures for picture in drawn}


def _rates(content: Content) -> Iterator[Picture]:
    data, step_s = steps.rates(content.profile)
    bands = steps.map_rates(content.profile, content.maps.bounds)
    if data.is_empty() and bands.is_empty():
        return
    unit = suited("rate_bytes_per_s", "read", pl.concat([data["rate"], bands["most_rate"].alias("rate")]))
    in_unit = pl.col("^(least_|most_)?rate$") / unit.divisor
    named = {f"{end}_rate": f"{end}_through_maps_bytes_per_s" for end in ("least", "most")}
    whole = data.join(bands, on=["start_s", "line"], how="full", coalesce=True).rename(named) if bands.height else data
    yield draw(
        over_time.chart(
            data.with_columns(in_unit),
            step_s,
            f"Rate ({unit.name})",
            bands.with_columns(in_unit),
        ),
        "profile-rates",
        title="Bytes read and written over time",
        data=whole.rename({"line": "direction", "rate": "rate_bytes_per_s"}),
        caption=f"{_steps(step_s)}{_OF_BANDS if bands.height else ''}",
        description=f"Rate of reads and writes in {unit.name} over the time of the profile.",
    )


_OF_BANDS = (
    " Maps move bytes without calls: bands reach from the least to the most that maps can have moved, spread evenly "
    "over the time for which files were mapped."
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
    heat_map = steps.heat(content.profile)
    data = heat_map.cells
    if data.is_empty():
        return
    what = "Processes" if heat_map.processes_of_a_row == 1 else f"Processes, {heat_map.processes_of_a_row} a row"
    unit = suited("rate_bytes_per_s", "read", data["bytes_per_s"].drop_nulls())
    yield draw(
        heat.chart(data, heat_map.step_s, content.profile.end_s, unit, rows=heat_map.rows, title=what),
        "profile-heat",
        title="Processes over time",
        data=data,
        caption=f"By rank, or else by their beginning; processes without I/O are left out. {_steps(heat_map.step_s)}",
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


def _workflow(content: Content) -> Iterator[Picture]:
    condensed_workflow = condensed(content.workflow, drawn_workflow.MOST_IN_A_ROW)
    if not condensed_workflow.exchanges:
        return
    names = [workflow.step_name(step) for step in condensed_workflow.steps]
    rows = {layer: row for row, layer in enumerate(sorted({step.layer for step in condensed_workflow.steps}))}
    boxes = [
        drawn_workflow.Box(
            rows[step.layer],
            name,
            f"{format.duration(step.begin_s * 1e9)} to {format.duration(step.end_s * 1e9)}",
        )
        for step, name in zip(condensed_workflow.steps, names, strict=True)
    ]
    moved = [workflow.moved_bytes(exchange) for exchange in condensed_workflow.exchanges]
    arrows = [
        drawn_workflow.Arrow(
            exchange.writer, exchange.reader, size, format.size(size), exchange.removed_files == exchange.files
        )
        for exchange, size in zip(condensed_workflow.exchanges, moved, strict=True)
    ]
    shown = drawn_workflow.weightiest(boxes, arrows)
    missing = len(arrows) - len(shown)
    left_out = f" {format.count(missing, 'thin arrow is', 'thin arrows are')} left out." if missing else ""
    data = pl.DataFrame(
        {
            "writer": [names[exchange.writer] for exchange in condensed_workflow.exchanges],
            "reader": [names[exchange.reader] for exchange in condensed_workflow.exchanges],
            "files": [exchange.files for exchange in condensed_workflow.exchanges],
            "removed_files": [exchange.removed_files for exchange in condensed_workflow.exchanges],
            "written_bytes": [exchange.written_bytes for exchange in condensed_workflow.exchanges],
            "read_bytes": [exchange.read_bytes for exchange in condensed_workflow.exchanges],
            "longest_wait_s": [exchange.longest_wait_s for exchange in condensed_workflow.exchanges],
        }
    )
    largest = "; ".join(
        f"{names[exchange.writer]} to {names[exchange.reader]}, {format.size(size)}"
        for exchange, size in list(zip(condensed_workflow.exchanges, moved, strict=True))[:_MOST_DESCRIBED]
    )
    yield draw(
        drawn_workflow.chart(boxes, shown),
        "profile-workflow",
        title="Which step feeds which",
        data=data,
        caption=f"The first steps stand at the top. Arrows are as thick as the root of their bytes.{left_out}",
        description=f"{format.count(len(names), 'step')} as boxes, arrows for the files between them: {largest}.",
    )


def _steps(step_s: float) -> str:
    return f"Steps of {format.duration(step_s * 1e9)}."

"""Clients and hosts on one axis of time, for the whole run: in seconds, or in longer steps for long runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import polars as pl

from ioassay.analysis.ceilings import DIRECTIONS
from ioassay.analysis.watch.counted import WAYS, counted
from ioassay.analysis.watch.phases import PHASE, Activity
from ioassay.analysis.watch.seconds import AMOUNTS
from ioassay.store.measurement import KEY

MOST_STEPS: Final = 600
"""A longer run has longer steps, because more would not be visible."""

MOST_HOSTS: Final = 6
"""With more hosts, the time line shows their sum."""


@dataclass(frozen=True)
class RunTimeline:
    """Times are in seconds since the second in which the first phase began, rates in bytes per second.

    `clients`: start_s, write, read: rates of the ranks, from their samples.
    `hosts`: host, start_s, and the rate of each of `AMOUNTS`, null where the host did not report: hosts whose disks
    hold the data, or all of them together as one host.
    `counted`: host, start_s, write, read: rates of imported counters, null where they are unknown.
    `phases`: `PHASE`, start_s, end_s, moves (`write`, `read` or `other`).
    """

    clients: pl.DataFrame
    hosts: pl.DataFrame
    counted: pl.DataFrame
    phases: pl.DataFrame
    step_s: int
    end_s: int


def timeline(activity: Activity) -> RunTimeline | None:
    """The time line of a run; `None` if no phase was measured."""
    windows = activity.windows
    if windows.is_empty():
        return None
    begin, end = math.floor(windows["start_s"].to_numpy().min()), math.ceil(windows["end_s"].to_numpy().max())
    reported = activity.seconds.filter(pl.col("role") == activity.storage_role)["second"].to_list()
    # Include writes after the last phase.
    end = max([end, *(second + 1 for second in reported if second < end + MOST_STEPS // 10)])
    longest_ns = activity.run.measurements["sample_interval_ns"].drop_nulls().to_list()
    step_s = max(math.ceil((end - begin) / MOST_STEPS), *(math.ceil(ns / 1e9) for ns in longest_ns), 1)
    steps = math.ceil((end - begin) / step_s)
    grid = pl.DataFrame({"start_s": [step_s * index for index in range(steps)]}, schema={"start_s": pl.Int64})
    moves = (
        pl.when((pl.col("write_bytes") > 0) & (pl.col("read_bytes") == 0))
        .then(pl.lit("write"))
        .when((pl.col("read_bytes") > 0) & (pl.col("write_bytes") == 0))
        .then(pl.lit("read"))
        .otherwise(pl.lit("other"))
    )
    return RunTimeline(
        clients=_clients(activity, grid, begin, step_s),
        hosts=_hosts(activity, grid, begin, step_s),
        counted=_counted(activity, grid, begin, step_s),
        phases=windows.select(*PHASE, pl.col("start_s", "end_s") - begin, moves.alias("moves")),
        step_s=step_s,
        end_s=steps * step_s,
    )


def _clients(activity: Activity, grid: pl.DataFrame, begin: int, step_s: int) -> pl.DataFrame:
    ways = {operation: "write" if to == "to-servers" else "read" for operation, to in DIRECTIONS.items()}
    begins = activity.run.measurements.select(*KEY, "started_unix_ns", "sample_interval_ns").drop_nulls()
    since_s = (pl.col("started_unix_ns") + pl.col("sample") * pl.col("sample_interval_ns")) / 1e9 - begin
    moved = (
        activity.run.samples.join(begins.lazy(), on=list(KEY))
        .filter(pl.col("operation").is_in(list(ways)))
        .group_by(
            (since_s // step_s * step_s).cast(pl.Int64).alias("start_s"),
            pl.col("operation").replace_strict(ways, default=None, return_dtype=pl.String).alias("way"),
        )
        .agg(pl.col("bytes").sum() / step_s)
        .collect(engine="streaming")
    )
    for way in ("write", "read"):
        rows = moved.filter(pl.col("way") == way).select("start_s", pl.col("bytes").alias(way))
        grid = grid.join(rows, on="start_s", how="left", maintain_order="left")
    return grid.with_columns(pl.col("write", "read").fill_null(0.0))


def _counted(activity: Activity, grid: pl.DataFrame, begin: int, step_s: int) -> pl.DataFrame:
    counters = counted(activity)
    columns = {"host": pl.String, "start_s": pl.Int64, **dict.fromkeys(WAYS, pl.Float64)}
    if counters is None:
        return pl.DataFrame(schema=columns)
    counted_seconds = counters.seconds.with_columns(pl.col("second") - begin).rename(
        {f"{way}_bytes": way for way in WAYS}
    )
    if counted_seconds["host"].n_unique() > MOST_HOSTS:
        every = f"{counted_seconds['host'].n_unique()} hosts together"
        counted_seconds = (
            counted_seconds.group_by("second").agg(pl.col(WAYS).sum()).with_columns(pl.lit(every).alias("host"))
        )
    start = (pl.col("second") // step_s * step_s).alias("start_s")
    rates = counted_seconds.group_by("host", start).agg(pl.col(WAYS).mean())
    hosts = counted_seconds.select(pl.col("host").unique(maintain_order=True))
    return hosts.join(grid, how="cross").join(rates, on=["host", "start_s"], how="left", maintain_order="left")


def _hosts(activity: Activity, grid: pl.DataFrame, begin: int, step_s: int) -> pl.DataFrame:
    host_seconds = activity.seconds.filter(pl.col("role") == activity.storage_role).with_columns(
        pl.col("second") - begin
    )
    if host_seconds["host"].n_unique() > MOST_HOSTS:
        every = f"{host_seconds['host'].n_unique()} {activity.storage_role}s together"
        host_seconds = (
            host_seconds.group_by("second").agg(pl.col(AMOUNTS).sum()).with_columns(pl.lit(every).alias("host"))
        )
    start = (pl.col("second") // step_s * step_s).alias("start_s")
    rates = host_seconds.group_by("host", start).agg(pl.col(AMOUNTS).mean())
    names = [host.name for host in activity.watch.document.hosts if host.name in host_seconds["host"]] or host_seconds[
        "host"
    ].unique().to_list()
    hosts = pl.DataFrame({"host": names}, schema={"host": pl.String})
    return hosts.join(grid, how="cross").join(rates, on=["host", "start_s"], how="left", maintain_order="left")

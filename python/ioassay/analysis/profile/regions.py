"""I/O on storage in each of the regions that an application named."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from ioassay.analysis.profile.totals import MOVED
from ioassay.profiles.model import OF_OPERATION, REGION_SEPARATOR, Direction, Profile

OUTSIDE = "(no region)"
"""The name of the row for I/O outside of regions, of processes that have any."""


@dataclass(frozen=True)
class Region:
    """A region with all regions within it, of all processes. Times are summed over threads."""

    region: str
    """Its name with those of the regions around it."""
    depth: int
    processes: int
    entries: int | None
    """`None`: outside of regions."""
    stayed_ns: int | None
    longest_ns: int | None
    read_bytes: int
    written_bytes: int
    metadata_calls: int
    io_ns: int
    """Time in calls on storage."""


def regions(profile: Profile) -> tuple[Region, ...]:
    """The regions by begin, each before those within it, and a row for I/O outside of regions."""
    if profile.regions.is_empty():
        return ()
    stays = profile.regions.group_by("region").agg(
        pl.col("process").n_unique(),
        pl.col("entries", "stayed_ns").sum(),
        pl.col("longest_ns").max(),
        pl.col("first_s").min(),
    )
    first = dict(stays.select("region", "first_s").iter_rows())
    all_regions = []
    for row in stays.iter_rows(named=True):
        inner = pl.col("region").str.starts_with(row["region"] + REGION_SEPARATOR)
        within = profile.region_operations.filter((pl.col("region") == row["region"]) | inner)
        depth = len(_outward(row["region"])) - 1
        stay = row["process"], row["entries"], row["stayed_ns"], row["longest_ns"]
        all_regions.append(Region(row["region"], depth, *stay, **_sums(within)))
    all_regions.sort(key=lambda region: [(first.get(name, 0.0), name) for name in _outward(region.region)])
    return (*all_regions, _outside(profile))


def _outward(region: str) -> list[str]:
    """A region and those around it, from the outermost."""
    names = region.split(REGION_SEPARATOR)
    return [REGION_SEPARATOR.join(names[: end + 1]) for end in range(len(names))]


def _outside(profile: Profile) -> Region:
    processes = profile.regions["process"].unique()
    every = _sums(profile.process_operations.filter(pl.col("process").is_in(processes.implode())))
    inside = _sums(profile.region_operations)
    rest = {name: max(0, every[name] - inside[name]) for name in every}
    return Region(OUTSIDE, 0, len(processes), None, None, None, **rest)


def _sums(operations: pl.DataFrame) -> dict[str, int]:
    """The fields of `Region` about I/O, of rows with operation, calls, bytes and time."""
    rows_by_direction = {
        direction: rows
        for (direction,), rows in operations.with_columns(OF_OPERATION).partition_by("direction", as_dict=True).items()
    }
    empty = operations.clear()

    def total(direction: Direction, column: str) -> int:
        return int(rows_by_direction.get(direction, empty)[column].sum())

    moved = {column: total(direction, "bytes") for direction, column in MOVED.items()}  # type: ignore[arg-type]
    spent = sum(total(direction, "duration_ns") for direction in ("read", "write", "metadata"))
    return moved | {"metadata_calls": total("metadata", "calls"), "io_ns": spent}

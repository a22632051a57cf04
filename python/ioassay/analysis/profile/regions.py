"""What an application did to storage in each of the regions that it named."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from ioassay.analysis.profile.totals import MOVED
from ioassay.profiles.model import OF_OPERATION, REGION_SEPARATOR, Direction, Profile

OUTSIDE = "(no region)"
"""The name of the row of what processes with regions did in none."""


@dataclass(frozen=True)
class Region:
    """A region with all regions within it, of all processes. Times are added over threads."""

    region: str
    """With those around it."""
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
    """In calls on storage."""


def regions(profile: Profile) -> tuple[Region, ...]:
    """The regions in the order in which they began, each before those within it, and what was done in none."""
    if profile.regions.is_empty():
        return ()
    stays = profile.regions.group_by("region").agg(
        pl.col("process").n_unique(),
        pl.col("entries", "stayed_ns").sum(),
        pl.col("longest_ns").max(),
        pl.col("first_s").min(),
    )
    first = dict(stays.select("region", "first_s").iter_rows())
    found = []
    for row in stays.iter_rows(named=True):
        inner = pl.col("region").str.starts_with(row["region"] + REGION_SEPARATOR)
        within = profile.region_operations.filter((pl.col("region") == row["region"]) | inner)
        depth = len(_outward(row["region"])) - 1
        stay = row["process"], row["entries"], row["stayed_ns"], row["longest_ns"]
        found.append(Region(row["region"], depth, *stay, **_sums(within)))
    found.sort(key=lambda one: [(first.get(name, 0.0), name) for name in _outward(one.region)])
    return (*found, _outside(profile))


def _outward(region: str) -> list[str]:
    """The regions around one and itself, from the outermost."""
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
    of = {
        direction: rows
        for (direction,), rows in operations.with_columns(OF_OPERATION).partition_by("direction", as_dict=True).items()
    }
    empty = operations.clear()

    def total(direction: Direction, column: str) -> int:
        return int(of.get(direction, empty)[column].sum())

    moved = {column: total(direction, "bytes") for direction, column in MOVED.items()}  # type: ignore[arg-type]
    spent = sum(total(direction, "duration_ns") for direction in ("read", "write", "metadata"))
    return moved | {"metadata_calls": total("metadata", "calls"), "io_ns": spent}

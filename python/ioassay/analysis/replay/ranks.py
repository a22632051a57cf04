"""Packs processes into ranks: as many ranks as processes did I/O at the same time.

Each rank of an MPI job becomes a rank, with all processes that belong to it. Other processes may take the rank of a
process that ended its I/O before they began theirs. Processes with little I/O compared with the largest get no rank of
their own, for example a shell that waits for its children.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ioassay.profiles.model import DIRECTIONS, Direction, Profile

MOST_RANKS = 1024

LEAST_SHARE = 0.01
"""The least I/O of a process with its own rank, as a share of the bytes or time of the largest process."""

_AMOUNTS = {"read": "read_bytes", "write": "written_bytes", "metadata": "metadata_ns"}


@dataclass(frozen=True)
class PackedRanks:
    rank_of: dict[int, int]
    """Ranks by process, of processes that did I/O."""
    count: int
    folded: bool
    """True if ranks represent several processes at a time because there would be more than `MOST_RANKS`."""
    processes: int
    """Processes that did I/O."""
    rank_bytes: Mapping[str, tuple[int, int]]
    """By direction: bytes of the ranks with the least and the most, if known for every rank."""
    heat: pl.DataFrame
    """rank, begin_s, end_s, read, write, metadata: the I/O of each rank in a period."""

    def active(self, direction: Direction, begin_s: float, end_s: float) -> NDArray[np.int64]:
        """The ranks with at least `LEAST_SHARE` of the busiest rank's I/O in a period; all ranks if that is unknown."""
        here = self.heat.filter(pl.col("begin_s") < end_s, pl.col("end_s") > begin_s)
        overlap = pl.min_horizontal("end_s", pl.lit(end_s)) - pl.max_horizontal("begin_s", pl.lit(begin_s))
        share = overlap / (pl.col("end_s") - pl.col("begin_s"))
        done = here.group_by("rank").agg((pl.col(direction) * share).sum().alias("done")).sort("rank")
        active = done.filter(pl.col("done") > 0, pl.col("done") >= LEAST_SHARE * pl.col("done").max())
        return active["rank"].to_numpy() if active.height else np.arange(self.count)


def packed(profile: Profile) -> PackedRanks:
    """The processes of a profile that did I/O on storage, as ranks."""
    spent = [pl.col(name).fill_null(0) for name in ("read_ns", "write_ns", "metadata_ns")]
    moved = [pl.col(name).fill_null(0) for name in ("read_bytes", "written_bytes")]
    known = profile.processes.select(
        "process",
        "rank",
        begin_s=(pl.col("begin_unix_ns") - profile.origin_unix_ns) / 1e9,
        end_s=(pl.col("end_unix_ns") - profile.origin_unix_ns) / 1e9,
        spent=pl.sum_horizontal(spent),
        moved=pl.sum_horizontal(moved),
        # Darshan has no figures of processes that share files.
        is_unknown=pl.all_horizontal(pl.col(name).is_null() for name in ("read_bytes", "written_bytes", "read_ns")),
    )
    used = known.filter((pl.col("spent") > 0) | (pl.col("moved") > 0) | pl.col("is_unknown"))
    used = _io_times(used if used.height else known.head(1), profile)
    is_mpi = used["rank"].n_unique() > 1 and not used["rank"].has_nulls()
    rank_of = _by_mpi(used) if is_mpi else _by_time(used)
    wanted = max(rank_of.values()) + 1
    count = min(MOST_RANKS, wanted)
    rank_of = {process: rank % count for process, rank in rank_of.items()}
    heat = _heat(profile, used, rank_of)
    return PackedRanks(rank_of, count, wanted > MOST_RANKS, used.height, _rank_bytes(profile, rank_of), heat)


def _rank_bytes(profile: Profile, rank_of: Mapping[int, int]) -> dict[str, tuple[int, int]]:
    rank_bytes: dict[str, tuple[int, int]] = {}
    for direction, column in (("read", "read_bytes"), ("write", "written_bytes")):
        moved: dict[int, int] = {}
        for process, bytes_ in profile.processes.select("process", column).drop_nulls().iter_rows():
            if process in rank_of:
                moved[rank_of[process]] = moved.get(rank_of[process], 0) + bytes_
        if moved and not profile.processes[column].has_nulls():
            rank_bytes[direction] = min(moved.values()), max(moved.values())
    return rank_bytes


def _io_times(processes: pl.DataFrame, profile: Profile) -> pl.DataFrame:
    """Limits the period of each process to its first and last I/O, to the resolution of the heat map."""
    busy = profile.heat.group_by("process").agg(
        first_s=pl.col("start_s").min(), last_s=pl.col("start_s").max() + profile.heat_step_s
    )
    return processes.join(busy, on="process", how="left").with_columns(
        begin_s=pl.max_horizontal("begin_s", "first_s"), end_s=pl.min_horizontal("end_s", "last_s")
    )


def _by_mpi(processes: pl.DataFrame) -> dict[int, int]:
    number = {rank: index for index, rank in enumerate(sorted(set(processes["rank"])))}
    return {process: number[rank] for process, rank in processes.select("process", "rank").iter_rows()}


def _by_time(processes: pl.DataFrame) -> dict[int, int]:
    large = (pl.col("spent") >= LEAST_SHARE * pl.col("spent").max()) | (
        (pl.col("moved") > 0) & (pl.col("moved") >= LEAST_SHARE * pl.col("moved").max())
    )
    rank_of: dict[int, int] = {}
    free: list[int] = []
    busy: list[tuple[float, int]] = []
    for process, begin_s, end_s in (
        processes.filter(large | pl.col("is_unknown"))
        .select("process", "begin_s", "end_s")
        .sort("begin_s", "process")
        .iter_rows()
    ):
        while busy and busy[0][0] <= begin_s:
            heapq.heappush(free, heapq.heappop(busy)[1])
        rank = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (end_s, rank))
        rank_of[process] = rank
    for process in processes["process"]:
        rank_of.setdefault(process, 0)
    return rank_of


def _heat(profile: Profile, processes: pl.DataFrame, rank_of: dict[int, int]) -> pl.DataFrame:
    """The I/O of each rank over time; without a heat map, that of each process is spread evenly over its time."""
    rank = pl.col("process").replace_strict(rank_of, default=None, return_dtype=pl.Int64).alias("rank")
    if profile.heat.height:
        rows = profile.heat.with_columns(begin_s="start_s", end_s=pl.col("start_s") + profile.heat_step_s)
    else:
        times = processes.select("process", "begin_s", "end_s")
        rows = profile.processes.select("process", *_AMOUNTS.values()).join(times, on="process")
        rows = rows.with_columns(end_s=pl.max_horizontal("end_s", pl.col("begin_s") + 1e-9))
    amounts = (pl.col(_AMOUNTS[direction]).fill_null(0).cast(pl.Float64).alias(direction) for direction in DIRECTIONS)
    return rows.select(rank, "begin_s", "end_s", *amounts).drop_nulls("rank")

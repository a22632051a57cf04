"""Processes packed into ranks: as many as did I/O at the same time.

Of an MPI job each of its ranks is one, with all processes that belong to it. Of other processes one that begins its I/O
after another has ended it may take its rank. Those whose I/O is next to none beside that of the largest get no rank of
their own: a shell that waits for its children is none.
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
"""Of the process that moved most bytes, or spent most time in I/O."""

_AMOUNTS = {"read": "read_bytes", "write": "written_bytes", "metadata": "metadata_ns"}


@dataclass(frozen=True)
class Packed:
    rank_of: dict[int, int]
    """By process: of those that did I/O."""
    count: int
    folded: bool
    """There would be more ranks than `MOST_RANKS`: some stand for several."""
    processes: int
    """That did I/O."""
    rank_bytes: Mapping[str, tuple[int, int]]
    """By direction: bytes of the rank with least and of the one with most, where they are known of each."""
    heat: pl.DataFrame
    """rank, begin_s, end_s, read, write, metadata: how much each rank did in a time."""

    def active(self, direction: Direction, begin_s: float, end_s: float) -> NDArray[np.int64]:
        """The ranks that did a considerable part between two moments; all, where that is not known."""
        here = self.heat.filter(pl.col("begin_s") < end_s, pl.col("end_s") > begin_s)
        overlap = pl.min_horizontal("end_s", pl.lit(end_s)) - pl.max_horizontal("begin_s", pl.lit(begin_s))
        share = overlap / (pl.col("end_s") - pl.col("begin_s"))
        done = here.group_by("rank").agg((pl.col(direction) * share).sum().alias("done")).sort("rank")
        found = done.filter(pl.col("done") > 0, pl.col("done") >= LEAST_SHARE * pl.col("done").max())
        return found["rank"].to_numpy() if found.height else np.arange(self.count)


def packed(profile: Profile) -> Packed:
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
        # Darshan does not know it of processes that share files.
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
    return Packed(rank_of, count, wanted > MOST_RANKS, used.height, _rank_bytes(profile, rank_of), heat)


def _rank_bytes(profile: Profile, rank_of: Mapping[int, int]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for direction, column in (("read", "read_bytes"), ("write", "written_bytes")):
        moved: dict[int, int] = {}
        for process, bytes_ in profile.processes.select("process", column).drop_nulls().iter_rows():
            if process in rank_of:
                moved[rank_of[process]] = moved.get(rank_of[process], 0) + bytes_
        if moved and not profile.processes[column].has_nulls():
            found[direction] = min(moved.values()), max(moved.values())
    return found


def _io_times(processes: pl.DataFrame, profile: Profile) -> pl.DataFrame:
    """From the first I/O of each process to its last, as closely as the heat knows it."""
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
    """How much each rank did when; from the sums of each process, evenly over its time, where there is no heat."""
    rank = pl.col("process").replace_strict(rank_of, default=None, return_dtype=pl.Int64).alias("rank")
    if profile.heat.height:
        rows = profile.heat.with_columns(begin_s="start_s", end_s=pl.col("start_s") + profile.heat_step_s)
    else:
        times = processes.select("process", "begin_s", "end_s")
        rows = profile.processes.select("process", *_AMOUNTS.values()).join(times, on="process")
        rows = rows.with_columns(end_s=pl.max_horizontal("end_s", pl.col("begin_s") + 1e-9))
    amounts = (pl.col(_AMOUNTS[direction]).fill_null(0).cast(pl.Float64).alias(direction) for direction in DIRECTIONS)
    return rows.select(rank, "begin_s", "end_s", *amounts).drop_nulls("rank")

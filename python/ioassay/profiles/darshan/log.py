"""A Darshan log: its job, and the records of its modules. Not: what they mean (`counters`, `timelines`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ioassay.errors import UsageError
from ioassay.profiles.model import Loss

SHARED = -1
"""The rank of a record of all processes together."""

COUNTED = ("POSIX", "STDIO", "MPI-IO")
"""The modules whose counters are used."""

TRACED = {"DXT_POSIX": "POSIX", "DXT_MPIIO": "MPI-IO"}
"""The modules that keep every call, and whose calls."""

HEATED = {16592106915301738621: "POSIX", 3989511027826779520: "STDIO", 3668870418325792824: "MPI-IO"}
"""The numbers of HEATMAP's records, which follow from their names (`heatmap:POSIX`), and whose bytes they count."""


LATEST_S = 4_102_444_800
"""The year 2100: no job begins later."""
LONGEST_S = 10 * 366 * 86400
"""No job runs longer than ten years."""
MOST_PROCESSES = 1 << 24
MOST_COUNTED = 1 << 56
MOST_S = 9e9
"""Added up over processes."""

NO_COUNTERS = ("_RANK", "_RENAMED_FROM")
"""Counters that count nothing."""


@dataclass(frozen=True)
class Job:
    """What a log says of its job."""

    job_id: int
    user: int
    start_unix_ns: int
    run_s: float | None
    """`None`: the log says none, or a time that cannot be."""
    processes: int
    command: str
    was_killed: bool = False
    """It is the memory-mapped log that a process left which did not end by itself."""


@dataclass(frozen=True)
class Heat:
    """The bytes that a process moved through a module, in steps of time from the start of the job."""

    module: str
    rank: int
    step_s: float
    read_bytes: NDArray[np.int64]
    written_bytes: NDArray[np.int64]


@dataclass(frozen=True)
class Trace:
    """Every call of a process on a file; times in seconds from the start of the job."""

    module: str
    file: int
    rank: int
    node: str
    is_write: NDArray[np.bool_]
    offset_bytes: NDArray[np.int64]
    length_bytes: NDArray[np.int64]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]


@dataclass(frozen=True)
class Log:
    """A log."""

    path: Path
    form: Literal["log", "text"]
    job: Job
    modules: Sequence[str]
    """All that it has."""
    names: Mapping[int, str]
    """The paths of files by the numbers of their records."""
    records: Mapping[str, pl.DataFrame]
    """Of `COUNTED` modules: `id`, `rank`, and a column for each counter, as it was stored (`counted`)."""
    heats: Sequence[Heat]
    traces: Sequence[Trace]
    stripes: Mapping[int, int]
    """Bytes of the stripes of files on Lustre."""
    losses: Sequence[Loss]
    is_merged: bool = False
    """`darshan-merge` made it of logs of processes that were no ranks of a job: see `merged`."""


def merged(log: Log) -> Log:
    """A log as it is, or with the number of its processes if `darshan-merge` made it of logs of several processes that
    are no ranks: it has the job of the first of these, with one process, and the records of all, one log after another.

    A process has one record of a file, so that there were at least as many processes as records of any. Which of them
    made which record is unknown, but for those of HEATMAP where each process has one.
    """
    if log.job.processes > 1:
        return log
    heats: dict[str, list[Heat]] = {}
    for heat in log.heats:
        heats.setdefault(heat.module, []).append(heat)
    counts = [rows["id"].value_counts()["count"].max() for rows in log.records.values() if rows.height]
    processes = max([1, *map(int, counts), *map(len, heats.values())])  # type: ignore[arg-type]
    if processes == 1:
        return log
    known = [of_module for of_module in heats.values() if len(of_module) == processes]
    return replace(
        log,
        job=replace(log.job, processes=processes),
        heats=[replace(heat, rank=rank) for of_module in known for rank, heat in enumerate(of_module)],
        traces=(),
        is_merged=True,
    )


def job_of(path: Path, job: Mapping[str, Any]) -> Job:
    """The job as a log says it, by Darshan's names. Raises `UsageError` where that cannot be."""
    processes, start_s = job["nprocs"], job["start_time_sec"]
    if not (0 < processes <= MOST_PROCESSES and 0 < start_s <= LATEST_S):
        raise UsageError(
            f"{path} is damaged: a job of {processes} processes that began at {start_s}.", "Restore it from a copy."
        )
    run_s = job["run_s"]
    return Job(
        job_id=job["jobid"],
        user=job["uid"],
        start_unix_ns=start_s * 10**9 + min(max(job["start_time_nsec"], 0), 10**9 - 1),
        run_s=run_s if 0 < run_s < LONGEST_S else None,
        processes=processes,
        command=job["command"].strip(),
        was_killed=job["end_time_sec"] == 0,
    )


def counted(rows: pl.DataFrame, prefix: str) -> pl.DataFrame:
    """Records in which a counter, whose name has this prefix, is null where Darshan says by a negative number that it
    could not count it, and where only damage can have made it so large.
    """
    counters = pl.selectors.starts_with(prefix) - pl.selectors.ends_with(*NO_COUNTERS)
    reals, integers = (pl.selectors.float(), MOST_S), (~pl.selectors.float(), MOST_COUNTED)
    return rows.with_columns(
        pl.when((counters & kind >= 0) & (counters & kind <= most)).then(counters & kind)
        for kind, most in (reals, integers)
    )

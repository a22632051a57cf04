"""What the kernel counted of a process and the recorder did not: I/O that the profile lacks.

The kernel counts bytes of read and write calls, whoever made them (`/proc/PID/io`: rchar, wchar). What passes by the
recorder are calls inside the C library, system calls made directly, and programs without it. A program that reads
through streams has more read than it was given: the library reads whole buffers. What goes through rings of io_uring is
in neither: the kernel does not count it there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from ioassay.results.profile_model import DIRECTION, ELSEWHERE, Profile

SHARE = 0.05
"""A shortfall beyond this share of the kernel's bytes is a doubt."""

LEAST_BYTES = 1 << 20
"""And beyond so many bytes: less comes from loading programs and libraries."""


@dataclass(frozen=True)
class Shortfall:
    """A process of which bytes are missing."""

    process: int
    direction: Literal["read", "write"]
    kernel_bytes: int
    recorded_bytes: int

    @property
    def share(self) -> float:
        """Of the kernel's bytes."""
        return 1 - self.recorded_bytes / self.kernel_bytes


@dataclass(frozen=True)
class Coverage:
    """How far the profile can be trusted to be complete."""

    shortfalls: tuple[Shortfall, ...]
    """The largest first."""
    unknown: int
    """Processes of which the kernel's counters are unknown, such as those that were killed."""
    compared: int
    """Processes that could be compared."""


def coverage(profile: Profile) -> Coverage:
    """What is missing, per process."""
    direction = pl.col("operation").replace_strict({**DIRECTION, **ELSEWHERE}, default=None, return_dtype=pl.String)
    # What was handed over is counted by the kernel for whoever does it.
    counted = profile.process_operations.filter(~pl.col("operation").str.starts_with("submit"))
    moved = counted.with_columns(direction=direction).group_by("process", "direction").agg(pl.col("bytes").sum())
    known = profile.processes.filter(pl.col("kernel_read_bytes").is_not_null())
    found = []
    for way, column in (("read", "kernel_read_bytes"), ("write", "kernel_written_bytes")):
        own = moved.filter(pl.col("direction") == way).select("process", "bytes")
        rows = known.select("process", pl.col(column).alias("kernel")).join(own, on="process", how="left")
        missing = pl.col("kernel") - pl.col("bytes")
        short = rows.with_columns(pl.col("bytes").fill_null(0)).filter(
            (missing > SHARE * pl.col("kernel")) & (missing > LEAST_BYTES)
        )
        found += [
            Shortfall(process, "read" if way == "read" else "write", kernel, recorded)
            for process, kernel, recorded in short.select("process", "kernel", "bytes").iter_rows()
        ]
    found.sort(key=lambda one: (one.recorded_bytes - one.kernel_bytes, one.process))
    return Coverage(tuple(found), profile.processes.height - known.height, known.height)

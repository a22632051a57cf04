"""A profile: what the processes of an application did to storage, reduced to tables.

Analysis, figures and reports see nothing else, whatever it was read from: a recorder's tables (`records`), Darshan's
logs, traces of DFTracer and of Recorder. What a source cannot know is null. Units stand in names; times are seconds
since its origin (`_s`), nanoseconds since 1970 (`_unix_ns`) or durations (`_ns`). Not: reading a source, judging
(`analysis.profile`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import polars as pl

from ioassay.protocol.record_layout import FIRST_TRANSFER, OPERATIONS

MOST_HEAT_BINS = 256
"""Steps of time in `heat`."""

MOST_TIMELINE_BINS = 1 << 16
"""Steps of time in `timeline`: 18 hours of seconds. What took longer has longer steps."""

Direction = Literal["read", "write", "metadata"]

DIRECTIONS: tuple[Direction, ...] = ("read", "write", "metadata")

_MOVES: Mapping[str, Direction] = {
    "read": "read",
    "stream read": "read",
    "copy from": "read",
    "submit read": "read",
    "write": "write",
    "stream write": "write",
    "copy to": "write",
    "submit write": "write",
}

ELSEWHERE: Mapping[str, Direction | None] = {
    "elsewhere read": "read",
    "elsewhere write": "write",
    "elsewhere other": None,
}
"""Operations that stand for all calls of their direction on what is not on storage: pipes, sockets, terminals, /proc,
memory. Files have these calls by their own operations.
"""

DIRECTION: Mapping[str, Direction] = {
    **{name: "metadata" for name in OPERATIONS[:FIRST_TRANSFER] if name not in ("MPI file", "accept", "connect")},
    **_MOVES,
}
"""Of each operation that reaches the file system itself. A call of MPI-IO makes such calls, and a map moves bytes
without calls: both would count twice or wrongly in sums of bytes and time. Connections are to no file system.
"""

METADATA = tuple(name for name, direction in DIRECTION.items() if direction == "metadata")
"""The operations that move no bytes."""

OPERATIONS_OF: Mapping[Direction, tuple[str, ...]] = {
    direction: tuple(name for name, of in DIRECTION.items() if of == direction) for direction in DIRECTIONS
}
"""By `DIRECTION`."""

OF_OPERATION = pl.col("operation").replace_strict(DIRECTION, default=None, return_dtype=pl.String).alias("direction")
"""The `DIRECTION` of each row's operation, as a column `direction`; null: of none."""


class MpiTransfers(NamedTuple):
    """MPI-IO's operations in a direction, by how they are called."""

    independent: tuple[str, ...]
    """Called by each rank for itself."""
    collective: tuple[str, ...]
    """Called by all ranks that opened the file."""
    non_blocking: tuple[str, ...]
    """Of both, those that return before the bytes are moved, so that a rank can compute meanwhile."""


def _mpi_transfers(direction: str) -> MpiTransfers:
    non_blocking, non_blocking_collective = f"MPI non-blocking {direction}", f"MPI non-blocking collective {direction}"
    split = f"MPI split collective {direction}"
    return MpiTransfers(
        independent=(f"MPI {direction}", non_blocking),
        collective=(f"MPI collective {direction}", non_blocking_collective, split),
        non_blocking=(non_blocking, non_blocking_collective, split),
    )


MPI_TRANSFERS: Mapping[Direction, MpiTransfers] = {
    "read": _mpi_transfers("read"),
    "write": _mpi_transfers("write"),
}
"""By direction. A source that does not distinguish them names those that it does not count: `Profile.uncounted`."""

ProcessState = Literal["ended", "running", "killed", "replaced"]
"""Of a process: it ended by itself, runs, was killed, or `exec` replaced it by a program that was not recorded."""

FileKind = Literal[
    "unknown",
    "file",
    "directory",
    "block device",
    "character device",
    "pipe",
    "socket",
    "anonymous",
    "kernel",
    "others",
    "memory",
]
"""Of a file: `unknown` was never opened successfully, or the source does not say its kind; `kernel` is in /proc or
/sys; `others` are all that a recorder had no place for; `memory` is shared memory (/dev/shm), huge pages or a memfd.
"""

STORED_FILES: tuple[FileKind, ...] = ("unknown", "file", "directory", "block device")
"""The kinds that are, or may be, a file on storage."""

ON_STORAGE: tuple[FileKind, ...] = (*STORED_FILES, "others")
"""These, and rows of many files: they belong to every sum, but statements about files do not include them."""

PROCESSES = pl.Schema(
    {
        "process": pl.Int64,  # its number in this profile, from 0
        "node": pl.String,
        "pid": pl.Int64,
        "parent_pid": pl.Int64,
        "user": pl.Int64,
        "rank": pl.Int64,  # of MPI
        "command": pl.String,
        "executable": pl.String,
        "begin_unix_ns": pl.Int64,
        "end_unix_ns": pl.Int64,  # of one that runs or was killed: when it was last heard
        "state": pl.String,
        "threads": pl.Int64,  # at most at a time
        "images": pl.Int64,  # programs that it was, one after another, by exec
        # On files that are `ON_STORAGE`, by `DIRECTION`; times are added over its threads.
        "read_bytes": pl.Int64,
        "written_bytes": pl.Int64,
        "read_ns": pl.Int64,
        "write_ns": pl.Int64,
        "metadata_ns": pl.Int64,
        # In such calls on what is not: pipes, sockets, terminals.
        "elsewhere_ns": pl.Int64,
        # What the kernel counted of it: /proc/PID/io.
        "kernel_read_bytes": pl.Int64,
        "kernel_written_bytes": pl.Int64,
        "kernel_read_calls": pl.Int64,
        "kernel_write_calls": pl.Int64,
        # Its traffic with storage: also of maps and rings, and not what the page cache answered. Null: unknown.
        "storage_read_bytes": pl.Int64,
        "storage_written_bytes": pl.Int64,
        "storage_cancelled_bytes": pl.Int64,  # of those written, such as were removed before they went out
        "recorder_ns": pl.Int64,  # spent by the recorder itself, outside of calls
        "recorder_bytes": pl.Int64,  # of its tables: the kernel counts their pages among those that the process wrote
    }
)

PROCESS_OPERATIONS = pl.Schema(  # on storage, but for those of `ELSEWHERE`
    {
        "process": pl.Int64,  # null: several, of which the source knows the sum
        "operation": pl.String,
        "calls": pl.Int64,
        "bytes": pl.Int64,
        "duration_ns": pl.Int64,
        "slowest_ns": pl.Int64,
    }
)

TIMELINE = pl.Schema(  # on storage, but for the operations of `ELSEWHERE`
    {
        "start_s": pl.Float64,  # of a step of `Profile.timeline_step_s`; steps without calls have no row
        "operation": pl.String,
        "calls": pl.Float64,  # a step may have a part of what was counted in a longer time
        "bytes": pl.Float64,
        "duration_ns": pl.Float64,
        "slowest_ns": pl.Float64,
    }
)

HEAT = pl.Schema(  # on storage
    {
        "process": pl.Int64,
        "start_s": pl.Float64,  # of a step of `Profile.heat_step_s`; steps without calls have no row
        "read_bytes": pl.Float64,
        "written_bytes": pl.Float64,
        "read_ns": pl.Float64,
        "write_ns": pl.Float64,
        "metadata_ns": pl.Float64,
    }
)

FILES = pl.Schema(
    {
        "file": pl.Int64,  # its number in this profile, from 0
        "path": pl.String,
        "node": pl.String,  # where the same path is another file on another node
        "kind": pl.String,
        "names": pl.Int64,  # by which it was used
        # Other files that had the name later, at least: the row has the calls on all of them. Null: unknown.
        "replaced": pl.Int64,
        "processes": pl.Int64,  # that used it
        "size_at_open_bytes": pl.Int64,
        "block_bytes": pl.Int64,  # what the file system wants transfers to be a multiple of
        "open_flags": pl.Int64,  # of all opens together
        "first_open_s": pl.Float64,
        "last_close_s": pl.Float64,
        "metadata_ns": pl.Int64,  # in calls that move no bytes
        "last_errno": pl.Int64,
        # Of each process that moved bytes: bytes, and time in the calls for it. Darshan may know two, the fastest and
        # the slowest.
        "least_process_bytes": pl.Int64,
        "most_process_bytes": pl.Int64,
        "fastest_process_ns": pl.Int64,
        "slowest_process_ns": pl.Int64,
    }
)

FILE_OPERATIONS = pl.Schema(
    {
        "file": pl.Int64,
        "operation": pl.String,
        "calls": pl.Int64,  # also those that failed
        "failed": pl.Int64,
        # Null of operations that move no bytes: `FILES` has their time together.
        "bytes": pl.Int64,
        "duration_ns": pl.Int64,
        "slowest_ns": pl.Int64,
        "processes": pl.Int64,
        "consecutive": pl.Int64,  # began where the last one ended
        "forward": pl.Int64,  # began beyond that
        "strided": pl.Int64,  # of `forward`, as far as the one before
        "misaligned": pl.Int64,  # did not begin at a multiple of the file system's block
        "begin_bytes": pl.Int64,  # the lowest offset
        "end_bytes": pl.Int64,  # the end of the furthest
    }
)

FILE_PROCESSES = pl.Schema(  # a row per process that used a file on storage, more than to look it up
    {
        "file": pl.Int64,
        "process": pl.Int64,
        "processes": pl.Int64,  # this one and those that follow it, of which the source knows the sum
        "read_bytes": pl.Int64,
        "written_bytes": pl.Int64,
        "read_ns": pl.Int64,
        "write_ns": pl.Int64,
        "open_flags": pl.Int64,  # of all its opens together; null: unknown, or it never opened the file
        "first_open_s": pl.Float64,  # null: it never opened it, such as one that inherited it open
        "last_close_s": pl.Float64,  # null: it never closed it by itself
        # Calls that succeeded. Null: unknown.
        "creates": pl.Int64,  # of the name without an open: links, directories
        "removes": pl.Int64,
        "renames": pl.Int64,
        "truncates": pl.Int64,
        "maps": pl.Int64,  # what they read and write makes no calls
    }
)

FILE_SIZES = pl.Schema(
    {
        "file": pl.Int64,
        "operation": pl.String,
        "begin_bytes": pl.Int64,
        "end_bytes": pl.Int64,  # the first size that is larger than all; null: there is none
        "calls": pl.Int64,
    }
)

MapAccess = Literal["read", "write", "private write"]
"""What a mapped file can have gone through its map: it was read; read and written; read, and changed in a copy in
memory that never reaches the file.
"""

MAPS = pl.Schema(  # files in memory, whose pages move without calls: a row for each process, file and access
    {
        "process": pl.Int64,
        "file": pl.Int64,
        "access": pl.String,
        "maps": pl.Int64,  # calls of mmap
        "first_map_s": pl.Float64,
        "last_unmap_s": pl.Float64,  # null: still mapped at the end
        "mapped_bytes": pl.Int64,  # added over maps, each cut at the end of the file when it was mapped
        "extent_bytes": pl.Int64,  # of the file, that any of the maps covered: the most that can be touched once
        # Of `mapped_bytes`, in the page cache when maps began, and when they ended; null: unknown.
        "resident_begin_bytes": pl.Int64,
        "resident_end_bytes": pl.Int64,
        "dirty_end_bytes": pl.Int64,  # in pages that were dirty when maps ended; null: unknown
        "is_scaled": pl.Boolean,  # some of these bytes were asked about, and stand for all
        "syncs": pl.Int64,  # calls of msync on them
        "synced_bytes": pl.Int64,
    }
)

COMMON_SIZES = pl.Schema(
    {
        "file": pl.Int64,
        "operation": pl.String,  # null: several, of which the source knows the sum
        "bytes": pl.Int64,
        "calls": pl.Int64,
    }
)

LATENCIES = pl.Schema(  # on storage, but for the operations of `ELSEWHERE`
    {
        "operation": pl.String,
        "begin_ns": pl.Float64,
        "end_ns": pl.Float64,  # null: the bucket has no end
        "calls": pl.Int64,
    }
)

ERRORS = pl.Schema(  # on storage, but for the operations of `ELSEWHERE`
    {"operation": pl.String, "errno": pl.Int64, "calls": pl.Int64}
)

IN_FLIGHT = pl.Schema(
    {
        "process": pl.Int64,
        "thread": pl.Int64,
        "operation": pl.String,
        "path": pl.String,
        "since_unix_ns": pl.Int64,
        "state": pl.String,  # of the process
    }
)

REGIONS = pl.Schema(  # steps that the application named
    {
        "process": pl.Int64,
        "region": pl.String,  # with those around it, from the outermost: `epoch > checkpoint`
        "entries": pl.Int64,
        "stayed_ns": pl.Int64,  # from entering to leaving, added over threads
        "longest_ns": pl.Int64,  # of these
        "first_s": pl.Float64,
        "last_s": pl.Float64,
    }
)

REGION_SEPARATOR = " > "
"""Between the names of regions within each other."""

REGION_OPERATIONS = pl.Schema(  # of a region without those within it; on storage, but for the operations of `ELSEWHERE`
    {
        "process": pl.Int64,
        "region": pl.String,
        "operation": pl.String,
        "calls": pl.Int64,
        "bytes": pl.Int64,
        "duration_ns": pl.Int64,
        "slowest_ns": pl.Int64,
    }
)

INTERPRETER = re.compile(r"(libpython3[\w.]*\.so.*|python3?(\.\d+)?m?)$")
"""The name of a file with Python's interpreter."""

CALLERS = pl.Schema(  # of calls whose stack was sampled; all but `samples` is an estimate for all calls
    {
        "caller": pl.Int64,  # the number of the stack in this profile, from 0
        "file": pl.Int64,  # null: none in particular, or unknown which
        "operation": pl.String,
        "samples": pl.Int64,
        "calls": pl.Int64,
        "bytes": pl.Int64,
        "duration_ns": pl.Int64,
    }
)

CALLER_FRAMES = pl.Schema(  # the functions of each stack
    {
        "caller": pl.Int64,
        "depth": pl.Int64,  # 0: the one that made the call
        "module": pl.String,  # the program or library; null: Python, or code in no file
        "address": pl.Int64,  # in the module's file
        "function": pl.String,  # null: the module does not say
        "source": pl.String,  # the file of the source code
        "line": pl.Int64,
    }
)

FRAMES: Mapping[str, pl.Schema] = {
    "processes": PROCESSES,
    "process_operations": PROCESS_OPERATIONS,
    "timeline": TIMELINE,
    "heat": HEAT,
    "files": FILES,
    "file_operations": FILE_OPERATIONS,
    "file_processes": FILE_PROCESSES,
    "file_sizes": FILE_SIZES,
    "common_sizes": COMMON_SIZES,
    "maps": MAPS,
    "latencies": LATENCIES,
    "errors": ERRORS,
    "in_flight": IN_FLIGHT,
    "regions": REGIONS,
    "region_operations": REGION_OPERATIONS,
    "callers": CALLERS,
    "caller_frames": CALLER_FRAMES,
}
"""The tables of a profile by name, with their columns."""

LossKind = Literal[
    "damaged-bytes",
    "foreign-tables",
    "rows-outside",
    "folded-calls",
    "lost-calls",
    "handler-calls",
    "untraced-calls",
    "lost-regions",
    "stackless-calls",
    "unreadable-stacks",
    "unread-rings",
    "held-back-ns",
    "lost-tables",
    "escaped",
    "still-running",
    "partial",
    "unrecorded-read-bytes",
    "unrecorded-written-bytes",
    "mapped-read-bytes",
    "mapped-written-bytes",
    "unexplained-storage-bytes",
    "uncompared",
]
"""What is missing: bytes that could not be read, tables of another version, rows outside of the time of their process,
calls on files that share a row, calls of threads and of signal handlers that no table had a place for, calls that a
trace lacks, entries of regions that no table had a place for, calls whose caller is unknown, processes whose stacks
could not be read, requests in rings of io_uring that could not be read, time that rules held calls back before they
began, tables that could not be kept, processes without a recorder or that went on when the recording ended, a log that
says that it is incomplete. And what `analysis.profile` finds: bytes that the kernel counted and no call has, bytes
that maps moved, bytes that storage moved and neither calls nor maps explain, processes without the kernel's counters.
"""


@dataclass(frozen=True)
class Loss:
    """Something that the profile lacks."""

    kind: LossKind
    amount: int
    """Of what `kind` names."""
    where: str
    """The file, or the process."""
    reason: str = ""
    """As the source says it."""
    least: int | None = None
    """Of what is known as a range, whose other end is `amount`."""
    storage_bytes: tuple[int, int] | None = None
    """What the kernel counted of the process all the same: read from storage, and written. Only one loss of a process
    has it.
    """


@dataclass(frozen=True)
class Supplement:
    """What the profile has from elsewhere, because its source cannot know it."""

    kind: Literal["io_uring"]
    """Transfers through rings that an engine has counted."""
    calls: int
    bytes: int
    where: str
    """Whose: the run and the case."""


@dataclass(frozen=True)
class Profile:
    """What an application did to storage. The tables have the columns of `FRAMES`."""

    source: Literal["record", "darshan", "dftracer", "recorder"]
    names: tuple[str, ...]
    """What it was read from."""
    commands: tuple[str, ...]
    """What was recorded, each once."""
    is_running: bool
    begin_unix_ns: int
    """When the first process began."""
    end_unix_ns: int
    """When the last one ended, or was last heard."""
    origin_unix_ns: int
    """What columns in `_s` count from: the beginning, of records that of the step in which it was."""
    timeline_step_s: float
    heat_step_s: float
    processes: pl.DataFrame
    process_operations: pl.DataFrame
    timeline: pl.DataFrame
    heat: pl.DataFrame
    files: pl.DataFrame
    file_operations: pl.DataFrame
    file_processes: pl.DataFrame
    file_sizes: pl.DataFrame
    common_sizes: pl.DataFrame
    maps: pl.DataFrame
    latencies: pl.DataFrame
    errors: pl.DataFrame
    in_flight: pl.DataFrame
    losses: tuple[Loss, ...]
    unknown: tuple[str, ...] = ()
    """What such a source does not say, in sentences; nothing was lost of it."""
    supplements: tuple[Supplement, ...] = ()
    uncounted: frozenset[str] = frozenset()
    """Operations that such a source does not count: that it has none of them says nothing."""
    regions: pl.DataFrame = field(default_factory=REGIONS.to_frame)
    region_operations: pl.DataFrame = field(default_factory=REGION_OPERATIONS.to_frame)
    callers: pl.DataFrame = field(default_factory=CALLERS.to_frame)
    caller_frames: pl.DataFrame = field(default_factory=CALLER_FRAMES.to_frame)

    @property
    def end_s(self) -> float:
        """When the last process ended, or was last heard, from the origin."""
        return (self.end_unix_ns - self.origin_unix_ns) / 1e9

    @property
    def duration_s(self) -> float:
        """From the beginning of the first process to the end of the last."""
        return (self.end_unix_ns - self.begin_unix_ns) / 1e9

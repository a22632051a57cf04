# Written by `make generate` from the Rust side (crates/dev/src/record_layout.rs): change it there.

"""The tables of a recorder: structures, of which arrays of several dimensions are flat, numbers and words (crates/record
says more).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np

MAGIC: Final = b"ioassayT"
"""How a table begins."""

VERSION: Final = 1
"""Of the layouts."""

CHECKSUMS_MAGIC: Final = b"ioassayC"
"""How a file of checksums begins."""

CHECKSUMS_VERSION: Final = 1
"""Of its layouts."""

NO_BLOCK: Final = 65535
"""`first_block` of a chunk in which none begins."""

ALIGNMENT: Final = 8
"""Every block begins at a multiple of this."""

LARGEST_BYTES: Final = 67108864
"""Of a table."""

OPERATIONS: Final = ("open", "close", "seek", "sync", "stat", "list", "create", "remove", "rename", "truncate", "attribute", "lock", "advise", "stream seek", "stream flush", "MPI file", "accept", "connect", "glob", "read", "write", "stream read", "stream write", "copy from", "copy to", "map", "submit read", "submit write", "MPI read", "MPI write", "MPI collective read", "MPI collective write", "MPI non-blocking read", "MPI non-blocking write", "MPI non-blocking collective read", "MPI non-blocking collective write", "MPI split collective read", "MPI split collective write", "elsewhere read", "elsewhere write", "elsewhere other")
"""The classes of calls, by number."""

MOST_OPERATIONS: Final = 44
"""Classes that a table has room for."""

FIRST_TRANSFER: Final = 19
"""The first class that moves bytes."""

TOTALS: Final = ("calls", "bytes", "ticks", "slowest_ticks")
"""What is kept of the calls of an operation in a second."""

KERNEL_COUNTERS: Final = ("rchar", "wchar", "syscr", "syscw")
"""What the kernel counts of a thread's calls."""

STORAGE_COUNTERS: Final = ("read_bytes", "write_bytes", "cancelled_write_bytes")
"""What it counts of a thread's traffic with storage."""

REGION_DEPTH: Final = 16
"""Regions within each other."""

SLOTS: Final = 64
"""Rules of calls that are counted at the same time, at most."""

PATTERNS_BYTES: Final = 16384
"""What the paths of rules have together that all have slots, at most."""

PATH_RULES: Final = 24576
"""Rules with paths that have slots only when they are needed, at most."""

PATH_RULES_BYTES: Final = 5242880
"""What their paths have together, at most."""

SQPOLL: Final = 2
"""Flag of a ring: the kernel takes its requests without a call."""

WATCHED_ROWS: Final = 16
"""Rows that follow a block of what rules match."""

FIRST_PYTHON_MINOR: Final = 6
"""Of Python 3: the first whose frames are read."""

LAST_PYTHON_MINOR: Final = 13
"""And the last."""

LATENCY_BEGINS_TICKS: Final = (0, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192, 10240, 12288, 14336, 16384, 20480, 24576, 28672, 32768, 40960, 49152, 57344, 65536, 81920, 98304, 114688, 131072, 163840, 196608, 229376, 262144, 327680, 393216, 458752, 524288, 655360, 786432, 917504, 1048576, 1310720, 1572864, 1835008, 2097152, 2621440, 3145728, 3670016, 4194304, 5242880, 6291456, 7340032, 8388608, 10485760, 12582912, 14680064, 16777216, 20971520, 25165824, 29360128, 33554432, 41943040, 50331648, 58720256, 67108864, 83886080, 100663296, 117440512, 134217728, 167772160, 201326592, 234881024, 268435456, 335544320, 402653184, 469762048, 536870912, 671088640, 805306368, 939524096, 1073741824, 1342177280, 1610612736, 1879048192, 2147483648, 2684354560, 3221225472, 3758096384, 4294967296, 5368709120, 6442450944, 7516192768, 8589934592, 10737418240, 12884901888, 15032385536, 17179869184, 21474836480, 25769803776, 30064771072, 34359738368, 42949672960, 51539607552, 60129542144, 68719476736, 85899345920, 103079215104, 120259084288, 137438953472, 171798691840, 206158430208, 240518168576)
"""The least latency in each bucket; the last bucket has no end."""

SIZE_BEGINS_BYTES: Final = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576, 2097152, 4194304, 8388608, 16777216, 33554432, 67108864, 134217728, 268435456, 536870912, 1073741824)
"""The least size in each bucket; the last bucket has no end."""

STEPS_PER_SECOND: Final = 128
"""Of rows of steps: how many of the shortest a second has."""


class BlockKind(IntEnum):
    RESERVED = 1
    TEXT = 2
    THREAD = 3
    LATENCIES = 4
    SECONDS = 5
    FILE = 6
    OPENED = 7
    TRANSFERS = 8
    ERRORS = 9
    WATCHED = 10
    MAP = 11
    RING = 12
    STEPS = 14
    REGION = 15
    FOLDED = 16
    MODULE = 17
    FRAME = 18
    STACK = 19
    CALLER = 20


class State(IntEnum):
    RUNNING = 1
    EXITED = 2
    REPLACED = 3
    STAYED = 4


class Clock(IntEnum):
    COUNTER = 1
    NANOSECONDS = 2


class MapAccess(IntEnum):
    READ = 1
    WRITE = 2
    PRIVATE_WRITE = 3


class TextKind(IntEnum):
    COMMAND = 1
    EXECUTABLE = 2
    DIRECTORY = 3
    NODE = 4
    JOB = 5
    REPLACEMENT = 6


class FileKind(IntEnum):
    UNKNOWN = 0
    KERNEL = 1
    REGULAR = 2
    DIRECTORY = 3
    BLOCK_DEVICE = 4
    CHARACTER_DEVICE = 5
    PIPE = 6
    SOCKET = 7
    ANONYMOUS = 8
    OTHERS = 9
    MEMORY = 10


class Stacks(IntEnum):
    OFF = 0
    ON = 1
    UNREADABLE = 2


class PartKind(IntEnum):
    LOST = 65536
    FOUND_TABLES = 65537
    TABLES = 65538
    END = 65539


class LossCause(IntEnum):
    DAMAGED = 1
    OTHER_VERSION = 2
    DAMAGED_CHECKSUMS = 3
    MISSING_END = 4


class Unreadable(IntEnum):
    SET_UP_UNSEEN = 1
    KIND = 2
    MEMORY = 3
    TOO_MANY = 4


HEADER: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["magic", "version", "header_bytes", "used_bytes", "state", "clock", "process", "parent", "user", "width", "begin_ticks", "begin_ns", "latest_ticks", "latest_ns", "folded_calls", "lost_calls", "handler_calls", "untraced_calls", "unwatched_calls", "throttled_ticks", "own_ticks", "kernel_of_ended", "storage_of_ended", "lost_regions", "step_width", "keeps_steps", "stackless_calls", "stacks", "python", "kernel_of_process", "storage_of_process"],
        "formats": ["(8,)<u1", "<u4", "<u4", "<u8", "<u4", "<u4", "<u4", "<u4", "<u4", "<u4", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "(4,)<u8", "(3,)<u8", "<u8", "<u4", "<u4", "<u8", "<u4", "<u4", "(4,)<u8", "(3,)<u8"],
        "offsets": [0, 8, 12, 16, 24, 28, 32, 36, 40, 44, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 168, 192, 200, 204, 208, 216, 220, 224, 256],
        "itemsize": 280,
    }
)

BLOCK: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes"],
        "formats": ["<u8"],
        "offsets": [0],
        "itemsize": 8,
    }
)

TEXT: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "kind", "text_bytes"],
        "formats": ["<u8", "<u4", "<u4"],
        "offsets": [0, 8, 12],
        "itemsize": 16,
    }
)

THREAD: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "thread", "second", "step_ends_ticks", "in_flight", "in_flight_since_ticks", "kernel", "totals", "latencies", "watched", "recent", "storage", "region", "reserved", "region_begin_ticks", "step", "step_width", "calls_to_sample", "sampled_of", "last_sample_ticks"],
        "formats": ["<u8", "<u4", "<u4", "<u8", "<u8", "<u8", "(4,)<u8", "(176,)<u8", "(44,)<u4", "(4,)<u4", "(32,)<u8", "(3,)<u8", "<u4", "<u4", "(16,)<u8", "<u4", "<u4", "<u4", "<u4", "<u8"],
        "offsets": [0, 8, 12, 16, 24, 32, 40, 72, 1480, 1656, 1672, 1928, 1952, 1956, 1960, 2088, 2092, 2096, 2100, 2104],
        "itemsize": 2112,
    }
)

LATENCIES: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "operation", "thread", "calls"],
        "formats": ["<u8", "<u4", "<u4", "(128,)<u8"],
        "offsets": [0, 8, 12, 16],
        "itemsize": 1040,
    }
)

SECONDS: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "rows", "reserved"],
        "formats": ["<u8", "<u4", "<u4"],
        "offsets": [0, 8, 12],
        "itemsize": 16,
    }
)

SECOND: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["second", "operation", "width", "calls", "bytes", "ticks", "slowest_ticks"],
        "formats": ["<u4", "<u2", "<u2", "<u8", "<u8", "<u8", "<u8"],
        "offsets": [0, 4, 6, 8, 16, 24, 32],
        "itemsize": 40,
    }
)

STEPS: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "rows", "reserved"],
        "formats": ["<u8", "<u4", "<u4"],
        "offsets": [0, 8, 12],
        "itemsize": 16,
    }
)

FILE: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "hash", "next", "opened", "transfers", "name_bytes", "kind", "rules", "rules_stamp", "reserved", "ticks", "calls", "failed", "error", "folded"],
        "formats": ["<u8", "<u8", "<u4", "<u4", "<u4", "<u2", "<u2", "<u8", "<u4", "<u4", "<u8", "(19,)<u4", "(19,)<u4", "<u4", "<u4"],
        "offsets": [0, 8, 16, 20, 24, 28, 30, 32, 40, 44, 48, 56, 132, 208, 212],
        "itemsize": 216,
    }
)

FOLDED: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "registers"],
        "formats": ["<u8", "(1024,)<u1"],
        "offsets": [0, 8],
        "itemsize": 1032,
    }
)

OPENED: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "device", "inode", "size_bytes", "block_bytes", "open_flags", "first_open_ticks", "last_close_ticks", "birth_ns", "generation", "replaced", "latest"],
        "formats": ["<u8", "<u8", "<u8", "<u8", "<u4", "<u4", "<u8", "<u8", "<u8", "<u4", "<u4", "<u8"],
        "offsets": [0, 8, 16, 24, 32, 36, 40, 48, 56, 64, 68, 72],
        "itemsize": 80,
    }
)

TRANSFERS: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "file", "next", "thread", "operation", "elsewhere", "calls", "failed", "bytes", "ticks", "slowest_ticks", "consecutive", "forward", "strided", "misaligned", "begin", "end", "last_begin", "last_end", "last_stride", "sizes", "common_bytes", "common_calls"],
        "formats": ["<u8", "<u4", "<u4", "<u4", "<u2", "<u2", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "(32,)<u8", "(4,)<u8", "(4,)<u8"],
        "offsets": [0, 8, 12, 16, 20, 22, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 392, 424],
        "itemsize": 456,
    }
)

MAP: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "file", "next", "access", "open", "maps", "first_ticks", "last_end_ticks", "bytes", "begin", "end", "begin_asked_bytes", "begin_resident_bytes", "end_asked_bytes", "end_resident_bytes", "end_dirty_asked_bytes", "end_dirty_bytes", "left_asked_bytes", "left_resident_bytes", "left_dirty_asked_bytes", "left_dirty_bytes", "syncs", "synced_bytes"],
        "formats": ["<u8", "<u4", "<u4", "<u4", "<u4", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8"],
        "offsets": [0, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160],
        "itemsize": 168,
    }
)

ERRORS: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "kinds", "calls"],
        "formats": ["<u8", "(120,)<u4", "(120,)<u4"],
        "offsets": [0, 8, 488],
        "itemsize": 968,
    }
)

WATCHED: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "thread", "first_slot"],
        "formats": ["<u8", "<u4", "<u4"],
        "offsets": [0, 8, 12],
        "itemsize": 16,
    }
)

WATCHED_ROW: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["calls", "failed", "bytes", "ticks", "seek_bytes", "waits", "waited_ticks", "file", "reserved", "seconds", "slowest_files", "fastest_ticks", "slowest_ticks"],
        "formats": ["<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u8", "<u4", "<u4", "(2,)<u4", "(2,)<u4", "(2,)<u8", "(2,)<u8"],
        "offsets": [0, 8, 16, 24, 32, 40, 48, 56, 60, 64, 72, 80, 96],
        "itemsize": 112,
    }
)

REGION: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "next", "parent", "depth", "name_bytes", "entries", "ticks", "slowest_ticks", "first_ticks", "last_ticks", "totals"],
        "formats": ["<u8", "<u4", "<u4", "<u4", "<u4", "<u8", "<u8", "<u8", "<u8", "<u8", "(176,)<u8"],
        "offsets": [0, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64],
        "itemsize": 1472,
    }
)

CHECKSUMS: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["magic", "version", "chunk_bytes", "bytes"],
        "formats": ["(8,)<u1", "<u4", "<u4", "<u8"],
        "offsets": [0, 8, 12, 16],
        "itemsize": 24,
    }
)

CHUNK_CHECKSUM: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["crc32", "first_block", "reserved"],
        "formats": ["<u4", "<u2", "<u2"],
        "offsets": [0, 4, 6],
        "itemsize": 8,
    }
)

RING: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "flags", "unreadable", "requests", "unread", "completions", "unmatched", "size_unknown"],
        "formats": ["<u8", "<u4", "<u4", "<u8", "<u8", "<u8", "<u8", "<u8"],
        "offsets": [0, 8, 12, 16, 24, 32, 40, 48],
        "itemsize": 56,
    }
)

MODULE: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "begin", "end", "base", "next", "path_bytes"],
        "formats": ["<u8", "<u8", "<u8", "<u8", "<u4", "<u4"],
        "offsets": [0, 8, 16, 24, 32, 36],
        "itemsize": 40,
    }
)

FRAME: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "key", "address", "next", "module", "line", "function_bytes", "file_bytes", "reserved"],
        "formats": ["<u8", "<u8", "<u8", "<u4", "<u4", "<u4", "<u4", "<u4", "<u4"],
        "offsets": [0, 8, 16, 24, 28, 32, 36, 40, 44],
        "itemsize": 48,
    }
)

STACK: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "key", "next", "native", "python", "is_cut"],
        "formats": ["<u8", "<u8", "<u4", "<u4", "<u4", "<u4"],
        "offsets": [0, 8, 16, 20, 24, 28],
        "itemsize": 32,
    }
)

CALLER: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind_and_bytes", "next", "stack", "file", "operation", "samples", "calls", "bytes", "ticks"],
        "formats": ["<u8", "<u4", "<u4", "<u4", "<u4", "<u8", "<u8", "<u8", "<u8"],
        "offsets": [0, 8, 12, 16, 20, 24, 32, 40, 48],
        "itemsize": 56,
    }
)

PART: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["kind", "tables", "rows", "row_bytes", "content_bytes"],
        "formats": ["<u4", "<u4", "<u8", "<u8", "<u8"],
        "offsets": [0, 4, 8, 16, 24],
        "itemsize": 32,
    }
)

FOUND_TABLE: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["file", "is_damaged", "offset", "length", "unread_bytes"],
        "formats": ["<u4", "<u4", "<u8", "<u8", "<u8"],
        "offsets": [0, 4, 8, 16, 24],
        "itemsize": 32,
    }
)

LOST_BYTES: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["file", "cause", "offset", "length", "version", "reserved"],
        "formats": ["<u4", "<u4", "<u8", "<u8", "<u4", "<u4"],
        "offsets": [0, 4, 8, 16, 24, 28],
        "itemsize": 32,
    }
)

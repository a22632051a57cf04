"""The pieces of work, as data. What each of them takes of the target is under 2 GiB.

A piece of work says what is done, never by whom: each tool's file turns it into its own command line. Its `rates`
are what a tool must report for it, in operations per second; where a transfer is 1 MiB, that is MiB/s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Data:
    """Writes, then reads, over files that were written before and not in the measured time.

    They were written in transfers of the same size: page caches keep a file in pieces like those that it came in,
    and on some file systems small writes into large pieces are slow.

    Both go on for whole passes over all bytes, as long as `seconds` have not gone: so no file grows, and no rate
    is that of finding space or of the first touch of memory.
    """

    name: str
    layout: Literal["N-N", "N-1"]
    order: Literal["sequential", "random"]
    transfer_bytes: int
    rank_bytes: int
    depth: int = 1
    """Transfers that each rank keeps in flight."""
    direct: bool = False
    """O_DIRECT; else the page cache holds everything."""
    payload: Literal["repeated", "unique"] = "repeated"
    """What is written: one buffer, or bytes made anew for each transfer, as each tool makes them."""
    seconds: int = 2
    ranks: int = 2

    rates: ClassVar[tuple[str, ...]] = ("write", "read")


@dataclass(frozen=True)
class Metadata:
    """Every rank creates files of its own, looks at each, opens and reads each, and removes them."""

    name: str
    files_per_rank: int
    file_bytes: int
    shared: bool
    """One directory for all ranks, else one for each."""
    ranks: int = 2

    rates: ClassVar[tuple[str, ...]] = ("create", "stat", "read", "remove")


@dataclass(frozen=True)
class Find:
    """A walk that looks for a name, a size and an age. The tree is made once and shared by all tools."""

    name: str
    directories: int
    files_per_directory: int
    pattern: str = "*01*"
    size_bytes: int = 3901
    """Size of every tenth file; the others are empty."""
    ranks: int = 2

    rates: ClassVar[tuple[str, ...]] = ("find",)

    @property
    def files(self) -> int:
        """Files in all: what a rate counts. Directories are not counted."""
        return self.directories * self.files_per_directory

    def size_of(self, file: int) -> int:
        """Bytes of the file with this number in its directory."""
        return self.size_bytes if file % 10 == 1 else 0

    def matches(self, file: int) -> bool:
        """True if the file with this number meets the conditions on name and size."""
        return self.pattern.strip("*") in self.file_name(file) and self.size_of(file) == self.size_bytes

    def file_name(self, file: int) -> str:
        """Name of the file with this number in its directory."""
        return f"file.{file:04}"


@dataclass(frozen=True)
class Train:
    """A rank reads samples, each a file, in order, and computes nothing: what a data loader costs."""

    name: str
    samples: int
    sample_bytes: int
    loader_threads: int
    """0: the rank loads itself, as the bare loop does."""
    batch: int = 4
    ranks: int = 1

    rates: ClassVar[tuple[str, ...]] = ("read",)


@dataclass(frozen=True)
class CommandLine:
    """A command line of a peer, given to the peer and, word for word, to ioassay's front end for it.

    Both print the same tables, which one parser reads: here it is decided whether who switches gets the same figures.
    """

    name: str
    tool: Literal["ior", "mdtest", "io500"]
    arguments: tuple[str, ...]
    """All but where to work and how to print; of the IO500 the files of each set of md-workbench."""
    rates: tuple[str, ...]
    ranks: int = 2


Work = Data | Metadata | Find | Train | CommandLine

COMMAND_LINES: tuple[Work, ...] = (
    CommandLine("ior-1m-n-n", "ior", ("-F", "-t", "1m", "-b", "512m", "-e", "-i", "3"), ("write", "read")),
    CommandLine("ior-1m-n-1", "ior", ("-t", "1m", "-b", "512m", "-e", "-i", "3"), ("write", "read")),
    CommandLine("ior-4k-n-n", "ior", ("-F", "-t", "4k", "-b", "256m", "-e", "-i", "3"), ("write", "read")),
    CommandLine("ior-47008-n-1", "ior", ("-t", "47008", "-b", "47008", "-s", "8000", "-i", "3"), ("write", "read")),
    CommandLine("mdtest-unique", "mdtest", ("-F", "-u", "-n", "50000", "-i", "3"), Metadata.rates),
    CommandLine("mdtest-shared", "mdtest", ("-F", "-n", "50000", "-i", "3"), Metadata.rates),
    CommandLine("io500-md-workbench", "io500", ("12000",), ("create", "replace", "remove")),
    CommandLine("mdtest-hard", "mdtest", ("-F", "-n", "20000", "-w", "3901", "-e", "3901", "-i", "3"), Metadata.rates),
)
"""For the front ends, on any target."""

COMMAND_LINE_GOAL = 0.95
"""The least share of the original's rate that a front end shall reach."""

IN_MEMORY: tuple[Data | Metadata | Find | Train, ...] = (
    Data("random-4k", "N-N", "random", 4 * KIB, 256 * MIB),
    Data("random-4k-depth-32", "N-N", "random", 4 * KIB, 256 * MIB, depth=32),
    Data("sequential-1m-n-n", "N-N", "sequential", MIB, 512 * MIB),
    Data("sequential-1m-n-1", "N-1", "sequential", MIB, 512 * MIB),
    Data("sequential-1m-n-n-unique", "N-N", "sequential", MIB, 512 * MIB, payload="unique"),
    Metadata("empty-files-unique", 100_000, 0, shared=False),
    Metadata("empty-files-shared", 100_000, 0, shared=True),
    Metadata("small-files-unique", 100_000, 3901, shared=False),
    Metadata("small-files-shared", 100_000, 3901, shared=True),
    Find("find", 1000, 1000),
    Train("train-small-samples", 100_000, 4600, loader_threads=0),
    Train("train-small-samples-1-thread", 100_000, 4600, loader_threads=1),
    Train("train-large-samples", 400, 2 * MIB, loader_threads=0),
    Train("train-large-samples-1-thread", 400, 2 * MIB, loader_threads=1),
)
"""For tmpfs: the cost of the tool shows, since nothing else costs much."""

ON_DISK: tuple[Data | Metadata | Find, ...] = (
    Data("random-4k-cached", "N-N", "random", 4 * KIB, 256 * MIB),
    Data("random-4k-cached-depth-32", "N-N", "random", 4 * KIB, 256 * MIB, depth=32),
    Data("random-4k-direct-depth-32", "N-N", "random", 4 * KIB, 256 * MIB, depth=32, direct=True),
    Data("sequential-1m-n-n-direct", "N-N", "sequential", MIB, 512 * MIB, direct=True),
    Data("sequential-1m-n-1-direct", "N-1", "sequential", MIB, 512 * MIB, direct=True),
    Metadata("empty-files-unique", 20_000, 0, shared=False),
    Metadata("empty-files-shared", 20_000, 0, shared=True),
    Metadata("small-files-unique", 20_000, 3901, shared=False),
    Metadata("small-files-shared", 20_000, 3901, shared=True),
    Find("find", 1000, 1000),
)
"""For a file system on a device."""

BARE_GOAL = 0.97
"""The least share of the bare loop's rate that ioassay shall reach."""

UNIQUE_GOAL = 0.90
"""The same where ioassay makes bytes anew for each transfer, and the bare loop writes one buffer."""


TRAIN_GOAL = 0.95
"""The same of samples that a data loader reads."""


def goal(work: str, peer: str) -> float:
    """The least ratio of ioassay's rate and a peer's that is aimed at."""
    if any(work == line.name for line in COMMAND_LINES):
        return COMMAND_LINE_GOAL
    if work.startswith("train-"):
        return TRAIN_GOAL
    if peer == "bare":
        return UNIQUE_GOAL if work.endswith("-n-n-unique") else BARE_GOAL
    if work.startswith("random-4k"):
        return 1.10
    if work == "find":
        return 1.50
    return 1.00

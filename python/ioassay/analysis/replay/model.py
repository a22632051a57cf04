"""What a replay consists of. Sizes in bytes, times in seconds from the origin of the profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from ioassay.profiles.model import Direction

Verb = Literal["fill", "read", "write", "open", "stat", "create", "rename", "remove"]

Share = Literal["own", "all"]
"""Which items of a tree a rank uses."""

Sizes = tuple[tuple[int, int], ...]
"""Sizes of transfers with the number of calls, ascending."""


@dataclass(frozen=True)
class Ranks:
    """Consecutive ranks."""

    first: int
    count: int


@dataclass(frozen=True)
class Order:
    """Where transfers begin: shares of all, in percent."""

    consecutive: int = 100
    forward: int = 0
    random: int = 0
    backward: int = 0


@dataclass(frozen=True)
class Tree:
    """Files that are used alike."""

    name: str
    items: int
    directories: int
    what: FilesUsed


@dataclass(frozen=True)
class FilesUsed:
    """Which of the application's files a tree stands for."""

    files: int
    file_bytes: int
    """On average."""
    processes: int
    """That used one of them: the median."""
    directory: str
    """That all of them lie in."""
    pattern: str
    """Of their names."""
    merged: int = 0
    """Further files, used otherwise, that count as these because there are few of them."""


@dataclass(frozen=True)
class Stream:
    """Operations of one kind, done by each of some ranks."""

    verb: Verb
    tree: str
    share: Share = "own"
    ranks: Ranks | None = None
    """`None`: all."""
    count: int = 0
    opens: int = 0
    file_bytes: int = 0
    sizes: Sizes = ()
    order: Order = Order()
    is_segmented: bool = False
    """Each rank has a part of each file."""
    sync_every: int | None = None
    timeline: tuple[int, ...] = ()
    absent: bool = False

    @property
    def last_due(self) -> float:
        """When the last operation of a rank begins at the recorded pace, as a share of the phase: in the middle of its
        share of the time, as the engine has it.
        """
        every = self.sync_every or self.count + 1
        calls = 2 * self.opens + self.count + self.count // every if self.sizes else self.count
        if self.verb == "open" and not self.absent:
            calls *= 2
        weights, sum_, at = self.timeline or (1,), 0.0, (2 * calls - 1) / (2 * calls) if calls else 0.0
        wanted = at * sum(weights)
        for part, weight in enumerate(weights):
            if weight and sum_ + weight >= wanted:
                return (part + (wanted - sum_) / weight) / len(weights)
            sum_ += weight
        return 1.0

    def operations(self, ranks: int) -> int:
        """Of all of its ranks, of so many in all; of a fill unknown, 0."""
        return self.count * (self.ranks.count if self.ranks else ranks)


@dataclass(frozen=True)
class Phase:
    """A time of I/O. No rank begins it before all have ended the one before."""

    begin_s: float
    end_s: float
    streams: tuple[Stream, ...]

    @property
    def duration_s(self) -> float:
        """How long it took, to a step of the time line."""
        return self.end_s - self.begin_s

    @property
    def last_due_s(self) -> float:
        """When its last operation begins at the recorded pace: from then on a replay is in the next pause."""
        return self.begin_s + self.duration_s * max(stream.last_due for stream in self.streams)


@dataclass(frozen=True)
class Expected:
    """What a replay is compared with, of a direction."""

    operations: int
    bytes: int = 0
    sizes: Sizes = ()
    timeline: tuple[int, ...] = ()
    """Bytes, of metadata operations, in equal steps of the duration, as weights."""
    forward: int = 0
    backward: int = 0
    """Operations that began beyond and before where the last had ended."""
    rank_bytes: tuple[int, int] | None = None
    """Of the rank with least and of the one with most. `None`: unknown."""


@dataclass(frozen=True)
class LeftOut:
    """What is not replayed."""

    operation: str
    calls: int
    spent_ns: int | None


@dataclass(frozen=True)
class Replay:
    ranks: int
    processes: int
    """That did I/O."""
    trees: tuple[Tree, ...]
    fills: tuple[Stream, ...]
    """What must be there before."""
    phases: tuple[Phase, ...]
    expected: Mapping[Direction, Expected]
    left_out: tuple[LeftOut, ...]
    notes: tuple[Note, ...] = field(default=())

    @property
    def duration_s(self) -> float:
        """From the beginning of the first phase to the last operation."""
        return self.phases[-1].last_due_s - self.phases[0].begin_s

    @property
    def pauses_s(self) -> list[float]:
        """From the last operation of each phase but the last to the beginning of the next."""
        return [max(0.0, after.begin_s - before.last_due_s) for before, after in pairwise(self.phases)]


NoteKind = Literal[
    "gathered-streams",
    "empty-transfers",
    "merged-files",
    "folded-ranks",
    "no-times",
    "cut-transfers",
    "elsewhere",
    "unnamed-files",
    "maps",
    "passes",
]
"""What the replay does otherwise than the application: writes of streams that a buffer gathers, reads that returned
nothing, few files counted among others, more processes than ranks, no time line, transfers larger than the largest,
calls on files elsewhere, calls on files that the recorder had no row for, maps of files, passes that begin
with an open.
"""


@dataclass(frozen=True)
class Note:
    """Something that the replay does otherwise than the application."""

    kind: NoteKind
    amount: int

"""The model of a replay. Sizes are in bytes, times in seconds from the origin of the profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from ioassay.profiles.model import Direction

Verb = Literal["fill", "read", "write", "open", "stat", "create", "rename", "remove"]

Share = Literal["own", "all"]
"""Which items of a tree each rank uses."""

Sizes = tuple[tuple[int, int], ...]
"""Sizes of transfers with the number of calls, ascending."""


@dataclass(frozen=True)
class Ranks:
    """Consecutive ranks."""

    first: int
    count: int


@dataclass(frozen=True)
class Order:
    """Where transfers begin, in percent of all transfers."""

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
    """The application's files that a tree represents."""

    files: int
    file_bytes: int
    """Mean size."""
    processes: int
    """Median number of processes that used one of them."""
    directory: str
    """Their common directory."""
    pattern: str
    """Glob pattern of their names."""
    merged: int = 0
    """Files among them that were used differently, merged because there are few."""


@dataclass(frozen=True)
class Stream:
    """Operations of one kind, done by each of some ranks."""

    verb: Verb
    tree: str
    share: Share = "own"
    ranks: Ranks | None = None
    """`None`: all ranks."""
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
        """When the last operation of a rank begins at the recorded pace, as a share of the phase. As in the engine, it
        begins in the middle of its time slot.
        """
        every = self.sync_every or self.count + 1
        calls = 2 * self.opens + self.count + self.count // every if self.sizes else self.count
        if self.verb == "open" and not self.absent:
            calls *= 2
        weights, sum_, position = self.timeline or (1,), 0.0, (2 * calls - 1) / (2 * calls) if calls else 0.0
        wanted = position * sum(weights)
        for part, weight in enumerate(weights):
            if weight and sum_ + weight >= wanted:
                return (part + (wanted - sum_) / weight) / len(weights)
            sum_ += weight
        return 1.0

    def operations(self, ranks: int) -> int:
        """Operations of all its ranks, in a replay of `ranks`; 0 for a fill, where the number is unknown."""
        return self.count * (self.ranks.count if self.ranks else ranks)


@dataclass(frozen=True)
class Phase:
    """A phase of I/O. No rank begins it before all ranks have ended the previous phase."""

    begin_s: float
    end_s: float
    streams: tuple[Stream, ...]

    @property
    def duration_s(self) -> float:
        """Its length, to the resolution of the time line."""
        return self.end_s - self.begin_s

    @property
    def last_due_s(self) -> float:
        """When its last operation begins at the recorded pace: the next pause of a replay begins then."""
        return self.begin_s + self.duration_s * max(stream.last_due for stream in self.streams)


@dataclass(frozen=True)
class Expected:
    """The recorded figures of a direction, which a replay is compared with."""

    operations: int
    bytes: int = 0
    sizes: Sizes = ()
    timeline: tuple[int, ...] = ()
    """Weights of equal steps of the duration: bytes, or operations of metadata."""
    forward: int = 0
    backward: int = 0
    """Operations that began beyond (`forward`) or before (`backward`) the end of the previous one."""
    rank_bytes: tuple[int, int] | None = None
    """Bytes of the ranks with the least and the most. `None`: unknown."""


@dataclass(frozen=True)
class LeftOut:
    """An operation that is not replayed."""

    operation: str
    calls: int
    spent_ns: int | None


@dataclass(frozen=True)
class Replay:
    ranks: int
    processes: int
    """Processes that did I/O."""
    trees: tuple[Tree, ...]
    fills: tuple[Stream, ...]
    """Fills of trees that must exist before the replay."""
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
        """Pauses from the last operation of each phase to the beginning of the next phase."""
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
"""Differences between the replay and the application: writes that a stream's buffer gathers, reads that returned
nothing, few files merged into other groups, more processes than ranks, no time line, transfers above the largest size,
calls on files outside the requested directory, calls on files without a row in the recorder, maps of files, passes that
begin with an open.
"""


@dataclass(frozen=True)
class Note:
    """A difference between the replay and the application."""

    kind: NoteKind
    amount: int

"""Counters of a server at moments, and what was counted between them. Not: formats, and what becomes of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ioassay.importers.numbers import NS_PER_S
from ioassay.importers.source import Refused, Source
from ioassay.store.document import Operation

Origin = Literal["target", "disks", "client", "network", "gpfs"]
"""What counts: a target of Lustre, the disks of one, a client, LNet, GPFS on a node."""

OPERATIONS: Mapping[str, Operation] = {
    "read": "read",
    "write": "write",
    "open": "open",
    "close": "close",
    "create": "create",
    "mknod": "create",
    "mkdir": "create",
    "destroy": "remove",
    "unlink": "remove",
    "rmdir": "remove",
    "rename": "rename",
    "getattr": "stat",
    "sync": "sync",
    "fsync": "sync",
    "disk reads": "read",
    "disk writes": "write",
    "receive": "write",
    "send": "read",
}
"""Counters that count operations; what a server receives is written, as its clients see it. Others are left out."""

EARLIEST_NS = 10**18
"""2001: a moment before that counts from the server's boot."""

LARGEST = 2**62
"""Of what the tables hold."""


STAMP = re.compile(r"([12]\d{9})(?:\.(\d{1,9}))?")
"""What `date +%s` and `date +%s.%N` print before a reading."""


def stamp_ns(match: re.Match[str]) -> int:
    """The moment of a line that is a `STAMP`."""
    return int(match[1]) * NS_PER_S + int((match[2] or "").ljust(9, "0"))


def require_end(source: Source) -> None:
    """Raises `Refused` where the last line has no end: its last number may have lost digits."""
    if source.lines[-1].strip():
        raise Refused("ends within a line, without a line feed: it is cut off", len(source.lines))


@dataclass(frozen=True)
class Count:
    """How often something happened, and how many bytes it moved. `None`: not counted."""

    times: int | None
    bytes: int | None = None

    def since(self, earlier: Count) -> Count | None:
        """What was counted after `earlier`; `None` where a counter fell."""
        times, moved = _difference(self.times, earlier.times), _difference(self.bytes, earlier.bytes)
        return None if _fell(times) or _fell(moved) else Count(times, moved)

    def __add__(self, other: Count) -> Count:
        return Count(_sum(self.times, other.times), _sum(self.bytes, other.bytes))

    @property
    def is_zero(self) -> bool:
        """True if nothing was counted."""
        return not self.times and not self.bytes


def _difference(later: int | None, earlier: int | None) -> int | None:
    return None if later is None or earlier is None else later - earlier


def _fell(difference: int | None) -> bool:
    return difference is not None and difference < 0


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


@dataclass(frozen=True)
class Counted:
    """Whose counters they are."""

    origin: Origin
    name: str
    """The target, client, network or file system."""
    file_system: str = ""
    job: str | None = None
    """Of `job_stats`."""


@dataclass(frozen=True)
class Reading:
    """The counters of one thing at one moment."""

    of: Counted
    line: int
    at_ns: int | None
    """Since 1970, on the server's clock; `None`: not printed."""
    counts: Mapping[str, Count]
    """By the name that the file has; counters of bytes and of times of one operation are one."""
    began_ns: int | None = None
    """When the counters were created or reset."""
    is_new: bool = False
    """It was not there when counters were read before: all of its counts are from `began_ns` on."""
    histograms: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    """By title and row: what was counted of reads and of writes."""


@dataclass(frozen=True)
class Interval:
    """What was counted between two readings; `counts` is `None` where the counters were reset in between."""

    begin_ns: int
    end_ns: int
    counts: Mapping[str, Count] | None


@dataclass(frozen=True)
class Series:
    """All readings of one thing, in the order of time."""

    of: Counted
    readings: Sequence[Reading]

    @property
    def intervals(self) -> list[Interval]:
        """What was counted between each reading and the next, and of what is new from its beginning; none where a
        moment is unknown.
        """
        before: Sequence[Reading | None] = [None, *self.readings]
        return [
            interval
            for earlier, later in zip(before, self.readings, strict=False)
            if (interval := _interval(earlier, later)) is not None
        ]


def _interval(before: Reading | None, after: Reading) -> Interval | None:
    """What was counted until a reading; `None` where it is not known since when."""
    begin = after.began_ns if after.is_new else before.at_ns if before is not None else None
    if begin is None or after.at_ns is None or begin >= after.at_ns:
        return None
    counts = after.counts if after.is_new or before is None else _between(before, after)
    return Interval(begin, after.at_ns, counts)


def _between(before: Reading, after: Reading) -> dict[str, Count] | None:
    if before.began_ns is not None and after.began_ns is not None and after.began_ns > before.began_ns:
        return None  # reset, even where all counters have grown beyond what they were
    found: dict[str, Count] = {}
    for name in before.counts.keys() | after.counts.keys():
        # A counter without a sample has no line.
        now, then = after.counts.get(name), before.counts.get(name)
        known = now or then
        assert known is not None
        zero = Count(None if known.times is None else 0, None if known.bytes is None else 0)
        if (difference := (now or zero).since(then or zero)) is None:
            return None
        found[name] = difference
    return found


def series(readings: Iterable[Reading]) -> list[Series]:
    """The readings by what they are of. Raises `Refused` where every counter is 0."""
    by: dict[Counted, list[Reading]] = {}
    for reading in readings:
        by.setdefault(reading.of, []).append(reading)
    counts = [count for several in by.values() for reading in several for count in reading.counts.values()]
    if all(count.is_zero for count in counts):
        what = "counters that are all 0" if counts else "no counter of an operation"
        raise Refused(f"has {what}: nothing was measured")
    return [Series(of, _in_order(each)) for of, each in by.items()]


def _in_order(readings: list[Reading]) -> list[Reading]:
    """In the order of time, each moment once."""
    moments: dict[int | None, Reading] = {}
    for reading in readings:
        moments[reading.at_ns] = reading
    return sorted(moments.values(), key=lambda reading: reading.at_ns or 0)

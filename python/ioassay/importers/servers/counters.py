"""Counters of a server at certain times, and their differences. Not: formats, making cases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ioassay.importers.numbers import NS_PER_S
from ioassay.importers.source import Refused, Source
from ioassay.store.document import Operation

Origin = Literal["target", "disks", "client", "network", "gpfs"]
"""The source of counters: a Lustre target, the disks of one, a client, LNet, GPFS on a node."""

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
"""2001: an earlier time counts from the server's boot."""

LARGEST = 2**62
"""The limit of the tables."""


STAMP = re.compile(r"([12]\d{9})(?:\.(\d{1,9}))?")
"""Output of `date +%s` and `date +%s.%N` before a reading."""


def stamp_ns(match: re.Match[str]) -> int:
    return int(match[1]) * NS_PER_S + int((match[2] or "").ljust(9, "0"))


def require_end(source: Source) -> None:
    """Raises `Refused` if the last line has no line feed: its last number may have lost digits."""
    if source.lines[-1].strip():
        raise Refused("ends within a line, without a line feed: it is cut off", len(source.lines))


@dataclass(frozen=True)
class Count:
    """The number of operations and bytes; `None` if not counted."""

    times: int | None
    bytes: int | None = None

    def since(self, earlier: Count) -> Count | None:
        """The difference to `earlier`; `None` if a counter fell."""
        times, moved = _difference(self.times, earlier.times), _difference(self.bytes, earlier.bytes)
        return None if _fell(times) or _fell(moved) else Count(times, moved)

    def __add__(self, other: Count) -> Count:
        return Count(_sum(self.times, other.times), _sum(self.bytes, other.bytes))

    @property
    def is_zero(self) -> bool:
        return not self.times and not self.bytes


def _difference(later: int | None, earlier: int | None) -> int | None:
    return None if later is None or earlier is None else later - earlier


def _fell(difference: int | None) -> bool:
    return difference is not None and difference < 0


def _sum(left: int | None, right: int | None) -> int | None:
    return right if left is None else left if right is None else left + right


@dataclass(frozen=True)
class CounterSource:
    """The source of counters."""

    origin: Origin
    name: str
    """Name of the target, client, network or file system."""
    file_system: str = ""
    job: str | None = None
    """The job in `job_stats`."""


@dataclass(frozen=True)
class Reading:
    """The counters of one source at one time."""

    counter_source: CounterSource
    line: int
    at_ns: int | None
    """Unix time of the server's clock; `None` if not printed."""
    counts: Mapping[str, Count]
    """By the name in the file; the bytes and the number of one operation are one counter."""
    began_ns: int | None = None
    """When the counters were created or reset."""
    is_new: bool = False
    """True if it was absent from the reading before: its counts begin at `began_ns`."""
    histograms: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    """Counts of reads and of writes, by title and row."""


@dataclass(frozen=True)
class Interval:
    """The difference of two readings; `counts` is `None` if the counters were reset in between."""

    begin_ns: int
    end_ns: int
    counts: Mapping[str, Count] | None


@dataclass(frozen=True)
class Series:
    """All readings of one source, in the order of time."""

    counter_source: CounterSource
    readings: Sequence[Reading]

    @property
    def intervals(self) -> list[Interval]:
        """The differences between consecutive readings; a new source has one from its beginning. Readings without a
        time have none.
        """
        before: Sequence[Reading | None] = [None, *self.readings]
        return [
            interval
            for earlier, later in zip(before, self.readings, strict=False)
            if (interval := _interval(earlier, later)) is not None
        ]


def _interval(before: Reading | None, after: Reading) -> Interval | None:
    """The interval before a reading; `None` if its beginning is unknown."""
    begin = after.began_ns if after.is_new else before.at_ns if before is not None else None
    if begin is None or after.at_ns is None or begin >= after.at_ns:
        return None
    counts = after.counts if after.is_new or before is None else _between(before, after)
    return Interval(begin, after.at_ns, counts)


def _between(before: Reading, after: Reading) -> dict[str, Count] | None:
    if before.began_ns is not None and after.began_ns is not None and after.began_ns > before.began_ns:
        return None  # reset, even if all counters have grown beyond their earlier values
    differences: dict[str, Count] = {}
    for name in before.counts.keys() | after.counts.keys():
        # A counter without samples has no line.
        later, earlier = after.counts.get(name), before.counts.get(name)
        either = later or earlier
        assert either is not None
        zero = Count(None if either.times is None else 0, None if either.bytes is None else 0)
        if (difference := (later or zero).since(earlier or zero)) is None:
            return None
        differences[name] = difference
    return differences


def series(readings: Iterable[Reading]) -> list[Series]:
    """The readings by source. Raises `Refused` if every counter is 0."""
    by_source: dict[CounterSource, list[Reading]] = {}
    for reading in readings:
        by_source.setdefault(reading.counter_source, []).append(reading)
    counts = [count for group in by_source.values() for reading in group for count in reading.counts.values()]
    if all(count.is_zero for count in counts):
        problem = "counters that are all 0" if counts else "no counter of an operation"
        raise Refused(f"has {problem}: nothing was measured")
    return [Series(counter_source, _in_order(group)) for counter_source, group in by_source.items()]


def _in_order(readings: list[Reading]) -> list[Reading]:
    """The readings in the order of time, each time once."""
    moments: dict[int | None, Reading] = {}
    for reading in readings:
        moments[reading.at_ns] = reading
    return sorted(moments.values(), key=lambda reading: reading.at_ns or 0)

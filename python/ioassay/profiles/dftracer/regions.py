"""Functions and blocks that an application annotated (`dft_fn`, `ai`, `DFTRACER_C_REGION_START`) as regions.

A trace has an event for each when it ends, so all are read before the calls. Those of a thread are within each other as
their times are; a call is in the innermost that encloses it. Memory grows with events: about 36 bytes each.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ioassay.profiles.dftracer import calls
from ioassay.profiles.model import REGION_OPERATIONS, REGION_SEPARATOR, REGIONS
from ioassay.protocol.record_layout import REGION_DEPTH

_ANNOTATED = (2, 6, 9)
"""The `type` of events that an application annotated in C, Python and C++. Others are of libraries and of hardware."""

_AI = frozenset({"compute", "data", "dataloader", "comm", "device", "checkpoint", "pipeline", "other"})
"""Categories of `dftracer.python.ai`. They say what a function is for, so they are a part of its region's name."""

_MOST_REGIONS = 256
"""Names of regions of a process, as of a recorder's table."""
_MOST_NAME_CHARACTERS = 200
_MOST_NS = 2**62


class Thread(NamedTuple):
    """A thread that lines are of."""

    node: str
    process: int
    number: int


def is_annotated(line: Mapping[str, Any]) -> bool:
    """True for an event that an application annotated."""
    if not calls.is_call(line) or not isinstance(line.get("name"), str):
        return False
    kind = line.get("type")
    return line.get("cat") not in calls.OF_LIBRARIES if kind is None else kind in _ANNOTATED


@dataclass
class _Events:
    """The annotated events of a thread, in the order of their lines until they are nested, then by their beginning."""

    begin_ns: array[int] = field(default_factory=lambda: array("q"))
    end_ns: array[int] = field(default_factory=lambda: array("q"))
    name: array[int] = field(default_factory=lambda: array("i"))
    line: array[int] = field(default_factory=lambda: array("i"))
    """The number of the event's line among those of the thread's events."""
    around: array[int] = field(default_factory=lambda: array("i"))
    """The event that encloses it most closely; -1: none."""
    region: array[int] = field(default_factory=lambda: array("i"))
    """-1: none, because it is in no other and the process has too many."""
    lines_read: int = 0
    """Of the thread's events, while calls are read."""

    def order(self) -> None:
        """Sorts by beginning; of those that begin at once, what encloses comes before what is within it."""
        line = np.arange(len(self.begin_ns), dtype=np.int32)
        begin, end = (np.frombuffer(column, np.int64) for column in (self.begin_ns, self.end_ns))
        order = np.lexsort((-line, -end, begin))
        name = np.frombuffer(self.name, np.int32)
        self.line = array("i", line[order].tobytes())
        self.begin_ns, self.end_ns = (array("q", column[order].tobytes()) for column in (begin, end))
        self.name = array("i", name[order].tobytes())

    def encloses(self, outer: int, event: int) -> bool:
        """Whether an event encloses one that began no earlier. Times are whole microseconds: where one ends as the
        other begins, the line of what is within comes first.
        """
        its_begin, its_end, begin, end = (
            self.begin_ns[outer],
            self.end_ns[outer],
            self.begin_ns[event],
            self.end_ns[event],
        )
        return its_begin < its_end >= end and (begin < its_end or self.line[event] < self.line[outer])

    def is_beside(self, outer: int, event: int) -> bool:
        """Whether an event of less than 1 µs came before the one of its own name that encloses it, as far as times say:
        functions are called in loops more often than by themselves.
        """
        began = self.begin_ns[event]
        return self.end_ns[event] == began == self.begin_ns[outer] and self.name[event] == self.name[outer]

    def innermost(self, begin_ns: int, end_ns: int) -> int:
        """The region of the innermost event that encloses a call; -1: none."""
        event = bisect_right(self.begin_ns, begin_ns) - 1
        while event >= 0 and (
            self.end_ns[event] < end_ns
            or (
                self.end_ns[event] == begin_ns and self.line[event] < self.lines_read
            )  # it had ended when the call began
        ):
            event = self.around[event]
        return self.region[event] if event >= 0 else -1


@dataclass
class _Region:
    name: str
    """With those around it."""
    depth: int
    entries: int = 0
    stayed_ns: int = 0
    longest_ns: int = 0
    first_ns: int = _MOST_NS
    last_ns: int = 0
    operations: dict[str, list[int]] = field(default_factory=dict)
    """Calls, bytes, time and the slowest."""

    def stay(self, begin_ns: int, end_ns: int) -> None:
        self.entries += 1
        self.stayed_ns += end_ns - begin_ns
        self.longest_ns = max(self.longest_ns, end_ns - begin_ns)
        self.first_ns, self.last_ns = min(self.first_ns, begin_ns), max(self.last_ns, end_ns)

    def add_call(self, operation: str, ns: int, moved: int) -> None:
        sums = self.operations.setdefault(operation, [0, 0, 0, 0])
        sums[0] += 1
        sums[1] += moved
        sums[2] += ns
        sums[3] = max(sums[3], ns)


class _OfProcess:
    """The regions of a process."""

    def __init__(self) -> None:
        self.regions: list[_Region] = []
        self._numbers: dict[tuple[int, str], int] = {}
        self.lost = 0
        """Events that are no region, because there would be too many."""

    def enter(self, outer: int, name: str) -> int | None:
        """The number of the region of a name within another (-1: none). `None`: there is no place for it."""
        known = self._numbers.get((outer, name))
        if known is not None:
            return known
        around = self.regions[outer] if outer >= 0 else None
        depth = around.depth + 1 if around else 0
        if len(self.regions) >= _MOST_REGIONS or depth >= REGION_DEPTH:
            self.lost += 1
            return None
        self._numbers[outer, name] = number = len(self.regions)
        self.regions.append(_Region(f"{around.name}{REGION_SEPARATOR}{name}" if around else name, depth))
        return number


class Regions:
    """All regions of all processes, while traces are read."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        self._events: dict[Thread, _Events] = {}
        self._processes: dict[tuple[str, int], _OfProcess] = {}

    def add(self, thread: Thread, line: Mapping[str, Any], unit_ns: int) -> None:
        """Adds an annotated event."""
        begin, lasted = calls.number(line.get("ts")), calls.number(line.get("dur"))
        if begin is None or begin < 0:
            return
        events = self._events.setdefault(thread, _Events())
        begin_ns = min(begin * unit_ns, _MOST_NS)
        events.begin_ns.append(begin_ns)
        events.end_ns.append(min(begin_ns + max(0, lasted or 0) * unit_ns, _MOST_NS))
        events.name.append(self._names.setdefault(_shown_name(line), len(self._names)))

    def nest(self) -> None:
        """Finds which events are within which, once all were added."""
        names = list(self._names)
        for thread, events in self._events.items():
            of_process = self._processes.setdefault((thread.node, thread.process), _OfProcess())
            events.order()
            open_events: list[int] = []
            for event, (begin, end, name) in enumerate(zip(events.begin_ns, events.end_ns, events.name, strict=True)):
                while open_events and not events.encloses(open_events[-1], event):
                    open_events.pop()
                around = open_events[-1] if open_events else -1
                open_events.append(event)
                named_in = events.around[around] if around >= 0 and events.is_beside(around, event) else around
                outer = events.region[named_in] if named_in >= 0 else -1
                region = of_process.enter(outer, names[name])
                if region is not None:
                    of_process.regions[region].stay(begin, end)
                events.around.append(around)
                events.region.append(outer if region is None else region)

    def pass_event(self, thread: Thread) -> None:
        """Says that the line of an annotated event was read among the calls."""
        if thread in self._events:
            self._events[thread].lines_read += 1

    def has(self, thread: Thread) -> bool:
        """Whether a thread has annotated events."""
        return thread in self._events

    def add_call(self, thread: Thread, operation: str, begin_ns: int, ns: int, moved: int) -> None:
        """Adds a call to the region in which it was."""
        events = self._events.get(thread)
        region = -1 if events is None else events.innermost(begin_ns, begin_ns + ns)
        if region >= 0:
            self._processes[thread.node, thread.process].regions[region].add_call(operation, ns, moved)

    def lost(self) -> Iterator[tuple[int, int]]:
        """Processes that had too many regions, with the number of events that are none."""
        for (_, pid), of_process in self._processes.items():
            if of_process.lost:
                yield pid, of_process.lost

    def stays(self, numbers: Mapping[tuple[str, int], int], origin_ns: int) -> pl.DataFrame:
        """`REGIONS`. `numbers` has that of each process, by its node and pid."""
        rows = []
        for process, region in self._of(numbers):
            moments = ((moment - origin_ns) / 1e9 for moment in (region.first_ns, region.last_ns))
            rows.append((process, region.name, region.entries, region.stayed_ns, region.longest_ns, *moments))
        return pl.DataFrame(rows, schema=REGIONS, orient="row")

    def operations(self, numbers: Mapping[tuple[str, int], int]) -> pl.DataFrame:
        """`REGION_OPERATIONS`."""
        rows = [
            (process, region.name, operation, *sums)
            for process, region in self._of(numbers)
            for operation, sums in region.operations.items()
        ]
        return pl.DataFrame(rows, schema=REGION_OPERATIONS, orient="row")

    def _of(self, numbers: Mapping[tuple[str, int], int]) -> Iterator[tuple[int, _Region]]:
        """All regions with the number of their process, if any of its lines is from a moment that can be."""
        for key, of_process in self._processes.items():
            if key in numbers:
                yield from ((numbers[key], region) for region in of_process.regions)


def _shown_name(line: Mapping[str, Any]) -> str:
    name, category = str(line.get("name")), str(line.get("cat"))
    if category in _AI and name != category and not name.startswith(f"{category}."):
        name = f"{category}.{name}"
    return name[:_MOST_NAME_CHARACTERS].replace(REGION_SEPARATOR, ">")

"""Names for readers: of a run's measurements, and of the points of a sweep. Not: numbers (`text.format`)."""

from __future__ import annotations

from collections.abc import Sequence

from ioassay.analysis import axes, series
from ioassay.analysis.axes import Axis, Value, Values
from ioassay.analysis.series import Series
from ioassay.store.document import CaseEntry, Operation, RunDocument
from ioassay.store.measurement import Measurement
from ioassay.store.point import GROUPS, PLACEMENT, RANKS_PER_CLIENT, AxisUnit, SweepPoint
from ioassay.text.units import format_bytes, format_count, format_duration

NOUNS: dict[Operation, str] = {
    "write": "writes",
    "read": "reads",
    "create-tree": "directories",
    "remove-tree": "directories",
    "create": "creates",
    "stat": "stats",
    "rename": "renames",
    "remove": "removes",
    "find": "entries",
    "open": "opens",
    "close": "closes",
    "sync": "syncs",
    "step": "steps",
    "request": "requests",
    "checkpoint": "generations",
}
"""The noun that a rate of each operation counts."""


def noun(operation: str) -> str:
    """The noun that a rate of an operation counts: `creates`."""
    return NOUNS[_operation(operation)]


def sweep_points(values: Sequence[Value], axis: Axis = "clients", unit: AxisUnit = "1") -> str:
    """The sweep points that a number rests on: `8 clients`, `4–64 ranks`, `transfer 64 KiB–4 MiB`."""
    if axis in axes.COUNTED:
        (first, *_), last = values, values[-1]
        return format_count(int(first), axis.removesuffix("s")) if len(values) == 1 else f"{first}–{last} {axis}"
    if unit == "word":
        return f"{axis} {', '.join(map(str, values))}"
    ends = [axis_value(value, unit) for value in dict.fromkeys((values[0], values[-1]))]
    return f"{axis} {'–'.join(ends)}"


def axis_value(value: Value, unit: AxisUnit) -> str:
    """A value on an axis of a sweep, with its unit: `64 KiB`, `1 s`, `32`, `posix`."""
    if isinstance(value, str) or unit in ("1", "word"):
        return str(value)
    return format_bytes(value) if unit == "bytes" else format_duration(value)


class Names:
    """The words for everything that a run names by an id."""

    def __init__(self, document: RunDocument) -> None:
        self._titles = {workload.name: workload.title for workload in document.study.workloads}
        self._cases = {case.id: case for case in document.cases}
        self._units = {axis.name: axis.unit for workload in document.study.workloads for axis in workload.axes}
        points: dict[tuple[str, int], set[SweepPoint]] = {}
        for case in document.cases:
            points.setdefault((case.workload, case.clients), set()).add(case.sweep_point)
        # A command line is known by its ranks; its number of clients depends on the launcher.
        self._swept = {workload for (workload, _), others in points.items() if len(others) > 1 or not document.is_study}
        self._several_ranks = {
            workload
            for (workload, _), others in points.items()
            if len({(dict(other.values).get(RANKS_PER_CLIENT), dict(other.values).get(GROUPS)) for other in others}) > 1
            or not document.is_study
        }
        self.repeated = any(case.repetition > 1 for case in document.cases)
        """True if any case runs more than once: only then are repetitions named."""

    def workload(self, name: str) -> str:
        return self._titles.get(name, name)

    def point(self, case: str) -> str:
        """The point of the sweep: `8 clients`, or with other swept axes `1 client, 4 ranks each, 2 groups`,
        `1 client, transfer 64 KiB`.
        """
        entry = self._cases[case]
        words = [format_count(entry.clients, "client") if entry.clients else "unknown clients"]
        if entry.workload in self._several_ranks and entry.ranks_per_client:
            each = "" if entry.clients == 1 else " each"
            words.append(f"{format_count(entry.ranks_per_client, 'rank')}{each}")
            if isinstance(groups := entry.point.get(GROUPS), int):
                words.append(format_count(groups, "group"))
        others = tuple((axis, value) for axis, value in entry.point.items() if axis not in PLACEMENT)
        return ", ".join([*words, *([self.values(others)] if others else [])])

    def values(self, values: Values) -> str:
        """Values on axes: `transfer 64 KiB, depth 32`."""
        return ", ".join(f"{axis} {self.value(axis, value)}" for axis, value in values)

    def value(self, axis: Axis, value: Value) -> str:
        """A value on an axis: `64 KiB`."""
        return axis_value(value, self.unit(axis))

    def unit(self, axis: Axis) -> AxisUnit:
        return self._units.get(axis, "1")

    def is_swept(self, workload: str) -> bool:
        """True if clients alone do not distinguish the workload's cases."""
        return workload in self._swept

    def case(self, case: str) -> str:
        """A case by its id: `Sequential N-N, 8 clients, repetition 2`."""
        entry = self._cases[case]
        text = f"{self.workload(entry.workload)}, {self.point(case)}"
        return f"{text}, repetition {entry.repetition}" if self.repeated else text

    def measurement(self, phase: str, job: str, operation: str) -> str:
        """The series of a measurement: `write`, `together, readers (read)`."""
        return series.label(Series(phase, job, _operation(operation)))

    def place(self, place: Measurement) -> str:
        """A measurement: `Sequential N-N, 8 clients, repetition 2, write`."""
        case, *measured = place
        return f"{self.case(case)}, {self.measurement(*measured)}"

    def entry(self, case: str) -> CaseEntry:
        return self._cases[case]


def _operation(text: str) -> Operation:
    return next(known for known in NOUNS if known == text)

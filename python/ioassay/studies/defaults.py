"""What a study shows that does not say it: a figure for each operation of what it sweeps, a row for each workload.

Not here: what a report makes of them (`reports.run`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ioassay.store.document import FigureEntry, SummaryRow
from ioassay.studies.sweep import jobs
from ioassay.text.prose import listed

if TYPE_CHECKING:
    from ioassay.store.document import Operation
    from ioassay.studies.model import Study, Workload
    from ioassay.studies.sweep import Point
    from ioassay.text.units import RateUnit

_OF_BYTES = ("read", "write")
_OF_DIRECTORIES = ("create-tree", "remove-tree")
"""What only prepares a tree for its items, and ends it."""


def figures(study: Study, points: Mapping[str, Sequence[Point]]) -> list[FigureEntry]:
    """A figure for each operation, of all workloads that sweep the same axes; none of a study with tables of surveys,
    or of a replay, whose rates are those of the application.
    """
    if study.replays or study.surveys:
        return []
    together: dict[tuple[Operation, RateUnit, tuple[str, ...]], list[str]] = {}
    for name, workload in study.workloads.items():
        if axes := _swept(points[name]):
            for operation in _operations(workload):
                together.setdefault((operation, _unit(workload, operation), axes), []).append(name)
    alone = len({axes for _, _, axes in together}) <= 1
    return [
        FigureEntry(
            title=_title(study, operation, [] if alone else names), workloads=names, operation=operation, unit=unit
        )
        for (operation, unit, _), names in together.items()
    ]


def summary(study: Study) -> list[SummaryRow]:
    """A row for each workload, in the unit of its first figure; none of a replay."""
    if study.replays:
        return []
    units = {name: figure.unit for figure in reversed(study.figures) for name in figure.workloads}
    usual: Mapping[bool, RateUnit] = {True: "MB/s", False: "kIOPS"}
    return [
        SummaryRow(
            label=workload.title,
            workload=name,
            unit=units.get(name, usual[bool(workload.files or workload.checkpoints)]),
        )
        for name, workload in study.workloads.items()
    ]


def _swept(points: Sequence[Point]) -> tuple[str, ...]:
    """The axes on which the points differ."""
    every = [point.values for point in points]
    return tuple(axis for axis in every[0] if len({values.get(axis) for values in every}) > 1)


def _operations(workload: Workload) -> Iterator[Operation]:
    """What its phases do as fast as they can, each once."""
    fast = [work for _, _, work in jobs(workload) if (phase := work.phase) and not (phase.rate or phase.think)]
    operations = dict.fromkeys(operation for work in fast for operation in work.operations)
    yield from (operation for operation in operations if operation not in _OF_DIRECTORIES)


def _unit(workload: Workload, operation: Operation) -> RateUnit:
    return "MB/s" if workload.files and operation in _OF_BYTES else "kIOPS"


def _title(study: Study, operation: Operation, names: Sequence[str]) -> str:
    of = f" of {listed([study.workloads[name].title for name in names])}" if names else ""
    return f"{operation.capitalize()} rate{of}"

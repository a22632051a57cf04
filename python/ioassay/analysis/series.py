"""The series of a workload: each operation of each job of each phase, measured at every point of the sweep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ioassay.store.document import Operation, RunDocument

PREPARATION: frozenset[Operation] = frozenset({"create-tree", "remove-tree"})
"""Creating and removing the few directories of the measured files. The tables of all measurements contain their rates;
peaks, findings and stop rules leave them out.
"""


class Series(NamedTuple):
    """An operation that is measured at every point of a workload's sweep."""

    phase: str
    job: str
    operation: Operation


def of_workload(document: RunDocument, workload: str) -> list[Series]:
    """Every series of the workload, in the order in which they run."""
    series = (
        Series(phase.name, job.name, operation)
        for case in document.cases
        if case.workload == workload
        for phase in case.phases
        for job in phase.jobs
        for operation in job.operations
    )
    return list(dict.fromkeys(series))


def without_preparation(several: Iterable[Series]) -> list[Series]:
    """The series that are not preparation, or all of them if there are no others."""
    every = list(several)
    return [series for series in every if series.operation not in PREPARATION] or every


def label(series: Series) -> str:
    """A series in words: `write`, `warm (read)`, `together, readers (read)`."""
    phase, job, operation = series
    name = phase if job == phase else f"{phase}, {job}"
    return name if operation in (phase, job) and name.endswith(operation) else f"{name} ({operation})"

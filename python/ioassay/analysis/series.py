"""The series of a workload: each operation of each job of each phase, measured at every point of the sweep."""

from __future__ import annotations

from typing import NamedTuple

from ioassay.results.document import Operation, RunDocument


class Series(NamedTuple):
    """What is measured again at every point of a workload's sweep."""

    phase: str
    job: str
    operation: Operation


def of_workload(document: RunDocument, workload: str) -> list[Series]:
    """Every series of the workload, in the order in which they run."""
    found = (
        Series(phase.name, job.name, operation)
        for case in document.cases
        if case.workload == workload
        for phase in case.phases
        for job in phase.jobs
        for operation in job.operations
    )
    return list(dict.fromkeys(found))


def label(series: Series) -> str:
    """A series in words: `write`, `warm (read)`, `together, readers (read)`."""
    phase, job, operation = series
    name = phase if job == phase else f"{phase}, {job}"
    return name if operation in (phase, job) and name.endswith(operation) else f"{name} ({operation})"

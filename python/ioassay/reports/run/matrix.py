"""The test matrix: what each workload is to do, and at which points of its sweep, as a row of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ioassay.analysis.names import Names
from ioassay.reports.document import Column, Table, changes
from ioassay.store.document import CaseEntry, JobEntry, RunDocument
from ioassay.text import format

HEADS = ("Workload", "Phases", "Layout", "Order", "Transfer", "File set", "Clients", "Ranks each", "Repetitions")

_FIRST_NUMBER = HEADS.index("Transfer")

MOST_NAMED = 8
"""Values of a sweep that are reported one by one; of more only the lowest, the highest and how many there are."""


def table(document: RunDocument, names: Names) -> Table:
    """The table."""
    every = rows(document, names)
    return Table(
        [Column(head, is_number=at >= _FIRST_NUMBER) for at, head in enumerate(HEADS)],
        every,
        "Test matrix",
        rules=changes(workload for workload, *_ in every),
        density="dense",
    )


def rows(document: RunDocument, names: Names) -> list[list[str]]:
    """Cells below `HEADS`, in the order of the study."""
    cases: dict[str, list[CaseEntry]] = {}
    for case in document.cases:
        cases.setdefault(case.workload, []).append(case)
    return [row for workload in document.workloads for row in _of_workload(names.workload(workload), cases[workload])]


def _of_workload(title: str, cases: Sequence[CaseEntry]) -> list[list[str]]:
    phases: dict[tuple[str, ...], list[str]] = {}
    sizes: dict[tuple[str, ...], list[int]] = {}
    for case in cases:
        for phase in case.phases:
            for job in phase.jobs:
                alike = _alike(job)
                phases.setdefault(alike, []).append(phase.name if job.name == phase.name else job.name)
                # Where an imported file does not tell the size that was asked for, it is what was moved.
                sizes.setdefault(alike, []).append(job.file_set_bytes or job.planned_bytes)
    swept = (
        _swept(case.clients for case in cases),
        _swept(case.ranks_per_client for case in cases),
        str(max(case.repetition for case in cases)),
    )
    return [[title, ", ".join(dict.fromkeys(phases[alike])), *alike, _sizes(sizes[alike]), *swept] for alike in phases]


def _alike(job: JobEntry) -> tuple[str, str, str]:
    return job.layout or format.ABSENT, job.order or format.ABSENT, format.size(job.transfer_bytes)


def _sizes(values: Iterable[int]) -> str:
    """Sizes of a file set over the sweep; 0: nothing tells."""
    told = sorted({value for value in values if value})
    ends = [format.size(value) for value in dict.fromkeys([*told[:1], *told[-1:]])]
    return " to ".join(ends) or format.ABSENT


def _swept(values: Iterable[int]) -> str:
    told = sorted({value for value in values if value})
    if len(told) > MOST_NAMED:
        return f"{len(told)} from {told[0]} to {told[-1]}"
    return ", ".join(map(str, told)) or format.ABSENT

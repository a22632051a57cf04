"""A study → what it times at each point of its sweeps, without a target and without nodes.

Its clients are those that it sweeps. Not: whether the configuration has as many (`predict`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.analysis import series
from ioassay.analysis.compare.subject import tested
from ioassay.analysis.series import Series
from ioassay.launchers import DEFAULT
from ioassay.sizing.prediction.model import SeriesName, Spot
from ioassay.store.document import CaseEntry, PhaseEntry, WorkloadEntry
from ioassay.store.point import PLACEMENT
from ioassay.studies.cases import expand
from ioassay.studies.resolve import ResolvedStudy
from ioassay.studies.target import Target


def spots(study: ResolvedStudy) -> Iterator[Spot]:
    """The timed phases of every case, once and not for each repetition."""
    workloads = {entry.name: entry for entry in study.entry.workloads}
    # Neither run nor target nor launcher change what is timed.
    for case, _, _ in expand(study, "run", Target("directory", "/"), DEFAULT):
        if case.repetition == 1:
            for phase in case.phases:
                yield from _of_phase(workloads[case.workload], case, phase)


def _of_phase(workload: WorkloadEntry, case: CaseEntry, phase: PhaseEntry) -> Iterator[Spot]:
    units = {axis.name: axis.unit for axis in workload.axes}
    for job in phase.jobs:
        for operation in job.operations:
            title = f"{workload.title}, {series.label(Series(phase.name, job.name, operation))}"
            yield Spot(
                series=SeriesName(tested(title, operation), title, operation),
                clients=case.clients,
                taking_part=min(case.clients, -(-job.ranks // case.ranks_per_client)),
                job=job,
                is_alone=len(phase.jobs) == len(job.operations) == 1,
                others=tuple((axis, value, units[axis]) for axis, value in case.point.items() if axis not in PLACEMENT),
            )

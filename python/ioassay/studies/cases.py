"""From a resolved study to its cases, in the order in which they run, each with the engine's plan.

Not here: refusals (`studies.sweep` and `studies.check_steps` have checked everything before), launching, results.
"""

from __future__ import annotations

import hashlib
from typing import Any

from ioassay.results.document import CaseEntry, JobEntry, PhaseEntry
from ioassay.studies import plans, sweep
from ioassay.studies.commands import command
from ioassay.studies.model import Study, Workload
from ioassay.studies.resolve import ResolvedStudy
from ioassay.studies.steps import Work
from ioassay.studies.sweep import Point
from ioassay.studies.target import Target

PLAN_VERSION = 2
"""Version of `plan.json`; the engine refuses any other than its own."""


def expand(resolved: ResolvedStudy, run: str, target: Target, launcher: str) -> list[tuple[CaseEntry, dict[str, Any]]]:
    """The cases with their plans (contract: Plan).

    Repetitions are outermost: every point of the sweep is measured once before any is measured again. A run that
    ends early has the whole sweep, and a system that drifts shows it as spread between repetitions.

    `run` is the identifier of the run. `launcher` only decides how the equivalent command lines of IOR and mdtest
    start their processes.
    """
    study = resolved.study
    repetitions = max(workload.repetitions for workload in study.workloads.values())
    return [
        _case(study, name, point, repetition, run=run, target=target, launcher=launcher)
        for repetition in range(1, repetitions + 1)
        for name, workload in study.workloads.items()
        if repetition <= workload.repetitions
        for point in sweep.points(workload)
    ]


def _case(
    study: Study, name: str, point: Point, repetition: int, *, run: str, target: Target, launcher: str
) -> tuple[CaseEntry, dict[str, Any]]:
    workload = study.workloads[name]
    case = _identifier(name, workload, point, repetition)

    def job(job_name: str, work: Work) -> JobEntry:
        equivalent = command(workload, point, work, target.inside(run, case), launcher)
        return _job(workload, point, job_name, work, equivalent)

    entry = CaseEntry(
        id=case,
        workload=name,
        clients=point.clients,
        ranks_per_client=point.ranks_per_client,
        groups=point.groups,
        repetition=repetition,
        file_set_bytes=sweep.file_set_bytes(workload, point),
        written_bytes=sweep.written_bytes(workload, point),
        phases=[
            PhaseEntry(name=step.name, jobs=[job(*one) for one in step.jobs()])
            for step in workload.steps
            if step.name is not None
        ],
    )
    plan = {
        "version": PLAN_VERSION,
        "run": run,
        "case": case,
        "target": target.plan(),
        "storage": study.storage.plan(),
        "ranks": {"clients": point.clients, "per_client": point.ranks_per_client},
        **plans.sets(workload, point),
        "steps": plans.steps(workload, point),
        "seed": _seed(study.seed, case),
        "sample_interval_ns": study.sample_interval,
    }
    return entry, plan


def _identifier(name: str, workload: Workload, point: Point, repetition: int) -> str:
    """Names the point by every axis that is swept; clients always."""
    ranks = f".p{point.ranks_per_client:03}" if len(workload.ranks_per_client) > 1 else ""
    groups = f".g{point.groups:03}" if point.groups is not None else ""
    return f"{name}.c{point.clients:03}{ranks}{groups}.r{repetition}"


def _job(workload: Workload, point: Point, name: str, work: Work, equivalent: str) -> JobEntry:
    on = sweep.works_on(workload, work)
    ranks = sweep.rank_ranges(workload, point)[on].count if on is not None else point.ranks
    files = sweep.placed(workload, point).get(on or "")
    if files is not None and work.phase is not None:
        operations = sweep.transfers(files, work.phase) * ranks
        return JobEntry(
            name=name,
            operations=work.operations,
            ranks=ranks,
            file_set=files.name,
            layout=files.files_of.layout,
            order=sweep.order_of(workload, work),
            files=files.files,
            transfer_bytes=files.files_of.transfer,
            file_set_bytes=files.bytes,
            planned_bytes=operations * files.files_of.transfer,
            planned_operations=operations,
            command=equivalent,
        )
    tree = workload.trees.get(on or "")
    operations = sweep.operations(tree, work, ranks) if tree else 0
    bytes_each = (work.phase.bytes if work.phase else None) or None
    return JobEntry(
        name=name,
        operations=work.operations,
        ranks=ranks,
        file_set=on or "",
        layout=tree.sharing if tree else "",
        order=sweep.order_of(workload, work),
        files=0,
        transfer_bytes=bytes_each,
        file_set_bytes=sweep.items(tree, ranks) * (bytes_each or 0) if tree else 0,
        planned_bytes=operations * (bytes_each or 0),
        planned_operations=operations,
        command=equivalent,
    )


def _seed(seed: int, case: str) -> int:
    """A seed of 64 bits for each case: cases differ, and the same study does the same I/O again."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{case}".encode(), digest_size=8).digest(), "little")

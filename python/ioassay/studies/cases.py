"""From a resolved study to its cases, in the order in which they run, each with the engine's plan.

Not here: refusals (`studies.sweep` has checked everything before), launching, results.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ioassay.results.document import CaseEntry, PhaseEntry
from ioassay.studies import sweep
from ioassay.studies.ior import ior_command
from ioassay.studies.model import Step, Study, Workload
from ioassay.studies.resolve import ResolvedStudy

PLAN_VERSION = 1
"""Version of `plan.json`; the engine refuses any other than its own."""


def expand(resolved: ResolvedStudy, run: str, target: Path, launcher: str) -> list[tuple[CaseEntry, dict[str, Any]]]:
    """The cases with their plans (contract: Plan).

    Repetitions are outermost: every point of the sweep is measured once before any is measured again. A run that
    ends early has the whole sweep, and a system that drifts shows it as spread between repetitions.

    `run` is the identifier of the run, `target` an absolute path. `launcher` only decides how the equivalent IOR
    command line starts its processes.
    """
    study = resolved.study
    repetitions = max(workload.repetitions for workload in study.workloads.values())
    return [
        _case(study, name, clients, repetition, run=run, target=target, launcher=launcher)
        for repetition in range(1, repetitions + 1)
        for name, workload in study.workloads.items()
        if repetition <= workload.repetitions
        for clients in workload.clients
    ]


def _case(
    study: Study, name: str, clients: int, repetition: int, *, run: str, target: Path, launcher: str
) -> tuple[CaseEntry, dict[str, Any]]:
    workload = study.workloads[name]
    case = f"{name}.c{clients:03}.r{repetition}"
    data_file = target / f"ioassay-{run}" / f"{case}.data"
    entry = CaseEntry(
        id=case,
        workload=name,
        clients=clients,
        ranks_per_client=workload.ranks_per_client,
        repetition=repetition,
        layout=workload.layout,
        order=workload.order,
        transfer_bytes=workload.transfer,
        block_bytes=sweep.block_bytes(workload, clients),
        segments=workload.segments,
        file_set_bytes=sweep.file_set_bytes(workload, clients),
        written_bytes=sweep.written_bytes(workload, clients),
        phases=[
            PhaseEntry(
                name=sweep.name_of(step),
                operation=step.operation,
                ior=ior_command(workload, clients, step, data_file, launcher),
            )
            for step in workload.steps
            if step.operation is not None
        ],
    )
    return entry, _plan(study, workload, entry, run, target)


def _plan(study: Study, workload: Workload, case: CaseEntry, run: str, target: Path) -> dict[str, Any]:
    return {
        "version": PLAN_VERSION,
        "run": run,
        "case": case.id,
        "target": {"directory": str(target)},
        "storage": {"api": study.storage},
        "ranks": {"clients": case.clients, "per_client": case.ranks_per_client},
        "data": {
            "layout": case.layout,
            "transfer_bytes": case.transfer_bytes,
            "block_bytes": case.block_bytes,
            "segments": case.segments,
        },
        "steps": [_step(workload, step) for step in workload.steps],
        "seed": _seed(study.seed, case.id),
        "sample_interval_ns": study.sample_interval,
    }


def _step(workload: Workload, step: Step) -> dict[str, Any]:
    if step.cold_cache is not None:
        return {"step": "cold-cache", "attempts": list(step.cold_cache)}
    if step.pause is not None:
        return {"step": "pause", "duration_ns": step.pause}
    return {
        "step": "phase",
        "name": sweep.name_of(step),
        "operation": step.operation,
        "order": sweep.order_of(workload, step),
        "fsync": sweep.fsync_of(step),
    }


def _seed(seed: int, case: str) -> int:
    """A seed of 64 bits for each case: cases differ, and the same study does the same I/O again."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{case}".encode(), digest_size=8).digest(), "little")

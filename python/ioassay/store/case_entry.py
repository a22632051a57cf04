"""The work of a case, from its plan and from the amounts that the engine reports: the entry in `run.json` of studies
and front ends alike.

Amounts are what is done when nothing stops it early, in one pass over each file set. Under a stonewall that is the most
there can be, under a minimum time the least. Not: where a plan comes from, what of it was done (`ingest`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic_core import ValidationError

from ioassay.errors import UsageError
from ioassay.plans.registry import kind_of
from ioassay.store import protocol
from ioassay.store.document import CaseEntry, JobEntry, PhaseEntry, TransferOrder
from ioassay.store.point import CLIENTS, RANKS_PER_CLIENT
from ioassay.store.stored_struct import LARGEST
from ioassay.store.versions import damaged

if TYPE_CHECKING:
    from ioassay.protocol.event import EventAmounts, JobAmounts
    from ioassay.protocol.plan import Job, Plan


def case_entry(
    plan: Plan,
    amounts: EventAmounts | None,
    workload: str,
    repetition: int,
    command: Callable[[str, str], str],
    *,
    point: Mapping[str, int | str] | None = None,
) -> CaseEntry:
    """The case of `plan`, at `point` of a sweep, or else at its clients and ranks.

    `amounts` is what `plans.sizes.amounts` says of it; `None`, of a plan that the engine refuses: nothing.
    `command` gives the equivalent command line of the job of a phase, both by name.
    What is more than a table can hold is the largest that it can. Raises `UsageError` for what else no run can have.
    """
    try:
        return CaseEntry(
            id=plan["case"],
            workload=workload,
            point=dict(point or _placement(plan)),
            repetition=repetition,
            file_set_bytes=_bounded_count(amounts["file_set_bytes"]) if amounts else 0,
            written_bytes=_bounded_count(amounts["written_bytes"]) if amounts else 0,
            phases=_phases(plan, amounts, command),
        )
    except ValidationError as error:
        raise UsageError(f"The case {plan['case']}: {protocol.reason(error)}.", "Make the case smaller.") from error


def unfitting(plan: Plan) -> str | None:
    """Where a plan that has the shape of the protocol does not fit together; `None` where it does."""
    phases = [step if step["step"] == "phase" else None for step in plan["steps"]]
    for job in (job for phase in phases if phase is not None for job in phase["jobs"]):
        work, kind = job["work"], kind_of(job["work"])
        for files in kind.files(work):
            if files not in plan.get("files", {}):
                return f"it has no file set {files}"
        for tree in kind.trees(work):
            if tree not in plan.get("trees", {}):
                return f"it has no tree {tree}"
        for dataset in kind.datasets(work):
            if dataset not in plan.get("datasets", {}):
                return f"it has no dataset {dataset}"
        for checkpoint in kind.checkpoints(work):
            if checkpoint not in plan.get("checkpoints", {}):
                return f"it has no checkpoint {checkpoint}"
        rate_of = job.get("limit", {}).get("at_rate_of")
        earlier = [*([rate_of["step"]] if rate_of else []), *kind.earlier_steps(work)]
        if any(step >= len(phases) or phases[step] is None for step in earlier):
            return "it refers to a phase that does not exist"
    return None


def stored_plan(content: bytes, case: str, file: Path) -> Plan | None:
    """The plan of a case in a stored file; `None` for one that is cut short.

    Raises `UsageError` for what is no plan, one that does not fit together, and one of another case.
    """
    try:
        plan: Plan = protocol.validator("plan").validate_json(content)
    except ValidationError as error:
        if protocol.is_cut_short(error):
            return None
        raise damaged(file, protocol.reason(error)) from error
    if plan["case"] != case:
        raise damaged(file, f"it is the plan of the case {plan['case']}")
    problem = unfitting(plan)
    if problem is not None:
        raise damaged(file, problem)
    return plan


def _placement(plan: Plan) -> dict[str, int]:
    return {CLIENTS: plan["ranks"]["clients"], RANKS_PER_CLIENT: plan["ranks"]["per_client"]}


def _phases(plan: Plan, amounts: EventAmounts | None, command: Callable[[str, str], str]) -> list[PhaseEntry]:
    of_jobs = {(of["phase"], of["job"]): of for of in amounts["jobs"]} if amounts else {}
    return [
        PhaseEntry(
            name=step["name"],
            jobs=[
                _entry(plan, job, of_jobs.get((step["name"], job["name"])), command(step["name"], job["name"]))
                for job in step["jobs"]
            ],
        )
        for step in plan["steps"]
        if step["step"] == "phase"
    ]


def _bounded_count(amount: int) -> int:
    """As much of it as a table can hold."""
    return min(amount, LARGEST)


def _entry(plan: Plan, job: Job, amounts: JobAmounts | None, command: str) -> JobEntry:
    kind = kind_of(job["work"])
    entry = JobEntry(
        name=job["name"],
        operations=amounts["kinds"] if amounts else [],
        ranks=amounts["ranks"] if amounts else 0,
        files=_bounded_count(amounts["files"]) if amounts else 0,
        file_set_bytes=_bounded_count(amounts["file_set_bytes"]) if amounts else 0,
        planned_operations=_bounded_count(amounts["operations"]) if amounts else 0,
        planned_bytes=_bounded_count(amounts["bytes"]) if amounts else 0,
        command=command,
        **kind.description(plan, job["work"]),
    )
    _set_pace(entry, job)
    for of in amounts.get("transfers", []) if amounts else []:
        entry.sizes[of["operation"]] = [(size["bytes"], size["count"]) for size in of["sizes"]]
        # What fills files has no order of its own.
        if order := {key: of[key] for key in ("consecutive", "forward", "backward") if of[key]}:
            entry.orders[of["operation"]] = TransferOrder(**{"consecutive": 0, "forward": 0, "backward": 0} | order)
    if kind.does_io_by_storage:
        storage = job.get("storage") or plan["storage"]
        entry.api, entry.direct = storage["api"], storage.get("direct", False)
        entry.uncached, entry.depth = storage.get("uncached"), storage.get("depth", 1)
    return entry


def _set_pace(entry: JobEntry, job: Job) -> None:
    """Enters the rate and the pauses that the plan sets for a job."""
    match job.get("rate"):
        case {"bytes_per_s": int(rate)}:
            entry.rate_bytes_per_s = rate
        case {"operations_per_s": int(rate)}:
            entry.rate_operations_per_s = rate
    if think := job.get("think"):
        entry.think_ns = think["duration_ns"]

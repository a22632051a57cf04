"""The rules of MLPerf Storage v2.0 for checkpoints, as far as they can be checked before I/O begins.

Read in github.com/mlcommons/storage at caa90c9; the least ranks of a client and the memory of accelerators in a later
commit of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ioassay.store.document import CaseEntry
from ioassay.studies.checkpoint import MODELS
from ioassay.studies.mlperf_storage import Issue, Judgement, accelerators
from ioassay.text.units import format_about_bytes, format_count

if TYPE_CHECKING:
    from ioassay.protocol.plan import Checkpoint, Plan, WorkCheckpoint

ACCELERATOR_BYTES = 80 * 10**9
"""Memory of an accelerator: the state must fit into that of all together."""

LEAST_ACCELERATORS = 5
"""Of each client, in the closed division."""

GENERATIONS = 10
"""Written, and read."""

STATE_BYTES = (2, 12)
"""Of each parameter: of the model and of the optimizer's state."""


@dataclass(frozen=True)
class Split:
    """How the closed division spreads a model over ranks."""

    ranks: int
    tensor: int
    pipeline: int
    zero: int


SPLITS: Mapping[str, Split] = {
    "llama3-8b": Split(8, tensor=1, pipeline=1, zero=3),
    "llama3-70b": Split(64, tensor=8, pipeline=1, zero=3),
    "llama3-405b": Split(512, tensor=8, pipeline=32, zero=1),
    "llama3-1t": Split(1024, tensor=8, pipeline=64, zero=1),
}


def of_checkpoints(cases: Sequence[CaseEntry], plans: Mapping[str, Plan]) -> list[Judgement]:
    """Those of the checkpoints of cases that are of a model of MLPerf Storage, each different one once."""
    every = (judgement for case in cases for judgement in of_case(case, plans[case.id]))
    return list({judgement.text: judgement for judgement in every}.values())


def of_case(case: CaseEntry, plan: Plan) -> Iterator[Judgement]:
    """That of each checkpoint of the plan that is of a model of MLPerf Storage."""
    for name, checkpoint in plan.get("checkpoints", {}).items():
        if (model := _model(checkpoint)) is not None:
            issues = [*_split(plan, checkpoint, SPLITS[model]), *_steps(case, plan, name)]
            subject = f"{model} with {format_count(accelerators(plan), 'rank')}"
            yield Judgement(model, "v2.0", subject, issues)


def _model(checkpoint: Checkpoint) -> str | None:
    shape = checkpoint["model"].get("transformer")
    return next((name for name, model in MODELS.items() if model == shape), None)


def _split(plan: Plan, checkpoint: Checkpoint, closed: Split) -> Iterator[Issue]:
    per_client = plan["ranks"]["per_client"]
    ranks = accelerators(plan)
    if ranks != closed.ranks:
        yield Issue("open", f"{format_count(ranks, 'rank')}, not the {closed.ranks} of the closed division")
    if per_client < LEAST_ACCELERATORS:
        yield Issue("open", f"clients have {per_client} ranks, not {LEAST_ACCELERATORS} or more")
    planned, required = (
        f"tensor {tensor} × pipeline {pipeline}, ZeRO {zero}"
        for tensor, pipeline, zero in (
            (checkpoint["tensor"], checkpoint["pipeline"], checkpoint["zero"]),
            (closed.tensor, closed.pipeline, closed.zero),
        )
    )
    if planned != required:
        yield Issue("open", f"{planned} is not {required}")
    if (checkpoint["model_bytes"], checkpoint["optimizer_bytes"]) != STATE_BYTES:
        yield Issue("open", f"a parameter has {STATE_BYTES[0]} bytes and {STATE_BYTES[1]} of the optimizer's state")


def _steps(case: CaseEntry, plan: Plan, name: str) -> Iterator[Issue]:
    saved, restored, is_emptied, synced = 0, 0, False, True
    state_bytes = 0
    is_warm = False
    for step in plan["steps"]:
        if step["step"] == "cold-cache":
            is_emptied = True
        if step["step"] != "phase":
            continue
        for job in step["jobs"]:
            work = job["work"]
            if work["kind"] != "checkpoint" or work["checkpoint"] != name:
                continue
            state_bytes = case.job(step["name"], job["name"]).file_set_bytes
            count, fsync = _counted(work)
            if fsync is None:
                restored += count
                is_warm = is_warm or not is_emptied
            else:
                saved += count
                synced = synced and fsync
                is_emptied = False
    if not synced:
        yield Issue("invalid", "files are not forced to stable storage (fsync)")
    for count, done in ((saved, "written"), (restored, "read")):
        if count != GENERATIONS:
            yield Issue("invalid", f"{format_count(count, 'checkpoint')} are {done}, not {GENERATIONS}")
    if is_warm:
        yield Issue("invalid", "no step empties caches between writing and reading (cold-cache)")
    memory_bytes = accelerators(plan) * ACCELERATOR_BYTES
    if state_bytes > memory_bytes:
        too_little = f"accelerators of 80 GB each cannot hold {format_about_bytes(state_bytes)}"
        yield Issue("invalid", too_little)


def _counted(work: WorkCheckpoint) -> tuple[int, bool | None]:
    """Generations of a job, and whether it forces them to storage; `None` where it restores them."""
    operation = work["operation"]
    return operation["count"], operation["fsync"] if operation["kind"] == "save" else None

"""What MLPerf Storage v2.0 asks of runs with checkpoints, against the plan of a case: said before any I/O.

Read in github.com/mlcommons/storage at caa90c9. The worst departure decides: invalid, open, closed. No run of ioassay
is a result of MLPerf Storage: only mlpstorage may submit one.

Not here: what follows from a plan (`plans`), and what was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ioassay.store.document import CaseEntry
from ioassay.studies.checkpoint import MODELS
from ioassay.text.prose import listed
from ioassay.text.units import format_about_bytes, format_count

if TYPE_CHECKING:
    from ioassay.protocol.plan import Checkpoint, Plan, WorkCheckpoint

Verdict = Literal["closed", "open", "invalid"]

_SEVERITY: Sequence[Verdict] = ("closed", "open", "invalid")

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


@dataclass(frozen=True)
class Departure:
    """Something that the closed division does not allow, or no division."""

    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class Rules:
    """How a case with one of the models stands to the rules."""

    model: str
    departures: list[Departure]

    @property
    def verdict(self) -> Verdict:
        """That of the worst departure."""
        return max((departure.verdict for departure in self.departures), key=_SEVERITY.index, default="closed")

    @property
    def sentence(self) -> str:
        """The verdict and why."""
        head = f"{self.model}: by the rules of MLPerf Storage v2.0 a run with this plan would be {self.verdict}"
        reasons = f", because {listed([departure.reason for departure in self.departures])}" if self.departures else ""
        return f"{head}{reasons}. It is no result of MLPerf Storage: only mlpstorage may submit one."


def rules(case: CaseEntry, plan: Plan) -> list[Rules]:
    """For each checkpoint of the plan that is of a model of MLPerf Storage; empty where there is none."""
    every = plan.get("checkpoints", {})
    models = {name: _model(checkpoint) for name, checkpoint in every.items()}
    return [
        Rules(model, [*_split(plan, every[name], SPLITS[model]), *_steps(case, plan, name)])
        for name, model in models.items()
        if model is not None
    ]


def of_workloads(cases: Sequence[CaseEntry], plans: Mapping[str, Plan]) -> list[Rules]:
    """The rules of cases of a run, each verdict and its reasons once."""
    every = (stands for case in cases for stands in rules(case, plans[case.id]))
    return list({stands.sentence: stands for stands in every}.values())


def _model(checkpoint: Checkpoint) -> str | None:
    shape = checkpoint["model"].get("transformer")
    return next((name for name, model in MODELS.items() if model == shape), None)


def _split(plan: Plan, checkpoint: Checkpoint, closed: Split) -> Iterator[Departure]:
    per_client = plan["ranks"]["per_client"]
    ranks = plan["ranks"]["clients"] * per_client
    if ranks != closed.ranks:
        yield Departure("open", f"it has {format_count(ranks, 'rank')}, not the {closed.ranks} of the closed division")
    if per_client < LEAST_ACCELERATORS:
        yield Departure("open", f"clients have {per_client} ranks, not {LEAST_ACCELERATORS} or more")
    planned, required = (
        f"tensor {tensor} × pipeline {pipeline}, ZeRO {zero}"
        for tensor, pipeline, zero in (
            (checkpoint["tensor"], checkpoint["pipeline"], checkpoint["zero"]),
            (closed.tensor, closed.pipeline, closed.zero),
        )
    )
    if planned != required:
        yield Departure("open", f"{planned} is not {required}")
    if (checkpoint["model_bytes"], checkpoint["optimizer_bytes"]) != STATE_BYTES:
        yield Departure("open", f"a parameter has {STATE_BYTES[0]} bytes and {STATE_BYTES[1]} of the optimizer's state")


def _steps(case: CaseEntry, plan: Plan, name: str) -> Iterator[Departure]:
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
        yield Departure("invalid", "files are not forced to stable storage (fsync)")
    for count, done in ((saved, "written"), (restored, "read")):
        if count != GENERATIONS:
            yield Departure("invalid", f"{format_count(count, 'checkpoint')} are {done}, not {GENERATIONS}")
    if is_warm:
        yield Departure("invalid", "no step empties caches between writing and reading (cold-cache)")
    memory_bytes = plan["ranks"]["clients"] * plan["ranks"]["per_client"] * ACCELERATOR_BYTES
    if state_bytes > memory_bytes:
        too_little = f"accelerators of 80 GB each cannot hold {format_about_bytes(state_bytes)}"
        yield Departure("invalid", too_little)


def _counted(work: WorkCheckpoint) -> tuple[int, bool | None]:
    """Generations of a job, and whether it forces them to storage; `None` where it restores them."""
    operation = work["operation"]
    return operation["count"], operation["fsync"] if operation["kind"] == "save" else None

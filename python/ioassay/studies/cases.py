"""From a resolved study to its cases, in the order in which they run, each with the engine's plan.

Not here: refusals (`studies.sweep` and `studies.check_steps` have checked everything before), launching, results.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ioassay.plans.sizes import amounts
from ioassay.protocol.facts import PROTOCOL_VERSION
from ioassay.store.case_entry import case_entry
from ioassay.store.document import CaseEntry, JobEntry
from ioassay.studies import plans, plug_ins, sweep
from ioassay.studies.commands import command
from ioassay.studies.model import Study
from ioassay.studies.resolve import ResolvedStudy
from ioassay.studies.sweep import Point, Values
from ioassay.studies.target import Target
from ioassay.studies.train import kept_for_run
from ioassay.text.slugs import slug

LONGEST_POINT_NAME = 120
"""Characters; a case's name becomes that of a directory."""
if TYPE_CHECKING:
    from ioassay.protocol.event import EventAmounts, EventError
    from ioassay.protocol.plan import Plan


class Case(NamedTuple):
    """A case of a study."""

    entry: CaseEntry
    plan: Plan
    amounts: EventAmounts | EventError
    """What the plan amounts to, or why the engine refuses it on any target."""


def expand(resolved: ResolvedStudy, run: str, target: Target, launcher: str) -> list[Case]:
    """The cases with their plans.

    Repetitions are outermost: every point of the sweep is measured once before any is measured again. A run that
    ends early has the whole sweep, and a system that drifts shows it as spread between repetitions. `case_order`
    orders the cases of each repetition, which are the blocks of a randomised block design: drift between them falls
    on all points alike. Of `until` all repetitions up to the most are there.

    `run` is the identifier of the run. `launcher` only decides how the equivalent command lines of IOR and mdtest
    start their processes.
    """
    study = resolved.study
    repetitions = max(workload.repetitions.most for workload in study.workloads.values())
    names = {name: _names(points) for name, points in resolved.points.items()}
    plans_of = {
        (name, point): _plan(study, point, run=run, target=target)
        for name, points in resolved.points.items()
        for point in points
    }
    plug_ins.locate([*plans_of.values()])
    made = _repeated(plans_of, target.inside(run, _ANY_REPETITION), launcher)
    cases = [
        _case(study, made[name, point], f"{name}.{names[name][point]}.r{repetition}", repetition)
        for repetition in range(1, repetitions + 1)
        for name, point in _ordered(resolved, repetition)
    ]
    return _with_datasets_written_once(cases)


def _with_datasets_written_once(cases: Sequence[Case]) -> list[Case]:
    """The same, of which those write nothing whose datasets are all there from an earlier case."""
    there: set[str] = set()
    counted = []
    for case in cases:
        kept = [dataset.get("keep") for dataset in case.plan.get("datasets", {}).values()]
        names = {name for name in kept if name is not None}
        if names and names <= there and None not in kept and not {"files", "trees"} & case.plan.keys():
            counted.append(case._replace(entry=case.entry.model_copy(update={"written_bytes": 0})))
        else:
            counted.append(case)
        there |= names
    return counted


def _ordered(resolved: ResolvedStudy, repetition: int) -> list[tuple[str, Point]]:
    """What is measured in a repetition of the sweep, in the order in which it runs."""
    study = resolved.study
    order = [
        (name, point)
        for name, workload in study.workloads.items()
        if repetition <= workload.repetitions.most
        for point in resolved.points[name]
    ]
    match study.case_order:
        case "randomised":
            random.Random(_seed(study.seed, f"order of repetition {repetition}")).shuffle(order)
        case "interleaved" if repetition % 2 == 0:
            order.reverse()
    return order


_ANY_REPETITION = "case-00000000000000000000000000000000"
"""Stands for a case in what all repetitions of a point share; no case and no directory is called so."""


@dataclass(frozen=True)
class _Repeated:
    """A point of a sweep, for all its repetitions, of which there may be thousands: names and seeds differ."""

    entry: CaseEntry
    plan: Plan
    amounts: EventAmounts | EventError


def _plan(study: Study, point: Point, *, run: str, target: Target) -> Plan:
    workload = point.workload
    contents = plans.work(point)
    plan: Plan = {
        "version": PROTOCOL_VERSION,
        "run": run,
        "case": _ANY_REPETITION,
        "target": target.plan(),
        "storage": contents["storage"],
        "ranks": contents["ranks"],
        "steps": contents["steps"],
        "seed": 0,
        "sample_interval_ns": study.sample_interval,
    }
    if "files" in contents:
        plan["files"] = contents["files"]
    if "trees" in contents:
        plan["trees"] = contents["trees"]
    if "datasets" in contents:
        # Only directories of mounted file systems keep datasets; elsewhere each case has its own.
        keeps = target.kind == "directory"
        plan["datasets"] = {
            name: kept_for_run(run, name, dataset) if keeps and workload.datasets[name].share else dataset
            for name, dataset in contents["datasets"].items()
        }
    if "checkpoints" in contents:
        plan["checkpoints"] = contents["checkpoints"]
    if workload.time_limit is not None:
        plan["time_limit_ns"] = workload.time_limit
    return plan


def _repeated(
    plans_of: Mapping[tuple[str, Point], Plan], inside: str, launcher: str
) -> dict[tuple[str, Point], _Repeated]:
    """The points with these plans. One that the engine refuses amounts to nothing here: it is never run."""
    amounts_of = amounts({str(number): plan for number, plan in enumerate(plans_of.values())})

    def entry(name: str, point: Point, plan: Plan, event: EventAmounts | EventError) -> CaseEntry:
        jobs = {(step.name, job): work for step in point.workload.steps for job, work in step.jobs()}

        def equivalent(phase: str, job: str) -> str:
            work = jobs[phase, job]
            storage = sweep.storage_of(point.workload, work)
            return command(point, work, storage=storage, inside=inside, launcher=launcher)

        of_plan = event if event["event"] == "amounts" else None
        made = case_entry(plan, of_plan, name, 1, equivalent, point=point.values)
        for phase in made.phases:
            for job in phase.jobs:
                work = jobs[phase.name, job.name]
                if of_plan is None:
                    job.operations = work.operations
                if work.train is not None:
                    job.utilisation_goal = work.train.utilisation
        return made

    return {
        (name, point): _Repeated(entry(name, point, plan, event), plan, event)
        for ((name, point), plan), event in zip(plans_of.items(), amounts_of.values(), strict=True)
    }


def _case(study: Study, repeated: _Repeated, case: str, repetition: int) -> Case:
    def with_its_command(job: JobEntry) -> JobEntry:
        return job.model_copy(update={"command": job.command.replace(_ANY_REPETITION, case)})

    phases = [
        phase.model_copy(update={"jobs": [with_its_command(job) for job in phase.jobs]})
        for phase in repeated.entry.phases
    ]
    entry = repeated.entry.model_copy(update={"id": case, "repetition": repetition, "phases": phases})
    plan: Plan = {**repeated.plan, "case": case, "seed": _seed(study.seed, case)}
    return Case(entry, plan, repeated.amounts)


def _names(points: Sequence[Point]) -> dict[Point, str]:
    """Names each point by every axis that is swept; clients always."""
    several_ranks = len({point.ranks_per_client for point in points}) > 1
    others = _other_names(points)
    named = {}
    for point in points:
        ranks = f".p{point.ranks_per_client:03}" if several_ranks else ""
        groups = f".g{point.groups:03}" if point.groups is not None else ""
        named[point] = f"c{point.clients:03}{ranks}{groups}{others[point.others]}"
    return named


def _other_names(points: Sequence[Point]) -> dict[Values, str]:
    """`.transfer-65536.depth-32` for the values of other axes; their number where that is too long or not unique."""
    conditions = list(dict.fromkeys(point.others for point in points))
    named = {
        values: "".join(f".{slug(axis, 'axis')}-{slug(str(value), 'value')}" for axis, value in values)
        for values in conditions
    }
    if len(set(named.values())) == len(conditions) and max(map(len, named.values())) <= LONGEST_POINT_NAME:
        return named
    return {values: f".s{number:04}" for number, values in enumerate(conditions, 1)}


def _seed(seed: int, of: str) -> int:
    """A seed of 64 bits for each case and order: they differ, and the same study does the same again."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{of}".encode(), digest_size=8).digest(), "little")

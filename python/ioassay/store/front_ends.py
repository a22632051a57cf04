"""The run that a front end of the engine left: `front-end.json` with the plan and the events of each case.

A front end (`ioassay-engine ior … --run DIR`) runs on compute nodes without Python, so it writes no `run.json` and no
tables. What it leaves is a run whose control plane has gone: this makes the document, and the process that opens the
run completes it from the logs, as with any run that was killed (`run_directory`).

Not: reading events, writing anything.
"""

from __future__ import annotations

import copy
import shlex
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import Field
from pydantic_core import ValidationError

from ioassay.plans import text as plan_text
from ioassay.plans.sizes import amounts
from ioassay.protocol.facts import PROTOCOL_VERSION, Tool
from ioassay.store import protocol
from ioassay.store.case_entry import case_entry, stored_plan
from ioassay.store.document import (
    CaseEntry,
    RunDocument,
    StudyEntry,
    TargetKind,
    WorkloadEntry,
)
from ioassay.store.kinds import FRONT_END
from ioassay.store.moments import moment
from ioassay.store.origin import FrontEndOrigin
from ioassay.store.point import CLIENTS, RANKS_PER_CLIENT
from ioassay.store.stored_directory import StoredDirectory
from ioassay.store.stored_types import Component, Count, StoredModel
from ioassay.store.summary import Summary
from ioassay.store.versions import damaged, parse
from ioassay.text.units import format_count
from ioassay.version import __version__

if TYPE_CHECKING:
    from ioassay.protocol.event import EventAmounts, EventError
    from ioassay.protocol.plan import Plan

MOST_BYTES = 256 << 20
"""The largest `front-end.json` or plan, which names every file that the command line asks for."""

MOST_NAMED = 10
"""Paths that may remain on the target and are reported one by one; the plan has all of them."""

_TITLES: Mapping[Tool, str] = {
    "ior": "IOR",
    "mdtest": "mdtest",
    "iozone": "IOzone",
    "obdfilter-survey": "obdfilter-survey",
    "io500": "IO500",
}


class _Case(StoredModel):
    """One case (`protocol.front_end.FrontEndCase`)."""

    id: Component
    workload: str
    repetition: Count


class _FrontEnd(StoredModel):
    """`front-end.json` (`protocol.front_end.FrontEnd`)."""

    version: int
    engine_version: str
    tool: Tool
    command: list[str]
    working_directory: str
    run: Component
    scale_down: Count = Field(ge=1)
    started_unix_ns: Count
    ended_unix_ns: Count | None = None
    exit_code: int | None = None
    cases: list[_Case]


def document(directory: StoredDirectory) -> RunDocument:
    """`run.json` of what a front end left, with every case that began as running: its events tell the end.

    Raises `UsageError` when `front-end.json` or a plan is damaged or of another version.
    """
    front_end = _read(directory)
    plans = {case.id: _plan(directory, case.id) for case in front_end.cases}
    try:
        return _document(front_end, plans, _amounts(directory, plans))
    except ValidationError as error:  # amounts that no run could have
        raise damaged(directory.path / FRONT_END, f"its plans are not valid: {protocol.reason(error)}") from error


def _amounts(directory: StoredDirectory, plans: Mapping[str, Plan | None]) -> Mapping[str, EventAmounts]:
    """The amounts of the plans of cases. Raises `UsageError` for one that is refused, `CannotRun` without an engine."""
    begun = {case: plan for case, plan in plans.items() if plan is not None}
    events = amounts(begun)
    # A plug-in that did the I/O need not be here, and changes nothing of what was done.
    elsewhere = {case: _by_posix(begun[case]) for case, event in events.items() if _is_of_storage(event)}
    amounts_of_cases = {}
    for case, event in (events | amounts(elsewhere)).items():
        if event["event"] == "error":
            refused = event.get("refused")
            wrong = f"{refused['key']}: {refused['problem']}" if refused else event["message"]
            raise damaged(directory.path / _plan_name(case), wrong)
        amounts_of_cases[case] = event
    return amounts_of_cases


def _is_of_storage(event: EventAmounts | EventError) -> bool:
    refused = event.get("refused") if event["event"] == "error" else None
    return refused is not None and "storage" in refused["key"].split(".")


def _by_posix(plan: Plan) -> Plan:
    """The plan with its I/O done by the storage API posix."""
    changed: Plan = copy.deepcopy(plan)
    changed["storage"] = {"api": "posix"}
    for step in changed["steps"]:
        for job in step["jobs"] if step["step"] == "phase" else []:
            job.pop("storage", None)
    return changed


def summary(directory: StoredDirectory) -> Summary:
    """The summary by `front-end.json` alone. Raises `UsageError` as `document`."""
    front_end = _read(directory)
    has_ended = front_end.ended_unix_ns is not None
    return Summary(
        name=front_end.run,
        origin="front-end",
        study=front_end.tool,
        target="",
        started=moment(front_end.started_unix_ns),
        state="running" if not has_ended else "complete" if front_end.exit_code == 0 else "ended",
    )


def _read(directory: StoredDirectory) -> _FrontEnd:
    return parse(
        directory.read(FRONT_END, MOST_BYTES),
        directory.path / FRONT_END,
        _FrontEnd,
        PROTOCOL_VERSION,
        "Use the ioassay that was installed with the engine.",
    )


def _document(
    front_end: _FrontEnd, plans: Mapping[str, Plan | None], of_plans: Mapping[str, EventAmounts]
) -> RunDocument:
    begun = [plan for plan in plans.values() if plan is not None]
    targets = [_target(plan) for plan in begun]
    return RunDocument(
        run=front_end.run,
        origin=FrontEndOrigin(tool=front_end.tool),
        study=_study(front_end, plans),
        cases=[_case(front_end, case, plans[case.id], of_plans.get(case.id)) for case in front_end.cases],
        target=", ".join(dict.fromkeys(place for _, place in targets)) or front_end.working_directory,
        target_kind=targets[0][0] if targets else "in-place",
        launcher="local",
        command=front_end.command,
        ioassay_version=__version__,
        engine_version=front_end.engine_version,
        state="failed" if front_end.exit_code and not front_end.cases else "running",
        started=moment(front_end.started_unix_ns),
        ended=None if front_end.ended_unix_ns is None else moment(front_end.ended_unix_ns),
    )


def may_remain(directory: StoredDirectory, case: str) -> list[str]:
    """Files that a killed case may have left at paths that the user named; empty where they were to be kept.

    The first `MOST_NAMED` paths, and how many more there are.
    """
    plan = _plan(directory, case)
    if plan is None or "in-place" not in plan["target"]:
        return []
    place = plan["target"]["in-place"]
    if place.get("keep"):
        return []
    paths = [path for files in place.get("files", {}).values() for path in files]
    paths += [path for tree in place.get("trees", {}).values() for path in tree["containers"]]
    more = len(paths) - MOST_NAMED
    names = directory.path / _plan_name(case)
    return paths[:MOST_NAMED] + ([f"and {more} more, which {names} names"] if more > 0 else [])


def _plan_name(case: str) -> str:
    return f"logs/{case}/plan.json"


def _plan(directory: StoredDirectory, case: str) -> Plan | None:
    """The plan of a case; `None` where the case ended before it was written as a whole.

    Raises `UsageError` for one that is no plan, or of another case.
    """
    name = _plan_name(case)
    try:
        content = directory.read(name, MOST_BYTES)
    except FileNotFoundError:
        return None
    return stored_plan(content, case, directory.path / name)


def _case(front_end: _FrontEnd, case: _Case, plan: Plan | None, of_plan: EventAmounts | None) -> CaseEntry:
    if plan is not None:
        command = shlex.join(front_end.command)
        entry = case_entry(plan, of_plan, case.workload, case.repetition, lambda phase, job: command)
        entry.state = "running"
        return entry
    # Killed, or out of space, before the plan was there.
    return CaseEntry(
        id=case.id,
        workload=case.workload,
        point={CLIENTS: 1, RANKS_PER_CLIENT: 1},
        repetition=case.repetition,
        file_set_bytes=0,
        written_bytes=0,
        phases=[],
        state="interrupted" if front_end.ended_unix_ns is None else "failed",
    )


def _target(plan: Plan) -> tuple[TargetKind, str]:
    """The kind of a plan's target, and its place."""
    target = plan["target"]
    if "in-place" in target:
        return "in-place", target["in-place"]["directory"]
    if "device" in target:
        return "device", target["device"]["path"]
    return ("url", target["url"]) if "url" in target else ("directory", target["directory"])


def _study(front_end: _FrontEnd, plans: Mapping[str, Plan | None]) -> StudyEntry:
    command = shlex.join(front_end.command)
    title = _TITLES[front_end.tool]
    # Repetitions of a workload have the same description.
    firsts: dict[str, Plan] = {}
    for case in front_end.cases:
        if (plan := plans[case.id]) is not None:
            firsts.setdefault(case.workload, plan)
    places = dict.fromkeys(place for _, place in map(_target, firsts.values()))
    return StudyEntry(
        name=front_end.tool,
        title=f"{title} on {', '.join(places)}" if places else title,
        question=command,
        source=None,
        scale=None if front_end.scale_down == 1 else f"1/{front_end.scale_down}: a trial, not the benchmark",
        settings={"working directory": front_end.working_directory, "amounts divided by": front_end.scale_down},
        text=command,
        method=_method(front_end, firsts),
        workloads=[
            WorkloadEntry(name=name, title=name) for name in dict.fromkeys(case.workload for case in front_end.cases)
        ],
        figures=[],
        summary=[],
        acceptance=[],
        scores="io500" if front_end.tool == "io500" else None,
    )


def _method(front_end: _FrontEnd, firsts: Mapping[str, Plan]) -> list[str]:
    """The method in sentences: of each workload the plan of its first case."""
    title = _TITLES[front_end.tool]
    sentences = [f"ioassay's engine did what the command line asks of {title}; {title} itself did not run."]
    if front_end.scale_down > 1:
        sentences.append(f"Amounts were divided by {front_end.scale_down}: this was a trial, not the benchmark.")
    sentences += [f"{name}: {sentence}." for name, plan in firsts.items() for sentence in plan_text.sets(plan)]
    often = Counter(case.workload for case in front_end.cases)
    sentences += plan_text.shared_once(
        [(name, f"is done by {_ranks(plan)}, {_times(often[name])}.") for name, plan in firsts.items()]
    )
    sentences += plan_text.shared_once([(name, plan_text.steps(plan)) for name, plan in firsts.items()])
    sentences += plan_text.shared_once(
        [(name, f"does its I/O through the {plan_text.storage(plan['storage'])}.") for name, plan in firsts.items()]
    )
    sentences.append(plan_text.BARRIERS)
    sentences += [
        plan_text.recording(interval) for interval in {plan["sample_interval_ns"] for plan in firsts.values()}
    ]
    return sentences


def _ranks(plan: Plan) -> str:
    clients, each = plan["ranks"]["clients"], plan["ranks"]["per_client"]
    ranks = format_count(clients * each, "rank")
    return f"{ranks} on one client" if clients == 1 else f"{ranks} on {clients} clients"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"

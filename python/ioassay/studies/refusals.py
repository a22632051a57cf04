"""What the engine refuses of a plan, with the line of the study.

The engine judges plans (`crates/engine/src/plan/validate.rs`, `crates/engine/src/work`) and names the plan's key. Here
that key is followed back to where the study says it.

Not here: what a study may not say before there is a plan (`studies.model`, `studies.sweep`, `studies.check_steps`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs

from ioassay.launchers import DEFAULT
from ioassay.store.document import CaseEntry
from ioassay.store.point import PLACEMENT
from ioassay.studies.cases import Case, expand
from ioassay.studies.files import FileSet
from ioassay.studies.model import Workload
from ioassay.studies.resolve import ResolvedStudy
from ioassay.studies.shorthand import DATA
from ioassay.studies.steps import VERBS
from ioassay.studies.sweep import Point
from ioassay.studies.target import Target
from ioassay.text.units import format_count
from ioassay.yaml_models.source import Problem, SourceError

if TYPE_CHECKING:
    from ioassay.protocol.event import EventError

_Keys = tuple[str | int, ...]

_OF_FILES: Mapping[str, str] = {
    "layout": "groups",
    "transfer_bytes": "transfer",
    "offset_bytes": "offset",
    "payload": "payload",
    "ranks": "ranks",
}
"""Keys of a plan's file set, as a study has them. The others follow from its size."""

_OF_TREE: Mapping[str, str] = {"items_per_directory": "items", "items": "of", "sizes": "size"}
"""Keys of a plan's tree or dataset that a study calls otherwise."""

_OF_STEP: Mapping[str, _Keys] = {
    "duration_ns": ("pause",),
    "attempts": ("cold-cache", "methods"),
    "hooks": ("cold-cache", "hooks"),
    "remount": ("cold-cache", "remount"),
}
"""Keys of a plan's step that is no phase."""

_OF_JOB: Mapping[str, _Keys] = {
    "work.operation.bytes": ("bytes",),
    "work.operation.write_bytes": ("bytes",),
    "work.operation.with": ("using",),
    "work.operation.fsync": ("fsync",),
    "work.operation.compute_ns": ("compute",),
    "work.operation.compute_times": ("compute",),
    "work.operation.samples": ("samples",),
    "work.operation.read_bytes": ("read",),
    "work.operation.sync_steps": ("sync",),
    "work.operation.batch": ("batch",),
    "work.operation.prefetch": ("prefetch",),
    "work.operation.loader_threads": ("loader_threads",),
    "work.operation.every_ns": ("every",),
    "work.operation.count": ("count",),
    "work.operation.shift": ("shift",),
    "work.operation.rename": ("rename",),
    "work.operation.background": ("background",),
    "work.transfer_bytes": ("transfer",),
    "work.operation": (),
    "work.contexts.count": ("contexts",),
    "work.contexts.tokens": ("context_tokens",),
    "work.contexts.exponent": ("popularity",),
    "work.prefill_tokens_per_s": ("prefill",),
    "work.decode_tokens_per_s": ("decode",),
    "work.think_ns": ("think",),
    "work.first_token_deadline_ns": ("first_token",),
    "work.token_deadline_ns": ("each_token",),
    "work.transfer.mixed": ("read",),
    "work.transfer": (),
    "work.source": ("read_from",),
    "work.root": ("root",),
    "work.name": ("named",),
    "work.size_bytes": ("exactly",),
    "work.at_least_bytes": ("at_least",),
    "work.at_most_bytes": ("at_most",),
    "work.newer_than_step": ("newer_than",),
    "work.duration_ns": ("duration",),
    "work.order": ("order",),
    "work.fsync": ("fsync",),
    "limit.bytes_per_rank": ("limit", "bytes"),
    "limit.operations_per_rank": ("limit", "operations"),
    "limit.at_rate_of.step": ("limit", "at_rate_of", "phase"),
    "limit.at_rate_of.duration_ns": ("limit", "at_rate_of", "time"),
    "limit.stonewall_ns": ("limit", "stonewall"),
    "limit.minimum_ns": ("limit", "minimum"),
    "storage.uncached": ("storage", "cache"),
    "rate": ("rate",),
    "think": ("think",),
    "ranks": (),
}
"""Keys of a plan's job that a study calls otherwise, the longer ones first. The rest of a key is left out."""

_OF_RUNTIME: Collection[_Keys] = (("limit", "stonewall"), ("limit", "minimum"))
"""What a study's `runtime` is in a plan."""

_OF_STREAM: Mapping[str, str] = {"bytes": "file_size", "file_bytes": "file_size"}
"""Keys of a plan's stream that a study calls otherwise."""


def refuse(resolved: ResolvedStudy) -> None:
    """Refuses what the engine refuses of a plan of each point of the sweep, whatever the target can do.

    Raises `SourceError` with what is refused, and `CannotRun` where the engine cannot be asked.
    """
    refuse_cases(resolved, expand(resolved, "check", Target("directory", "/"), DEFAULT))


def refuse_cases(resolved: ResolvedStudy, cases: Sequence[Case]) -> None:
    """Refuses what the engine refuses of these cases, whatever the target can do. Raises `SourceError`."""
    errors = [
        (case.entry, case.amounts) for case in cases if case.amounts["event"] == "error" and case.entry.repetition == 1
    ]
    if problems := problems_of(resolved, errors):
        raise SourceError(problems)


def problems_of(resolved: ResolvedStudy, errors: Sequence[tuple[CaseEntry, EventError]]) -> list[Problem]:
    """What the engine's errors about plans of these cases say of the study; none where it is the target's.

    Where it does not refuse all points of a workload, the message has the values for which it does.
    """
    refused: dict[tuple[str, Problem], list[CaseEntry]] = {}
    for case, error in errors:
        for problem in _problem(resolved, case, error):
            refused.setdefault((case.workload, problem), []).append(case)
    problems = (
        structs.replace(problem, wrong=f"{problem.wrong}{_with(resolved.points[workload], cases)}{_smaller(others)}")
        for (workload, problem), cases, others in _by_ranks(refused)
    )
    return list(dict.fromkeys(problems))


_Refused = tuple[str, Problem]
"""The workload, and what is wrong with it."""


def _by_ranks(
    refused: Mapping[_Refused, list[CaseEntry]],
) -> Iterator[tuple[_Refused, list[CaseEntry], int]]:
    """Problems with their cases. Of those that differ in nothing but numbers, for other numbers of ranks, that of the
    most ranks stands for all, with how many it stands for: what suits these suits the others.
    """
    alike: dict[tuple[object, ...], list[_Refused]] = {}
    for key, cases in refused.items():
        workload, problem = key
        others = tuple((axis, value) for axis, value in cases[0].point.items() if axis not in PLACEMENT)
        texts = (re.sub(r"\d+", "#", text) for text in (problem.wrong, problem.meant))
        alike.setdefault((workload, problem.origin, *texts, others), []).append(key)
    for keys in alike.values():
        by_ranks = {key: {case.clients * case.ranks_per_client for case in refused[key]} for key in keys}
        if len(keys) > 1 and len(set.union(*by_ranks.values())) == len(keys):
            most = max(keys, key=lambda key: max(by_ranks[key]))
            yield most, refused[most], len(keys) - 1
        else:
            yield from ((key, refused[key], 0) for key in keys)


def _smaller(others: int) -> str:
    """` and 3 smaller numbers of ranks`."""
    return f" and {format_count(others, 'smaller number')} of ranks" if others else ""


def _with(points: Sequence[Point], cases: Sequence[CaseEntry]) -> str:
    """`, with depth 8`: the values of the first of `cases` on the axes that tell these from the other `points`."""
    if len({case.sweep_point for case in cases}) == len(points):
        return ""
    first = cases[0].point
    values_by_axis = {axis: {point.values[axis] for point in points} for axis in first}
    refused = {axis: {case.point[axis] for case in cases} for axis in first}
    telling = [axis for axis in first if refused[axis] < values_by_axis[axis]]
    telling = telling or [axis for axis in first if len(values_by_axis[axis]) > 1]
    return f", with {', '.join(f'{axis} {first[axis]}' for axis in telling)}"


def _problem(resolved: ResolvedStudy, case: CaseEntry, error: EventError) -> Iterator[Problem]:
    refused, variant = error.get("refused"), resolved.variant(case)
    path = _path(variant.workload, case.workload, refused["key"]) if refused else None
    if refused is None or path is None:
        return
    origin, key = variant.origin_of(*path), str(path[-1])
    # What a study leaves out has no line of its own.
    is_written = re.sub(r"\[\d+\]$", "", origin.key).endswith(key) or key in VERBS or not origin.key
    wrong = refused["problem"] if is_written else f"`{key}`: {refused['problem']}"
    yield origin.problem(*(_as_written(variant.workload, text) for text in (wrong, error["remedy"])))


def _as_written(workload: Workload, text: str) -> str:
    """With what a study calls the keys of a plan."""
    text = re.sub(r"\bfiles\.([^. ]+)\.([a-z_]+)", partial(_key_of_files, workload), text)
    for key, called in _OF_JOB.items():
        if key.startswith("limit."):
            text = text.replace(key, ".".join(map(str, called)))
    text = text.replace("rate.operations_per_s", "a rate in IOPS").replace("storage.plugin", "`api`")
    return text.replace("drop_last: false", "`drop_last: no`")


def _key_of_files(workload: Workload, match: re.Match[str]) -> str:
    name, key = match.groups()
    called = _of_files(workload.files[name], key)
    return f"`{called}`" if name == DATA else f"`{name}.{called}`"


def _of_files(files: FileSet, key: str) -> str:
    """What a study calls a key of a plan's file set."""
    return _OF_FILES.get(key, files.size_key)


def _path(workload: Workload, name: str, key: str) -> _Keys | None:
    """The keys that lead to what stands at `key` in a plan; `None` for what no study says, such as the target."""
    match re.findall(r"[^.\[\]]+", key):
        case ["storage", "plugin"]:  # a study names a plug-in as it names every API
            return ("workloads", name, "storage", "api")
        case ["storage", "uncached"]:
            return ("workloads", name, "storage", "cache")
        case ["storage", *option]:
            return ("workloads", name, "storage", *option)
        case ["sample_interval_ns"]:
            return ("sample_interval",)
        case ["ranks" | "files" | "trees" | "datasets" | "checkpoints" | "steps" as what, *inner]:
            return ("workloads", name, *_within(workload, what, inner))
    return None


def _within(workload: Workload, what: str, inner: Sequence[str]) -> _Keys:
    """The keys that lead from a workload to what a plan has at `what` and `inner`."""
    match what, *inner:
        case ("files",):
            name, files = next(iter(workload.files.items()))
            return ("files", name, files.size_key)
        case "files", name, *key:
            return ("files", name, *(_of_files(workload.files[name], first) for first in key[:1]))
        case "trees" | "datasets" | "checkpoints", name, *key:
            return (what, name, *(_OF_TREE.get(first, first) for first in key[:1]))
        case "steps", step, "jobs", job, *key:
            within = _of_stream(workload, step, key) or _inside(".".join(key))
            if within in _OF_RUNTIME and _has_runtime(workload, int(step), int(job)):
                within = ("limit", "runtime")
            return (*_job(workload, int(step), int(job)), *within)
        case "steps", step, *key:
            return ("steps", int(step), *(_OF_STEP.get(key[0], ()) if key else ()))
    return ("steps",) if what == "steps" else ("clients",)


def _job(workload: Workload, step: int, job: int) -> _Keys:
    """The keys that lead to a job, its verb the last."""
    written = workload.steps[step]
    name, work = [*written.jobs()][job]
    beside: _Keys = ("together", "jobs", name) if written.together is not None else ()
    return ("steps", step, *beside, str(work.verb))


def _has_runtime(workload: Workload, step: int, job: int) -> bool:
    """True if the study gives the runtime of a job, which a plan has as its stonewall and its minimum."""
    _, work = [*workload.steps[step].jobs()][job]
    return work.phase is not None and work.phase.limit is not None and work.phase.limit.runtime is not None


def _of_stream(workload: Workload, step: str, key: Sequence[str]) -> _Keys:
    """The keys that lead from a replay to what a plan says of one of its streams; none for other keys."""
    replay = workload.steps[int(step)].replay
    match key:
        case "work", "streams", stream, *inner if replay is not None:
            named = [_OF_STREAM.get(part, part) for part in inner if part != "operation"]
            return ("streams", int(stream), replay.streams[int(stream)].verb, *named[:1])
    return ()


def _inside(key: str) -> _Keys:
    """What a job's key is called in a study."""
    for known, called in _OF_JOB.items():
        if key == known or key.startswith(f"{known}."):
            return called
    return () if key in ("", "work") else tuple(key.removeprefix("work.").split("."))

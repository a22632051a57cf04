"""What a case is to do, told from its plan alone: the entry in `run.json` of studies and front ends alike.

The amounts are those of the engine's `Sizes` (`crates/engine/src/plan/sizes.rs`), counted here too because a stored
directory of a front end has its plan and no engine; `tests/test_agreement.py` compares them with what the engine says
and does. They are what is done when nothing stops it early, in one pass over each file set. Under a stonewall that is
the most there can be, under a minimum time the least.

Not: where a plan comes from, what of it was done (`ingest`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from pydantic_core import ValidationError

from ioassay.errors import UsageError
from ioassay.protocol.facts import REPLACEMENT
from ioassay.store import protocol
from ioassay.store.document import CaseEntry, JobEntry, Operation, PhaseEntry, TransferOrder
from ioassay.store.point import CLIENTS, RANKS_PER_CLIENT
from ioassay.store.replay_sizes import Replayed, replayed, replayed_operations, written_bytes_each
from ioassay.store.stored_struct import LARGEST
from ioassay.store.versions import damaged

if TYPE_CHECKING:
    from ioassay.protocol.plan import (
        EntryOrder,
        FileSet,
        Job,
        MetadataOperation,
        Order,
        Payload,
        Plan,
        RankCount,
        Step,
        Storage,
        Tree,
        Work,
        WorkReplay,
    )

    class Contents(TypedDict):
        """What of a plan its amounts and its description follow from."""

        storage: Storage
        ranks: RankCount
        files: NotRequired[dict[str, FileSet]]
        trees: NotRequired[dict[str, Tree]]
        steps: list[Step]


@dataclass(frozen=True)
class Shape:
    """What follows from a tree's description and from how many ranks it is made for."""

    trees: int
    """Trees of directories."""
    directories: int
    """Of each tree, its root included. Of a tree too large to count, only that it is."""
    parts: int
    """Each has items of its own."""
    items_per_part: int

    @classmethod
    def of(cls, tree: Tree, ranks: int) -> Shape:
        """The shape of a plan's tree in a case of `ranks` ranks."""
        made_for = _count(tree, ranks)
        depth, branch = tree["depth"], tree["branch"]
        directories, leaves = (1, 1) if branch > 1 else (1 + depth * branch, branch if depth else 1)
        for _ in range(depth if branch > 1 else 0):
            leaves *= branch
            directories += leaves
            if directories > LARGEST:
                break
        return cls(
            trees=made_for if tree["sharing"] == "unique" else 1,
            directories=directories,
            parts=1 if tree["sharing"] == "shared-items" else made_for,
            items_per_part=(leaves if tree["leaves_only"] else directories) * tree["items_per_directory"],
        )

    @property
    def items(self) -> int:
        """Of all parts."""
        return self.parts * self.items_per_part


def case_entry(
    plan: Plan,
    workload: str,
    repetition: int,
    command: Callable[[str, str], str],
    point: Mapping[str, int | str] | None = None,
) -> CaseEntry:
    """The case of `plan`, at `point` of a sweep, or else at its clients and ranks.

    `command` gives the equivalent command line of the job of a phase, both by name.
    What is more than a table can hold is the largest that it can: the engine has yet to refuse the plan of a study, and
    `stored_plan` refuses others. Raises `UsageError` for what else no run can have.
    """
    try:
        return _case_entry(plan, workload, repetition, command, point or _placement(plan))
    except ValidationError as error:
        raise UsageError(f"The case {plan['case']}: {protocol.reason(error)}.", "Make the case smaller.") from error


def unfitting(plan: Plan) -> str | None:
    """Where a plan that has the shape of the protocol does not fit together; `None` where it does."""
    phases = [step if step["step"] == "phase" else None for step in plan["steps"]]
    files, trees = plan.get("files", {}), plan.get("trees", {})
    if any(entry["transfer_bytes"] == 0 for entry in files.values()):
        return "its transfers move nothing"
    for job in _jobs(plan):
        work = job["work"]
        if work["kind"] == "data" and work["files"] not in files:
            return f"it has no file set {work['files']}"
        for tree in _trees_of(work):
            if tree not in trees:
                return f"it has no tree {tree}"
        rate_of = job.get("limit", {}).get("at_rate_of")
        earlier = [
            rate_of["step"] if rate_of else None,
            work.get("newer_than_step") if work["kind"] == "find" else None,
        ]
        if any(step is not None and (step >= len(phases) or phases[step] is None) for step in earlier):
            return "it refers to a phase that does not exist"
    if max(_amounts(plan)) > LARGEST:
        return "its amounts are more than a table can hold"
    return None


def _trees_of(work: Work) -> list[str]:
    """The trees that a job names."""
    match work["kind"]:
        case "data":
            return []
        case "metadata":
            return [work["tree"]]
        case "find":
            return [tree] if (tree := work.get("tree")) is not None else []
        case "replay":
            return [stream["tree"] for stream in work["streams"]]


def _amounts(plan: Plan) -> Iterator[int]:
    """Bytes and operations of a plan, so many that no amount of its case is larger."""
    yield _file_set_bytes(plan)
    for job in _jobs(plan):
        if job["work"]["kind"] == "replay":
            done = _replayed(plan, job["work"])
            yield sum(done.operations.values())
            yield sum(done.moved_bytes.values())
        steps = _steps(plan, job)
        yield steps * len(REPLACEMENT)
        yield steps * 2 * _bytes_each_of(plan, job)
    yield _written_bytes(plan)


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


def _case_entry(
    plan: Plan,
    workload: str,
    repetition: int,
    command: Callable[[str, str], str],
    point: Mapping[str, int | str],
) -> CaseEntry:
    return CaseEntry(
        id=plan["case"],
        workload=workload,
        point=dict(point),
        repetition=repetition,
        file_set_bytes=_counted(_file_set_bytes(plan)),
        written_bytes=_counted(_written_bytes(plan)),
        phases=[
            PhaseEntry(
                name=step["name"],
                jobs=[_entry(plan, job, command(step["name"], job["name"])) for job in step["jobs"]],
            )
            for step in plan["steps"]
            if step["step"] == "phase"
        ],
    )


def _counted(amount: int) -> int:
    """As much of it as a table can hold."""
    return min(amount, LARGEST)


def _file_set_bytes(plan: Contents) -> int:
    """Size of all files of a case, and of what its items hold."""
    ranks = _ranks(plan)
    held = dict.fromkeys(plan.get("trees", {}), 0)
    for job in _jobs(plan):
        work = job["work"]
        if work["kind"] == "metadata" and _writes(work):
            held[work["tree"]] = max(held[work["tree"]], bytes_each(work["operation"]))
        elif work["kind"] == "replay":
            for tree, each in written_bytes_each(work):
                held[tree] = max(held[tree], each)
    in_trees = sum(Shape.of(plan["trees"][name], ranks).items * each for name, each in held.items())
    return in_trees + sum(_size(files, ranks) for files in plan.get("files", {}).values())


def _written_bytes(plan: Contents) -> int:
    """What all phases of a case write together in one pass."""
    written = sum(_steps(plan, job) * _bytes_each_of(plan, job) for job in _jobs(plan) if _writes(job["work"]))
    replays = (job["work"] for job in _jobs(plan))
    return written + sum(
        _replayed(plan, work).moved_bytes.get("write", 0) for work in replays if work["kind"] == "replay"
    )


def is_walled(plan: Contents) -> bool:
    """True if a stonewall, or the rate of an earlier job, may end something before all of it is written."""
    ends = {"stonewall_ns", "at_rate_of"}
    return any(not ends.isdisjoint(job.get("limit", {})) and _writes(job["work"]) for job in _jobs(plan))


def writes_again(plan: Contents) -> bool:
    """True if a minimum time may let something be written more than once."""
    return any(_begins_again(plan, job) and _writes(job["work"]) for job in _jobs(plan))


def _begins_again(plan: Contents, job: Job) -> bool:
    """True if ranks that have done all their work have time left, and are allowed to do more."""
    limit, work = job.get("limit", {}), job["work"]
    if limit.get("minimum_ns") is None or work["kind"] != "data":
        return False
    files = plan["files"][work["files"]]
    part = _part(files)
    most = [limit.get("bytes_per_rank"), (limit.get("operations_per_rank") or 0) * files["transfer_bytes"] or None]
    return all(one is None or one > part for one in most)


def _ranks(plan: Contents) -> int:
    return plan["ranks"]["clients"] * plan["ranks"]["per_client"]


def _count(part: FileSet | Tree | Job, ranks: int) -> int:
    """How many ranks a file set or tree is made for, or do a job."""
    some = part.get("ranks")
    return some["count"] if some else ranks


def _jobs(plan: Contents) -> Iterator[Job]:
    for step in plan["steps"]:
        if step["step"] == "phase":
            yield from step["jobs"]


def _replayed(plan: Contents, work: WorkReplay) -> Replayed:
    """What all ranks do in a replay."""
    ranks = _ranks(plan)
    items = {name: Shape.of(tree, ranks).items for name, tree in plan.get("trees", {}).items()}
    return replayed(work, items, ranks)


def _replay_entry(plan: Plan, job: Job, work: WorkReplay, command: str) -> JobEntry:
    done, storage, ranks = _replayed(plan, work), job.get("storage") or plan["storage"], _ranks(plan)
    return JobEntry(
        name=job["name"],
        operations=_operations_of(work),
        ranks=_count(job, ranks),
        file_set="",
        layout="",
        order="replayed",
        files=0,
        transfer_bytes=None,
        file_set_bytes=0,
        planned_operations=_counted(sum(done.operations.values())),
        planned_bytes=_counted(sum(done.moved_bytes.values())),
        sizes={name: sorted(own.items()) for name, own in done.sizes.items()},
        orders={name: TransferOrder.model_validate(own) for name, own in done.orders.items()},
        api=storage["api"],
        direct=storage.get("direct", False),
        uncached=storage.get("uncached"),
        depth=storage.get("depth", 1),
        command=command,
    )


def _entry(plan: Plan, job: Job, command: str) -> JobEntry:
    work, ranks = job["work"], _ranks(plan)
    if work["kind"] == "replay":
        return _replay_entry(plan, job, work, command)
    operations, steps = _operations_of(work), _steps(plan, job)
    # Of an item that is replaced the old one is read and the new one written.
    moves = 2 if _replaces(work) else 1
    entry: dict[str, Any] = {
        "name": job["name"],
        "operations": operations,
        "ranks": _count(job, ranks),
        "order": "sequential" if work["kind"] == "find" else order_text(work["order"]),
        "planned_operations": _counted(steps * (len(operations) if _replaces(work) else 1)),
        "planned_bytes": _counted(steps * moves * _bytes_each_of(plan, job)),
        "fsync": _fsync_text(work),
        "command": command,
        **_pace(job),
    }
    storage = job.get("storage") or plan["storage"]
    if work["kind"] != "find":
        entry |= {
            "api": storage["api"],
            "direct": storage.get("direct", False),
            "uncached": storage.get("uncached"),
            "depth": storage.get("depth", 1),
        }
    if work["kind"] == "data":
        files = plan["files"][work["files"]]
        return JobEntry(
            **entry,
            file_set=work["files"],
            layout=files["layout"] if isinstance(files["layout"], str) else "N-M",
            files=_counted(_groups(files, ranks) * files["files_per_rank"]),
            transfer_bytes=files["transfer_bytes"],
            payload=payload_text(files["payload"]),
            file_set_bytes=_counted(_size(files, ranks)),
        )
    if work["kind"] == "metadata":
        tree, each = plan["trees"][work["tree"]], bytes_each(work["operation"])
        return JobEntry(
            **entry,
            file_set=work["tree"],
            layout=tree["sharing"],
            files=0,
            transfer_bytes=each or None,
            payload=_item_payload(tree) if each else None,
            file_set_bytes=_counted(Shape.of(tree, ranks).items * each),
        )
    return JobEntry(**entry, file_set="", layout="", files=0, transfer_bytes=None, file_set_bytes=0)


def _pace(job: Job) -> dict[str, int]:
    """The rate and the pauses that the plan sets for a job, as `JobEntry` has them."""
    pace: dict[str, int] = {}
    match job.get("rate"):
        case {"bytes_per_s": int(given)}:
            pace["rate_bytes_per_s"] = given
        case {"operations_per_s": int(given)}:
            pace["rate_operations_per_s"] = given
    if think := job.get("think"):
        pace["think_ns"] = think["duration_ns"]
    return pace


def _operations_of(work: Work) -> list[Operation]:
    """What a job's operations do: a measurement for each."""
    match work["kind"]:
        case "data":
            return [work["transfer"]] if isinstance(work["transfer"], str) else ["read", "write"]
        case "metadata":
            kind = work["operation"]["kind"]
            return [*REPLACEMENT] if kind == "replace" else [kind]
        case "find":
            return ["find"]
        case "replay":
            return replayed_operations(work)


def _replaces(work: Work) -> bool:
    return work["kind"] == "metadata" and work["operation"]["kind"] == "replace"


def _steps(plan: Contents, job: Job) -> int:
    """Transfers that the ranks of a job move together, or items that they work on; 0 for a walk, which finds what
    there is, and for a replay (`_replayed`).
    """
    work, limit, ranks = job["work"], job.get("limit", {}), _ranks(plan)
    if work["kind"] == "find" or work["kind"] == "replay":
        return 0
    most = limit.get("operations_per_rank")
    if work["kind"] == "data":
        files = plan["files"][work["files"]]
        most_bytes = limit.get("bytes_per_rank")
        part = _part(files) if most_bytes is None else min(_part(files), most_bytes)
        each = part // files["transfer_bytes"]
        return min(each, most or each) * _count(job, ranks)
    tree, verb = plan["trees"][work["tree"]], work["operation"]["kind"]
    shape = Shape.of(tree, ranks)
    if verb in ("create-tree", "remove-tree"):
        return shape.directories * shape.trees
    # Of shared items one rank renames and removes each; in everything else all ranks do all of them.
    workers = 1 if tree["sharing"] == "shared-items" and verb in ("rename", "remove") else _count(job, ranks)
    if most is not None and _replaces(work):
        most = -(-most // len(_operations_of(work)))
    return min(shape.items_per_part, most or shape.items_per_part) * workers


def _writes(work: Work) -> bool:
    if work["kind"] == "data":
        return work["transfer"] != "read"
    return work["kind"] == "metadata" and work["operation"]["kind"] in ("create", "write", "replace")


def _bytes_each_of(plan: Contents, job: Job) -> int:
    """Bytes that one operation of a job moves."""
    work = job["work"]
    match work["kind"]:
        case "data":
            return plan["files"][work["files"]]["transfer_bytes"]
        case "metadata":
            return bytes_each(work["operation"])
        case "find" | "replay":
            return 0


def bytes_each(operation: MetadataOperation) -> int:
    """Bytes that a job moves into or out of each item."""
    match operation["kind"]:
        case "create":
            return operation["write_bytes"]
        case "read" | "write" | "replace":
            return operation["bytes"]
        case _:
            return 0


def _groups(files: FileSet, ranks: int) -> int:
    """Groups of ranks that share files; as many as ranks where each has its own."""
    layout = files["layout"]
    if not isinstance(layout, str):
        return layout["N-M"]
    return 1 if layout == "N-1" else _count(files, ranks)


def _part(files: FileSet) -> int:
    """What one rank has in all its files, in bytes."""
    return files["files_per_rank"] * files["segments"] * files["block_bytes"]


def _size(files: FileSet, ranks: int) -> int:
    """Of all files of a file set together, in bytes, without the shift at their beginning."""
    return _part(files) * _count(files, ranks)


def order_text(order: Order | EntryOrder) -> str:
    """A plan's order as studies spell it: `strided 4`, `hot-spot 10% 90%`. What IOR's are drawn from is left out."""
    if isinstance(order, str):
        return order
    if "strided" in order:
        return f"strided {order['strided']}"
    if "zipf" in order:
        return f"zipf {order['zipf']:g}"
    if "hot-spot" in order:
        spot = order["hot-spot"]
        return f"hot-spot {spot['transfers_percent']}% {spot['operations_percent']}%"
    return "ior-shuffled" if "ior-shuffled" in order else "ior-drawn"


def payload_text(payload: Payload) -> str:
    """A plan's payload as studies spell it, `reducible 50% 20%`; without the signature of IOR's."""
    if payload["kind"] == "reducible":
        return f"reducible {payload['zero_percent']}% {payload['duplicate_percent']}%"
    return payload["kind"]


def _item_payload(tree: Tree) -> str:
    """What a tree's items hold. A plan names only what can be verified; other items are random bytes, none twice."""
    payload = tree.get("payload")
    return payload_text(payload) if payload else "unique"


def _fsync_text(work: Work) -> str | None:
    """When a job forces what it changes to stable storage, as studies spell it; `None` where it changes nothing."""
    if work["kind"] == "data" and _writes(work):
        when = work["fsync"]
        return when if isinstance(when, str) else f"every {when['every-writes']} writes"
    if work["kind"] == "metadata" and work["operation"]["kind"] not in ("stat", "read"):
        if work["operation"].get("fsync"):
            return "at-close"
        return "at-end" if work.get("sync_at_end") else "never"
    return None

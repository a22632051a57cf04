"""The parts of the engine's plan that follow from a workload: its storage, its file sets, its trees, its steps.

Keys that ask for nothing are left out, as the protocol wants it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from ioassay.studies import spelling, sweep
from ioassay.studies.checkpoint import RestoreCheckpoint, SaveCheckpoint
from ioassay.studies.kv_cache import KvCache
from ioassay.studies.model import Workload
from ioassay.studies.steps import Limit, Mixed, Phase, Step, Work
from ioassay.studies.sweep import Placed, Point, RankRange
from ioassay.studies.train import CreateDataset, Train

if TYPE_CHECKING:
    from ioassay.plans.sizes import Contents
    from ioassay.protocol import plan


def work(point: Point) -> Contents:
    """All that a case does: `files`, `trees`, `datasets` and `checkpoints` only where there are any."""
    workload = point.workload
    ranges = sweep.rank_ranges(point)
    made: Contents = {
        "storage": workload.storage.plan(),
        "ranks": {"clients": point.clients, "per_client": point.ranks_per_client},
        "steps": [_step(point, step) for step in workload.steps],
    }
    if files := {name: _file_set(placed, point) for name, placed in sweep.placed(point).items()}:
        made["files"] = files
    if trees := {name: tree.plan() for name, tree in workload.trees.items()}:
        made["trees"] = trees
        for name, tree in trees.items():
            _share(tree, ranges[name], point)
    if datasets := {name: dataset.plan() for name, dataset in workload.datasets.items()}:
        made["datasets"] = datasets
    if checkpoints := {name: checkpoint.plan() for name, checkpoint in workload.checkpoints.items()}:
        made["checkpoints"] = checkpoints
    return made


def _share(part: plan.FileSet | plan.Tree | plan.Job, ranks: RankRange, point: Point) -> None:
    """Says for which ranks `part` is, where that is not all of them."""
    if ranks.count != point.ranks:
        part["ranks"] = {"first": ranks.first, "count": ranks.count}


def _file_set(placed: Placed, point: Point) -> plan.FileSet:
    spec = placed.files_of
    made: plan.FileSet = {
        "layout": {"N-M": placed.groups or 1} if spec.layout == "N-M" else spec.layout,
        "files_per_rank": spec.files_per_rank,
        "transfer_bytes": spec.transfer,
        "block_bytes": placed.block_bytes,
        "segments": placed.segments,
        "payload": spelling.payload_plan(spec.payload),
    }
    _share(made, placed.ranks, point)
    if spec.offset:
        made["offset_bytes"] = spec.offset
    return made


def _step(point: Point, step: Step) -> plan.Step:
    if step.cold_cache is not None:
        return step.cold_cache.plan()
    if step.pause is not None:
        return {"step": "pause", "duration_ns": step.pause}
    jobs = [_job(point, name, work) for name, work in step.jobs()]
    assert step.name is not None  # of a phase
    made: plan.StepPhase = {"step": "phase", "name": step.name, "jobs": jobs}
    if any(sweep.settles(point.workload, work) for _, work in step.jobs()):
        made["settle"] = True
    return made


def _job(point: Point, name: str, work: Work) -> plan.Job:
    workload, phase = point.workload, work.body
    if isinstance(phase, CreateDataset | Train):
        return _on_dataset(workload, name, phase)
    if isinstance(phase, KvCache):
        return _on_objects(point, name, phase)
    if isinstance(phase, SaveCheckpoint | RestoreCheckpoint):
        of, *_ = workload.checkpoints  # checked before: it is named where there are several
        return {"name": name, "work": phase.plan(phase.checkpoint or of)}
    if not isinstance(phase, Phase):
        return {"name": name, "work": phase.plan(partial(_index, workload))}
    on = sweep.works_on(workload, work)
    assert on is not None  # checked before
    on_files = on in workload.files
    job: plan.Job = {
        "name": name,
        "work": _data(workload, work, phase, on) if on_files else _metadata(workload, work, phase, on),
    }
    _share(job, sweep.rank_ranges(point)[on], point)
    if phase.storage is not None:
        job["storage"] = phase.storage.plan()
    if phase.limit is not None and (limit := _limit(workload, phase.limit)):
        job["limit"] = limit
    if phase.rate is not None:
        job["rate"] = spelling.rate_plan(phase.rate)
    if phase.think is not None:
        job["think"] = spelling.think_plan(phase.think)
    return job


def _on_dataset(workload: Workload, name: str, step: CreateDataset | Train) -> plan.Job:
    only, *_ = workload.datasets  # checked before: it is named where there are several
    job: plan.Job = {"name": name, "work": step.plan(step.dataset or only)}
    if isinstance(step, CreateDataset) and workload.storage.direct:
        # Files of any size cannot be written past the page cache.
        job["storage"] = workload.storage.model_copy(update={"direct": False}).plan()
    return job


def _on_objects(point: Point, name: str, step: KvCache) -> plan.Job:
    only, *_ = point.workload.files  # checked before: it is named where there are several
    files = step.files or only
    placed = sweep.placed(point)[files]
    job: plan.Job = {"name": name, "work": step.plan(files, placed.block_bytes * placed.segments)}
    _share(job, sweep.rank_ranges(point)[files], point)
    job["limit"] = step.limit()
    return job


def _data(workload: Workload, work: Work, phase: Phase, on: str) -> plan.WorkData:
    made: plan.WorkData = {
        "kind": "data",
        "files": on,
        "transfer": _transfer(work, phase),
        "order": spelling.ORDER.plan(sweep.order_of(workload, work)),
        "fsync": spelling.FSYNC.plan(sweep.fsync_of(workload, work)),
    }
    if phase.verify is not None:
        made["verify"] = phase.verify
    if phase.size is not None:
        made["size"] = phase.size
    if phase.lock is not None:
        made["lock"] = phase.lock
    if phase.advice:
        made["advice"] = [*phase.advice]
    if phase.barriers:
        made["barriers"] = True
    if phase.read_from not in (None, "own"):
        made["source"] = spelling.SOURCE.plan(phase.read_from)
    return made


def _transfer(work: Work, phase: Phase) -> plan.Transfer:
    if isinstance(phase, Mixed):
        return {"mixed": phase.read}
    assert work.verb in ("write", "read")  # the others go with trees
    return work.verb


def _metadata(workload: Workload, work: Work, phase: Phase, on: str) -> plan.WorkMetadata:
    when = sweep.fsync_of(workload, work)
    made: plan.WorkMetadata = {
        "kind": "metadata",
        "tree": on,
        "operation": _operation(work, phase, fsync=when == "at-close"),
        "order": spelling.ITEM_ORDER.plan("interleaved" if work.verb == "replace" else phase.order or "sequential"),
        "paths": phase.paths or "full",
    }
    if phase.shift:
        made["shift"] = phase.shift
    if phase.verify:
        made["verify"] = True
    if when == "at-end":
        made["sync_at_end"] = True
    return made


def _operation(work: Work, phase: Phase, *, fsync: bool) -> plan.MetadataOperation:
    each = phase.bytes or 0
    match work.verb:
        case "create":
            return {"kind": "create", "with": phase.using or "open", "write_bytes": each, "fsync": fsync}
        case "write":
            return {"kind": "write", "bytes": each, "fsync": fsync}
        case "read":
            return {"kind": "read", "bytes": each}
        case "replace":
            return {"kind": "replace", "bytes": each}
        case _:
            return _BARE[work.verb or ""]


_BARE: Mapping[str, plan.MetadataOperation] = {
    "create-tree": {"kind": "create-tree"},
    "stat": {"kind": "stat"},
    "rename": {"kind": "rename"},
    "remove": {"kind": "remove"},
    "remove-tree": {"kind": "remove-tree"},
}
"""The operations that move nothing."""


def _index(workload: Workload, phase: str) -> int:
    """The step that is called so."""
    return [step.name for step in workload.steps].index(phase)


def _limit(workload: Workload, limit: Limit) -> plan.Limit:
    made: plan.Limit = {}
    if limit.bytes is not None:
        made["bytes_per_rank"] = limit.bytes
    if limit.operations is not None:
        made["operations_per_rank"] = limit.operations
    if limit.at_rate_of is not None:
        earlier = limit.at_rate_of
        made["at_rate_of"] = {"step": _index(workload, earlier.phase), "duration_ns": earlier.time}
    if limit.runtime is not None:
        made["stonewall_ns"] = made["minimum_ns"] = limit.runtime
    if limit.stonewall is not None:
        made["stonewall_ns"] = limit.stonewall
    if limit.wear_out:
        made["wear_out"] = True
    if limit.minimum is not None:
        made["minimum_ns"] = limit.minimum
    return made

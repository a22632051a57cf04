"""The parts of the engine's plan that follow from a workload: its storage, its file sets, its trees, its steps.

Keys that ask for nothing are left out, as the protocol wants it.
"""

from __future__ import annotations

from typing import Any

from ioassay.studies import spelling, sweep
from ioassay.studies.model import Workload
from ioassay.studies.steps import Find, Limit, Mixed, Phase, Step, Work
from ioassay.studies.sweep import Placed, Point, RankRange

Plan = dict[str, Any]


def work(point: Point) -> Plan:
    """`storage`, `ranks`, `files` and `trees` where there are any, `steps`: all that a case does."""
    workload = point.workload
    ranges = sweep.rank_ranges(point)
    files = {name: _file_set(placed, point) for name, placed in sweep.placed(point).items()}
    trees = {name: _ranks(ranges[name], point) | tree.plan() for name, tree in workload.trees.items()}
    return {
        "storage": workload.storage.plan(),
        "ranks": {"clients": point.clients, "per_client": point.ranks_per_client},
        **({"files": files} if files else {}),
        **({"trees": trees} if trees else {}),
        "steps": [_step(point, step) for step in workload.steps],
    }


def _ranks(ranks: RankRange, point: Point) -> Plan:
    """Left out where it is all of them."""
    if ranks.count == point.ranks:
        return {}
    return {"ranks": {"first": ranks.first, "count": ranks.count}}


def _file_set(placed: Placed, point: Point) -> Plan:
    spec = placed.files_of
    return {
        "layout": {"N-M": placed.groups} if spec.layout == "N-M" else spec.layout,
        **_ranks(placed.ranks, point),
        "files_per_rank": spec.files_per_rank,
        "transfer_bytes": spec.transfer,
        "block_bytes": placed.block_bytes,
        "segments": placed.segments,
        **({"offset_bytes": spec.offset} if spec.offset else {}),
        "payload": spelling.payload_plan(spec.payload),
    }


def _step(point: Point, step: Step) -> Plan:
    if step.cold_cache is not None:
        return step.cold_cache.plan()
    if step.pause is not None:
        return {"step": "pause", "duration_ns": step.pause}
    jobs = [{"name": name, **_job(point, work)} for name, work in step.jobs()]
    settles = any(sweep.settles(point.workload, work) for _, work in step.jobs())
    return {"step": "phase", "name": step.name, **({"settle": True} if settles else {}), "jobs": jobs}


def _job(point: Point, work: Work) -> Plan:
    workload, phase = point.workload, work.phase
    if phase is None:
        return {"work": _find(workload, work.body)}
    on = sweep.works_on(workload, work)
    assert on is not None  # checked before
    on_files = on in workload.files
    job = _ranks(sweep.rank_ranges(point)[on], point)
    if phase.storage is not None:
        job["storage"] = phase.storage.plan()
    job["work"] = _data(workload, work, phase, on) if on_files else _metadata(workload, work, phase, on)
    if phase.limit is not None and (limit := _limit(workload, phase.limit)):
        job["limit"] = limit
    if phase.rate is not None:
        job["rate"] = spelling.rate_plan(phase.rate)
    if phase.think is not None:
        job["think"] = spelling.think_plan(phase.think)
    return job


def _data(workload: Workload, work: Work, phase: Phase, on: str) -> Plan:
    said = {
        "verify": phase.verify,
        "size": phase.size,
        "lock": phase.lock,
        "advice": list(phase.advice) or None,
        "barriers": phase.barriers or None,
        "source": spelling.SOURCE.plan(phase.read_from) if phase.read_from not in (None, "own") else None,
    }
    return {
        "kind": "data",
        "files": on,
        "transfer": {"mixed": phase.read} if isinstance(phase, Mixed) else work.verb,
        "order": spelling.ORDER.plan(sweep.order_of(workload, work)),
        "fsync": spelling.FSYNC.plan(sweep.fsync_of(workload, work)),
        **{key: value for key, value in said.items() if value is not None},
    }


def _metadata(workload: Workload, work: Work, phase: Phase, on: str) -> Plan:
    when = sweep.fsync_of(workload, work)
    fsync = when == "at-close"
    operation: Plan = {"kind": work.verb}
    match work.verb:
        case "create":
            operation |= {"with": phase.using or "open", "write_bytes": phase.bytes or 0, "fsync": fsync}
        case "write":
            operation |= {"bytes": phase.bytes or 0, "fsync": fsync}
        case "read" | "replace":
            operation |= {"bytes": phase.bytes or 0}
    return {
        "kind": "metadata",
        "tree": on,
        "operation": operation,
        "order": "interleaved" if work.verb == "replace" else phase.order or "sequential",
        **({"shift": phase.shift} if phase.shift else {}),
        "paths": phase.paths or "full",
        **({"verify": True} if phase.verify else {}),
        **({"sync_at_end": True} if when == "at-end" else {}),
    }


def _find(workload: Workload, find: Phase | Find) -> Plan:
    assert isinstance(find, Find)
    said = {
        "root": find.root,
        "tree": find.tree,
        "name": find.named,
        "size_bytes": find.exactly,
        "at_least_bytes": find.at_least,
        "at_most_bytes": find.at_most,
        "newer_than_step": _index(workload, find.newer_than) if find.newer_than else None,
        "entries": find.entries,
    }
    return {"kind": "find", **{key: value for key, value in said.items() if value is not None}}


def _index(workload: Workload, phase: str) -> int:
    """The step that is called so."""
    return [step.name for step in workload.steps].index(phase)


def _limit(workload: Workload, limit: Limit) -> Plan:
    earlier = limit.at_rate_of
    said = {
        "bytes_per_rank": limit.bytes,
        "operations_per_rank": limit.operations,
        "at_rate_of": {"step": _index(workload, earlier.phase), "duration_ns": earlier.time} if earlier else None,
        "stonewall_ns": limit.stonewall,
        "wear_out": limit.wear_out or None,
        "minimum_ns": limit.minimum,
    }
    return {key: value for key, value in said.items() if value is not None}

"""ioassay's own engine: plans by the protocol (`crates/protocol/src/plan.rs`), rates from its events.

A rate is the operations of all ranks over `duration_ns`: from the opening of the barrier to the last rank's end,
open and close included.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import io500
import ior
import mdtest
from find_tree import STAMP, TREE, expect
from tool import Failed, Manner, Place, Tool, locate, version_in
from work import CommandLine, Data, Find, Metadata, Train, Work

Object = dict[str, Any]

_VERSION = 2
_FILES = "files"
_TREE = "tree"
_DATASET = "samples"


class Engine:
    """`ioassay-engine`, which works in the manner of the tool that it is compared with."""

    name = "ioassay"

    def __init__(self, program: Path, manner: Manner) -> None:
        self._program = str(program)
        self.manner = manner

    def beside(self, peer: Tool) -> Engine:
        """The engine for a comparison with `peer`."""
        return Engine(Path(self._program), peer.manner)

    def does(self, work: Work) -> bool:
        """Everything; what it cannot do it refuses."""
        return True

    def version(self, search_path: str) -> str:
        """Its version."""
        return version_in(r"ioassay-engine (\S+)", search_path, self._program, "--version")

    def measure(self, work: Work, place: Place) -> dict[str, float]:
        """One plan for all rates; with data its first phase makes the files."""
        if isinstance(work, CommandLine):
            return self._front_end(work, place)
        plan, events = place.scratch / "plan.json", place.scratch / "events.jsonl"
        plan.write_text(json.dumps(plan_of(work, place.directory, self.manner), indent=1))
        place.run(locate(self._program, place.search_path), "run", "--stop-with-parent", "--events", events, plan)
        phases = parse(events.read_text())
        if isinstance(work, Find):
            expect(work, matches=phases["find"]["matched"])
            return {"find": work.files / phases["find"]["duration_ns"] * 1e9}
        return {rate: phases[rate]["operations"] / phases[rate]["duration_ns"] * 1e9 for rate in work.rates}

    def _front_end(self, work: CommandLine, place: Place) -> dict[str, float]:
        """The command line of a peer, as it is."""
        tool = {"ior": ior, "mdtest": mdtest, "io500": io500}[work.tool]
        command = tool.command_line(work, place)
        engine = [locate(self._program, place.search_path), command[0], "--ranks", str(work.ranks)]
        # A run of a part of the IO500 is invalid, and 1 says so.
        printed = place.run(*engine, *command[1:], codes=(0, 1) if work.tool == "io500" else (0,))
        return ior.rates(work, place) if work.tool == "ior" else tool.parse(printed)


def parse(events: str) -> dict[str, Object]:
    """The record of each phase by its name. Raises `Failed` where one is incomplete or in doubt beyond use."""
    records = [event for event in map(json.loads, events.splitlines()) if event["event"] == "phase"]
    # Of an epoch the reads of samples count, not the accelerator's steps.
    records = [record for record in records if record.get("operation") != "step"]
    for record in records:
        if not record["complete"]:
            raise Failed(f"the phase `{record['name']}` is not complete")
    return {record["name"]: record for record in records}


def plan_of(work: Data | Metadata | Find | Train, directory: Path, manner: Manner) -> Object:
    """The plan for a piece of work."""
    plan: Object = {
        "version": _VERSION,
        "run": "peers",
        "case": work.name,
        "target": {"directory": str(directory)},
        "storage": {"api": "posix"},
        "ranks": {"clients": work.ranks, "per_client": 1},
        "seed": 1,
        "sample_interval_ns": 1_000_000_000,
    }
    match work:
        case Data():
            return plan | _data(work, manner)
        case Metadata():
            return plan | _metadata(work, manner)
        case Find():
            return plan | _find(work, directory)
        case Train():
            return plan | _train(work)


def _data(work: Data, manner: Manner) -> Object:
    orders = {"write": work.order, "read": manner.random_reads if work.order == "random" else work.order}
    file_set = {"layout": work.layout, "files_per_rank": 1, "segments": 1, "payload": {"kind": work.payload}}
    file_set |= {"transfer_bytes": work.transfer_bytes, "block_bytes": work.rank_bytes}
    prepare = _phase("prepare", _transfers("write", "sequential"))
    limit = {"minimum_ns": work.seconds * 10**9}
    phases = [_phase(rate, _transfers(rate, orders[rate]), limit) for rate in work.rates]
    return {"storage": _storage(work), "files": {_FILES: file_set}, "steps": [prepare, *phases]}


def _storage(work: Data) -> Object:
    storage: Object = {"api": "posix", "direct": work.direct}
    if work.depth == 1:
        return storage
    # Half of the depth together, as fio is set here.
    uring = {"batch": work.depth // 2, "registered_buffers": True, "registered_files": True}
    return storage | {"api": "uring", "depth": work.depth, "uring": uring}


def _transfers(transfer: str, order: str) -> Object:
    return {"kind": "data", "files": _FILES, "transfer": transfer, "order": order, "fsync": "never"}


def _metadata(work: Metadata, manner: Manner) -> Object:
    tree = {"sharing": "shared" if work.shared else "unique", "depth": 0, "branch": 1, "leaves_only": False}
    tree |= {"items_per_directory": work.files_per_rank, "items": "files"}
    operations: dict[str, Object] = {
        "create-tree": {"kind": "create-tree"},
        "create": {"kind": "create", "with": "open", "write_bytes": work.file_bytes, "fsync": False},
        "stat": {"kind": "stat"},
        "read": {"kind": "read", "bytes": work.file_bytes},
        "remove": {"kind": "remove"},
        "remove-tree": {"kind": "remove-tree"},
    }
    entries = {"kind": "metadata", "tree": _TREE, "order": "sequential", "paths": manner.paths}
    steps = [_phase(name, entries | {"operation": operation}) for name, operation in operations.items()]
    return {"trees": {_TREE: tree}, "steps": steps}


def _find(work: Find, directory: Path) -> Object:
    conditions = {"name": work.pattern, "size_bytes": work.size_bytes}
    newer = {"newer_than_unix_ns": (directory / STAMP).stat().st_ctime_ns}
    return {"steps": [_phase("find", {"kind": "find", "root": str(directory / TREE)} | conditions | newer)]}


def _train(work: Train) -> Object:
    dataset = {"samples": work.samples, "sizes": {"fixed": work.sample_bytes}, "samples_per_file": 1, "seed": 1}
    epoch = {"kind": "epoch", "number": 0, "batch": work.batch, "loader_threads": work.loader_threads, "prefetch": 2}
    epoch |= {"shuffle": "none", "drop_last": True, "compute_ns": 0, "compute": "sleep"}
    operations: dict[str, Object] = {"create": {"kind": "create", "fsync": False}, "read": epoch}
    works = {name: {"kind": "train", "dataset": _DATASET, "operation": each} for name, each in operations.items()}
    return {"datasets": {_DATASET: dataset}, "steps": [_phase(name, each) for name, each in works.items()]}


def _phase(name: str, work: Object, limit: Object | None = None) -> Object:
    job: Object = {"name": name, "work": work}
    if limit:
        job["limit"] = limit
    return {"step": "phase", "name": name, "jobs": [job]}

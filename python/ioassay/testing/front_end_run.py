"""The run directory of a front end of the engine, but for the events, which a test adds.

The plan is one as the front end of IOR makes it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ioassay.protocol.facts import PROTOCOL_VERSION
from ioassay.testing.builder import STARTED_UNIX_NS

MIB = 1 << 20


def ior_plan(case: str, files: Path, ranks: int = 2, seed: int = 7) -> Any:
    """`ior -F -w -r -t 256k -b 1m -z -C -e -d 0` on files that begin with `files`."""

    def phase(verb: str, **more: Any) -> dict[str, Any]:
        work = {"kind": "data", "files": "test", "transfer": verb, "order": {"ior-shuffled": seed}, "fsync": "never"}
        return {"step": "phase", "name": verb, "jobs": [{"name": verb, "work": work | more}]}

    paths = [f"{files}.{rank:08}" for rank in range(ranks)]
    return {
        "version": PROTOCOL_VERSION,
        "run": "ior-1",
        "case": case,
        "target": {"in-place": {"directory": str(files.parent), "files": {"test": paths}}},
        "storage": {"api": "posix"},
        "ranks": {"clients": 1, "per_client": ranks},
        "files": {
            "test": {
                "layout": "N-N",
                "files_per_rank": 1,
                "transfer_bytes": MIB // 4,
                "block_bytes": MIB,
                "segments": 2,
                "payload": {"kind": "ior-timestamp", "signature": 1},
            }
        },
        "steps": [
            phase("write", fsync="at-close"),
            phase("read", source={"listed": [*range(1, ranks), 0]}),
            {"step": "remove-files", "files": ["test"]},
        ],
        "seed": seed,
        "sample_interval_ns": 10**9,
    }


def leave(
    directory: Path, workloads: dict[str, Sequence[dict[str, Any]]], exit_code: int | None = 0, scale_down: int = 1
) -> list[Path]:
    """Makes the run directory of an `ior` whose workloads have these plans, one for each repetition.

    Returns the folders of the cases in the order of their repetitions. Without an exit code it has not ended.
    """
    cases = [
        (workload, repetition, plan)
        for workload, plans in workloads.items()
        for repetition, plan in enumerate(plans, start=1)
    ]
    folders = []
    for _, _, plan in cases:
        folders.append(directory / "logs" / plan["case"])
        folders[-1].mkdir(parents=True)
        (folders[-1] / "plan.json").write_text(json.dumps(plan))
    document = {
        "version": PROTOCOL_VERSION,
        "engine_version": "0.1.0",
        "tool": "ior",
        "command": ["ior", "-F", "-t", "256k", "-b", "1m", "-s", "2", "-o", "/scratch/my test"],
        "working_directory": "/home/me",
        "run": "ior-1",
        "scale_down": scale_down,
        "started_unix_ns": STARTED_UNIX_NS,
        "ended_unix_ns": None if exit_code is None else STARTED_UNIX_NS + 60 * 10**9,
        "exit_code": exit_code,
        "cases": [
            {"id": plan["case"], "workload": workload, "repetition": repetition} for workload, repetition, plan in cases
        ],
    }
    (directory / "front-end.json").write_text(json.dumps(document))
    return folders

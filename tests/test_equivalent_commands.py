"""The command lines of IOR and mdtest in a report are taken by the front ends as what the study's plan says.

What each option means stands in `crates/frontends` and, the other way around, in `studies.commands`: here one is asked
of the other.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ioassay.processes.engine import find_engine
from ioassay.protocol.plan import Plan
from ioassay.store.document import CaseEntry
from ioassay.studies.cases import expand
from ioassay.studies.resolve import resolve
from ioassay.studies.target import Target
from ioassay.yaml_models.source import parse_source

HEAD = "name: s\ntitle: S\nquestion: Q?\nclients: [1]\nranks_per_client: 4\n"


def only_case(text: str, target: Path) -> tuple[CaseEntry, Plan]:
    resolved = resolve(parse_source(HEAD + text, "my.yaml", "study"), None, [])
    ((case, plan, _),) = expand(resolved, "R", Target("directory", str(target)), "local")
    return case, plan


def jobs(plan: Plan | dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The jobs of a plan with the names of their phases."""
    for step in plan["steps"]:
        if step["step"] == "phase":
            yield from ((step["name"], dict(job)) for job in step["jobs"])


def taken(case: CaseEntry, scratch: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each phase with the plan that the front end makes of its command, run after those before."""
    (scratch / "ioassay-R").mkdir()
    for number, phase in enumerate(case.phases):
        command, _, notes = phase.jobs[0].command.partition("  # ")
        assert not notes, notes
        _, _, ranks, *words = shlex.split(command)
        run = scratch / f"run{number}"
        command_line = [str(find_engine()), *words, "--ranks", ranks, "--run", str(run)]
        result = subprocess.run(command_line, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert result.returncode == 0, (command, result.stdout, result.stderr)
        (file,) = (run / "logs").glob("*/plan.json")
        yield phase.name, json.loads(file.read_text())


def of_data(plan: Plan | dict[str, Any], phase: str) -> dict[str, Any]:
    """The parts of a phase that IOR's options determine."""
    job = next(job for name, job in jobs(plan) if name == phase)
    work, (files,) = job["work"], plan["files"].values()
    order = work["order"] if isinstance(work["order"], str) else next(iter(work["order"]))
    keys = ("layout", "files_per_rank", "transfer_bytes", "block_bytes", "segments")
    source = work.get("source", "own")
    return {
        **{key: files[key] for key in keys},
        "payload": files["payload"] if files["payload"]["kind"].startswith("ior") else None,
        "direct": (job.get("storage") or plan["storage"]).get("direct", False),
        "transfer": work["transfer"],
        # IOR's is another permutation.
        "order": "random" if order == "ior-shuffled" else order,
        "fsync": work["fsync"] if work["transfer"] == "write" else None,
        "source": source if isinstance(source, str) else {"listed": "shuffled"}.get(*source, *source),
        "verify": work.get("verify"),
        "barriers": work.get("barriers", False),
        "limit": job.get("limit", {}),
        "ranks": plan["ranks"],
    }


@pytest.mark.parametrize(
    ("files", "write", "read"),
    [
        ("layout: N-N, segments: 2", "fsync: at-close", ""),
        ("layout: N-1, segments: 2", "order: random, fsync: never", "order: random"),
        ("layout: N-1, interleave: strided", "limit: {stonewall: 20s, wear_out: yes}", "barriers: yes"),
        ("layout: N-N", "fsync: every 1 writes, limit: {minimum: 1s}", "limit: {stonewall: 20s}"),
        ("layout: N-N", "limit: {runtime: 1s}", "limit: {runtime: 2s}"),
        ("layout: N-N, payload: ior-timestamp 7", "", "verify: reads"),
        ("layout: N-1, payload: ior-offset 9", "barriers: yes", "read_from: shuffled 7"),
        ("layout: N-N", "storage: {direct: yes}", "storage: {direct: yes}"),
    ],
)
def test_ior_does_what_a_phase_on_files_does(files: str, write: str, read: str, tmp_path: Path) -> None:
    text = f"workloads:\n  w:\n    title: W\n    {files.replace(', ', chr(10) + '    ')}\n    order: sequential\n"
    text += f"    transfer: 4KiB\n    total: 128KiB\n    steps: [write: {{{write}}}, read: {{{read}}}]\n"
    case, plan = only_case(text, tmp_path)
    for phase, front_end_plan in taken(case, tmp_path):
        expected = of_data(plan, phase)
        # IOR has no payloads of ioassay.
        missing = {} if expected["payload"] else {"payload": None}
        assert of_data(front_end_plan, phase) | missing == expected


def of_items(plan: Plan | dict[str, Any], operation: str) -> dict[str, Any]:
    """The parts of a phase that mdtest's options determine."""
    job = next(job for _, job in jobs(plan) if job["work"]["operation"]["kind"] == operation)
    work = job["work"]
    tree = dict(plan["trees"][work["tree"]])
    return {
        **{key: tree.get(key) for key in ("sharing", "depth", "branch", "items_per_directory", "leaves_only", "items")},
        "operation": work["operation"],
        "order": work["order"],
        "shift": work.get("shift", 0),
        "verify": work.get("verify", False),
        "sync_at_end": work.get("sync_at_end", False),
        "limit": job.get("limit", {}),
    }


@pytest.mark.parametrize(
    ("tree", "step_options"),
    [
        ("depth: 2, branch: 2", {"create": "bytes: 100, fsync: at-close", "read": "bytes: 100"}),
        ("depth: 1, branch: 3, leaves_only: yes, sharing: shared", {"stat": "shift: 1", "remove": "shift: 3"}),
        (
            "sharing: shared",
            {"create": "bytes: 9, fsync: at-end", "stat": "order: random", "read": "bytes: 9, shift: 2"},
        ),
        ("payload: ior-timestamp 7", {"create": "bytes: 64", "read": "bytes: 64, verify: reads"}),
        ("displaced: 1", {"stat": "shift: 1", "read": None, "remove": "shift: 3"}),
        ("of: directories, depth: 1", {"read": None}),
    ],
)
def test_mdtest_does_what_a_phase_on_a_tree_does(
    tree: str, step_options: dict[str, str | None], tmp_path: Path
) -> None:
    options = {verb: step_options.get(verb, "") for verb in ("create", "stat", "read", "remove")}
    steps = [f"{verb}: {{{options_text}}}" for verb, options_text in options.items() if options_text is not None]
    text = f"workloads:\n  w:\n    title: W\n    tree: {{items: 3, {tree}}}\n"
    case, plan = only_case(f"{text}    steps: [create-tree, {', '.join(steps)}]\n", tmp_path)
    # mdtest makes its tree with its items.
    case.phases.pop(0)
    for phase, front_end_plan in taken(case, tmp_path):
        assert of_items(front_end_plan, phase) == of_items(plan, phase)

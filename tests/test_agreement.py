"""Control plane and engine agree.

Of a study that the one lets pass the other takes every plan, or refuses it for a line of the study; and what the engine
says that a plan amounts to is what it does.
"""

from __future__ import annotations

import json
import operator
import re
import subprocess
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ioassay.processes.engine import check_arguments, find_engine, run_arguments
from ioassay.protocol.plan import Job, Plan
from ioassay.studies.cases import expand
from ioassay.studies.refusals import refuse
from ioassay.studies.resolve import resolve
from ioassay.studies.target import Target
from ioassay.yaml_models.source import SourceError, parse_source

ORDERS = ["sequential", "backward", "strided 3", "random", "random-with-replacement", "zipf 1.1", "hot-spot 10% 90%"]
OPTIONS = [
    "fsync: never",
    "fsync: at-end",
    "fsync: every 3 writes",
    "verify: writes",
    "verify: reads",
    "size: empty",
    "size: full",
    "size: preallocated",
    "lock: range",
    "lock: file",
    "advice: [sequential]",
    "limit: {operations: 2}",
    "limit: {bytes: 8KiB}",
    "limit: {bytes: 64KiB}",
    "limit: {bytes: 1MiB, minimum: 1s}",
    "limit: {stonewall: 1s, wear_out: yes}",
    "limit: {minimum: 1s}",
    "rate: 10MB/s",
    "rate: 1kIOPS",
    "think: 1ms every 4 operations",
    "read_from: shift 1",
    "read_from: shuffled 3",
    "order: backward",
    "order: zipf 2",
]


MORE = [
    "segments: 2",
    "files_per_rank: 2",
    "offset: 1KiB",
    "interleave: strided",
    "payload: unique",
    "payload: zero",
    "payload: reducible 50% 20%",
    "ranks: 1/2",
]


def drawn(draw: st.DrawFn, values: list[str]) -> str:
    return draw(st.sampled_from(values))


@st.composite
def studies(draw: st.DrawFn, options: list[str] = OPTIONS) -> str:
    """Studies of every kind, some of them invalid."""
    layout = drawn(draw, ["layout: N-N", "layout: N-1", "layout: N-M, groups: 2", "layout: N-M, groups: [1, 2, 4]"])
    more = draw(
        st.lists(
            st.sampled_from(MORE),
            max_size=3,
            unique_by=lambda key: key.split(":")[0],
        )
    )
    size = drawn(draw, ["total: 512KiB", "per_client: 128KiB", "per_rank: 64KiB", "per_file: 128KiB"])
    files = ", ".join([layout, f"order: {drawn(draw, ORDERS)}", "transfer: 4KiB", size, *more])
    verbs = draw(st.lists(st.sampled_from(["write", "read", "mixed"]), max_size=3))
    steps = ["write"]
    for number, verb in enumerate(verbs):
        options_of_step = draw(st.lists(st.sampled_from(options), max_size=2, unique_by=lambda key: key.split(":")[0]))
        body = ", ".join([f"name: p{number}", *(["read: 60%"] if verb == "mixed" else []), *options_of_step])
        steps.append(f"{verb}: {{{body}}}")
    storage = drawn(draw, ["posix", "{api: posix, direct: yes}", "{api: posix, vectors: 4}"])
    return (
        f"name: s\ntitle: S\nquestion: Q?\nclients: [1, 2]\nranks_per_client: 4\nstorage: {storage}\nworkloads:\n"
        f"  w: {{title: W, {files}, steps: [{', '.join(f'{{{step}}}' if ':' in step else step for step in steps)}]}}\n"
    )


ITEM_OPTIONS = [
    "order: random",
    "paths: at",
    "shift: 1",
    "bytes: 100",
    "bytes: 200",
    "fsync: at-close",
    "using: mknod",
    "limit: {operations: 3}",
    "limit: {stonewall: 1s, wear_out: yes}",
    "rate: 1kIOPS",
    "think: 1ms",
]


@st.composite
def tree_studies(draw: st.DrawFn, items: list[str] = ITEM_OPTIONS) -> str:
    """Studies of metadata, some of them invalid."""
    sharing = drawn(draw, ["unique", "shared", "shared-items"])
    more = draw(st.lists(st.sampled_from(["depth: 2, branch: 2", "leaves_only: yes", "of: directories", "ranks: 1/2"])))
    tree = ", ".join([f"items: 3, sharing: {sharing}", *dict.fromkeys(more)])
    verbs = ["create-tree", "create", *draw(st.lists(st.sampled_from(["stat", "read", "write", "rename"]), max_size=3))]
    verbs += draw(st.sampled_from([[], ["find"], ["remove"], ["remove", "remove-tree"], ["remove", "create"]]))
    steps = []
    for number, verb in enumerate(verbs):
        options = ["named: '*1'", "at_least: 1", "newer_than: p1", "entries: files"] if verb == "find" else items
        options_of_step = draw(st.lists(st.sampled_from(options), max_size=2, unique_by=lambda key: key.split(":")[0]))
        steps.append(f"{{{verb}: {{{', '.join([f'name: p{number}', *options_of_step])}}}}}")
    return (
        "name: s\ntitle: S\nquestion: Q?\nclients: [1, 2]\nranks_per_client: 4\nworkloads:\n"
        f"  w: {{title: W, tree: {{{tree}}}, steps: [{', '.join(steps)}]}}\n"
    )


@given(studies() | tree_studies())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_the_engine_accepts_every_plan_or_the_study_is_refused_with_its_line(text: str) -> None:
    problems: list[str] = []
    try:
        resolved = resolve(parse_source(text, "my.yaml", "study"), None, [])
        refuse(resolved)
    except SourceError as error:
        problems = [str(problem) for problem in error.problems]
    if problems:
        assert all(re.match(r"my\.yaml:\d+: [a-z][^ ]*: .+; .", problem) for problem in problems), problems
        return
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        cases = expand(resolved, "R", Target("directory", scratch), "local")
        plans = []
        for number, case in enumerate(cases):
            plans.append(directory / f"{number}.json")
            plans[-1].write_text(json.dumps(case.plan))
        command = [str(find_engine()), *check_arguments(directory / "events.jsonl", plans)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        events = (directory / "events.jsonl").read_text() if (directory / "events.jsonl").exists() else ""
        # The target may not support direct I/O.
        assert result.returncode == 0 or "direct" in events, (text, events, result.stderr)


AMOUNTS = [
    "limit: {operations: 2}",
    "limit: {bytes: 8KiB}",
    "limit: {bytes: 64KiB}",
    "limit: {bytes: 8KiB, operations: 3}",
    "read_from: shift 1",
    "order: zipf 2",
]
"""Options that affect amounts, or might."""
ITEM_AMOUNTS = ["limit: {operations: 3}", "bytes: 100", "bytes: 200", "shift: 1", "order: random"]


@given(studies(AMOUNTS) | tree_studies(ITEM_AMOUNTS))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_jobs_without_an_early_end_do_their_planned_amounts(text: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        try:
            resolved = resolve(parse_source(text, "my.yaml", "study"), None, [])
            refuse(resolved)
        except SourceError:
            assume(False)
        for number, (case, plan, _) in enumerate(expand(resolved, "R", Target("directory", scratch), "local")):
            file, events, progress = (directory / f"{name}-{number}" for name in ("plan", "events", "progress"))
            file.write_text(json.dumps(plan))
            command = [str(find_engine()), *run_arguments(events, progress, file)]
            result = subprocess.run(command, stdin=subprocess.PIPE, capture_output=True, text=True, check=False)
            assert result.returncode == 0, (text, result.stderr)
            reported = [json.loads(line) for line in events.read_text().splitlines()]
            records = [event for event in reported if event["event"] == "phase"]
            is_limited = False
            for phase, job in ((entry.name, job) for entry in case.phases for job in entry.jobs):
                job_records = [record for record in records if (record["name"], record["job"]) == (phase, job.name)]
                assert [record["operation"] for record in job_records] == job.operations, text
                measured = [sum(record[key] for record in job_records) for key in ("operations", "bytes")]
                planned = [job.planned_operations, job.planned_bytes]
                # A walk finds existing items only, and later phases skip items that a limit left out.
                is_most = is_limited and job.layout in ("unique", "shared", "shared-items")
                if job.operations != ["find"]:
                    is_right = all(map(operator.le, measured, planned)) if is_most else measured == planned
                    assert is_right, (text, phase, measured, planned)
                is_limited |= any("limit" in plan_job for plan_job in jobs_of(plan, phase))


def jobs_of(plan: Plan, phase: str) -> list[Job]:
    """The jobs of a phase."""
    return next(step["jobs"] for step in plan["steps"] if step["step"] == "phase" and step["name"] == phase)

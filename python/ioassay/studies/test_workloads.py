"""What a study can say of files, trees and steps: the plan that it becomes, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ioassay.plans import text as plan_text
from ioassay.protocol.event import EventError
from ioassay.protocol.plan import Plan
from ioassay.store.document import CaseEntry
from ioassay.studies.cases import expand
from ioassay.studies.refusals import problems_of, refuse
from ioassay.studies.resolve import resolve
from ioassay.studies.target import Target
from ioassay.yaml_models.source import SourceError, parse_source

PLAN_SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(__file__).parents[1] / "schemas/plan.json").read_text(encoding="utf-8"))
)

HEAD = """\
name: s
title: S
question: Q?
clients: [2]
ranks_per_client: 2
"""

FILES = """\
workloads:
  w:
    title: W
    layout: N-N
    order: sequential
    transfer: 64KiB
    total: 1MiB
"""

TREE = """\
workloads:
  w:
    title: W
    tree: {items: 10, depth: 2, branch: 3, leaves_only: yes, sharing: shared}
"""

BESIDE = """\
workloads:
  w:
    title: W
    files:
      a: {ranks: 1/4, layout: N-1, order: sequential, transfer: 1MiB, total: 4MiB}
      b: {ranks: 75%, layout: N-N, order: random, transfer: 4KiB, total: 3MiB}
    steps:
      - write: {files: b, name: fill}
      - together:
          checkpoint: {write: {files: a}}
          readers: {read: {files: b, limit: {minimum: 2s}}}
"""


def expanded(text: str) -> list[tuple[CaseEntry, Plan]]:
    study = resolve(parse_source(text, "my.yaml", "study"), None, [])
    cases = [(case.entry, case.plan) for case in expand(study, "R", Target("directory", "/t"), "local")]
    for _, plan in cases:
        PLAN_SCHEMA.validate(plan)
    return cases


def only(text: str) -> tuple[CaseEntry, Any]:
    (case,) = expanded(text)
    return case


def steps(text: str, of: str = FILES) -> list[dict[str, Any]]:
    """The jobs of the study's phases."""
    _, plan = only(f"{HEAD}{of}    steps: {text}\n")
    return [job for step in plan["steps"] if step["step"] == "phase" for job in step["jobs"]]


def refusals(text: str) -> list[str]:
    with pytest.raises(SourceError) as error:
        refuse(resolve(parse_source(text, "my.yaml", "study"), None, []))
    return error.value.message.splitlines()


@pytest.mark.parametrize(
    ("written", "key", "planned"),
    [
        ("order: backward", "order", "backward"),
        ("order: strided 4", "order", {"strided": 4}),
        ("order: zipf 1.1", "order", {"zipf": 1.1}),
        ("order: hot-spot 10% 90%", "order", {"hot-spot": {"transfers_percent": 10, "operations_percent": 90}}),
        ("fsync: at-end", "fsync", "at-end"),
        ("fsync: every 8 writes", "fsync", {"every-writes": 8}),
        ("verify: writes", "verify", "writes"),
        ("size: preallocated", "size", "preallocated"),
        ("lock: range", "lock", "range"),
        ("barriers: yes", "barriers", True),
        ("advice: [random, will-need]", "advice", ["random", "will-need"]),
    ],
)
def test_a_write_says_what_the_engine_has(written: str, key: str, planned: object) -> None:
    (job,) = steps(f"[{{write: {{{written}}}}}]")
    assert job["work"][key] == planned


@pytest.mark.parametrize(
    ("written", "key", "planned"),
    [
        ("limit: {bytes: 128KiB}", "limit", {"bytes_per_rank": 128 << 10}),
        ("limit: {operations: 3}", "limit", {"operations_per_rank": 3}),
        ("limit: {stonewall: 30s, wear_out: yes}", "limit", {"stonewall_ns": 30 * 10**9, "wear_out": True}),
        ("limit: {minimum: 10s}", "limit", {"minimum_ns": 10**10}),
        ("limit: {runtime: 10s}", "limit", {"stonewall_ns": 10**10, "minimum_ns": 10**10}),
        ("rate: 200MB/s", "rate", {"bytes_per_s": 200 * 10**6}),
        ("rate: 5kIOPS", "rate", {"operations_per_s": 5000}),
        ("think: 10ms", "think", {"duration_ns": 10**7, "every_operations": 1}),
        ("think: 10ms every 100 operations", "think", {"duration_ns": 10**7, "every_operations": 100}),
    ],
)
def test_a_phase_says_how_much_and_how_fast(written: str, key: str, planned: object) -> None:
    (job,) = steps(f"[{{write: {{{written}}}}}]")
    assert job[key] == planned


def test_a_stonewall_of_none_is_no_limit() -> None:
    (job,) = steps("[{write: {limit: {stonewall: none}}}]")
    assert "limit" not in job
    *_, again, _ = steps("[create-tree, create, {replace: {limit: {stonewall: none}}}, stat, remove]", TREE)
    assert again["name"] == "stat"


def test_a_read_may_be_of_what_others_wrote_and_a_mix_may_be_written_short() -> None:
    write, shift, shuffled, mix = steps(
        "[write, {read: {name: a, read_from: shift 2}}, {read: {name: b, read_from: shuffled 7}}, mixed: 70%]"
    )
    assert write["work"]["transfer"] == "write"
    assert shift["work"]["source"] == {"shift": 2}
    assert shuffled["work"]["source"] == {"shuffled": 7}
    assert mix["work"]["transfer"] == {"mixed": 70}
    assert mix["work"]["fsync"] == "at-close"


def test_items_are_replaced_one_of_each_directory_in_turn_and_as_many_as_an_earlier_phase_had_done() -> None:
    limit = "limit: {at_rate_of: {phase: create-tree, time: 2s}}"
    _, create, replace = steps(
        f"[create-tree, {{create: {{order: interleaved, bytes: 3901, {limit}}}}}, replace: {{bytes: 3901, shift: 1}}]",
        TREE,
    )
    assert create["limit"] == {"at_rate_of": {"step": 0, "duration_ns": 2 * 10**9}}
    assert create["work"]["order"] == replace["work"]["order"] == "interleaved"
    assert replace["work"]["operation"] == {"kind": "replace", "bytes": 3901}
    assert replace["work"]["shift"] == 1


def test_empty_steps_are_not_in_the_plan() -> None:
    write, read = steps("[write, {read: {read_from: own}}]")
    assert set(write) == {"name", "work"}
    assert set(read["work"]) == {"kind", "files", "transfer", "order", "fsync"}


@pytest.mark.parametrize(
    ("written", "planned"),
    [
        ("payload: unique", {"payload": {"kind": "unique"}}),
        (
            "payload: reducible 50% 20%",
            {"payload": {"kind": "reducible", "zero_percent": 50, "duplicate_percent": 20}},
        ),
        ("payload: ior-timestamp -1", {"payload": {"kind": "ior-timestamp", "signature": -1}}),
        ("offset: 1KiB", {"offset_bytes": 1024}),
        ("files_per_rank: 4", {"files_per_rank": 4, "block_bytes": 64 << 10}),
        ("segments: 2", {"segments": 2, "block_bytes": 128 << 10}),
        ("interleave: strided", {"segments": 4, "block_bytes": 64 << 10}),
    ],
)
def test_a_file_set_says_what_the_engine_has(written: str, planned: dict[str, Any]) -> None:
    _, plan = only(f"{HEAD}{FILES}    {written}\n    steps: [write]\n")
    assert plan["files"]["data"] | planned == plan["files"]["data"]


@pytest.mark.parametrize(
    ("size", "total"), [("per_rank: 1MiB", 4 << 20), ("per_client: 1MiB", 2 << 20), ("per_file: 1MiB", 1 << 20)]
)
def test_sizes_are_of_what_their_key_says(size: str, total: int) -> None:
    case, _ = only(HEAD + FILES.replace("total: 1MiB", size).replace("N-N", "N-1") + "    steps: [write]\n")
    assert case.file_set_bytes == case.written_bytes == total


def test_groups_and_ranks_are_swept_where_they_divide() -> None:
    text = HEAD.replace("[2]", "[1]").replace("ranks_per_client: 2", "ranks_per_client: [1, 2, 4]")
    text += FILES.replace("N-N", "N-M").replace("total: 1MiB", "per_file: 1MiB") + "    groups: [1, 2, 4]\n"
    cases = expanded(text + "    steps: [write]\n")
    points = [(case.ranks_per_client, case.point["groups"], case.file_set_bytes >> 20) for case, _ in cases]
    assert points == [(1, 1, 1), (2, 1, 1), (2, 2, 2), (4, 1, 1), (4, 2, 2), (4, 4, 4)]
    assert [case.id for case, _ in cases][:2] == ["w.c001.p001.g001.r1", "w.c001.p002.g001.r1"]
    assert [plan["files"]["data"]["layout"] for _, plan in cases][1:3] == [{"N-M": 1}, {"N-M": 2}]


def test_jobs_side_by_side_have_ranks_of_their_own() -> None:
    case, plan = only(HEAD + BESIDE)
    assert plan["files"]["a"]["ranks"] == {"first": 0, "count": 1}
    assert plan["files"]["b"]["ranks"] == {"first": 1, "count": 3}
    fill, together = plan["steps"]
    assert [job["ranks"] for job in fill["jobs"]] == [{"first": 1, "count": 3}]
    assert [(job["name"], job["ranks"]["first"]) for job in together["jobs"]] == [("checkpoint", 0), ("readers", 1)]
    assert case.measured == [
        (case.id, "fill", "fill", "write"),
        (case.id, "together", "checkpoint", "write"),
        (case.id, "together", "readers", "read"),
    ]
    assert [job.planned_bytes >> 20 for phase in case.phases for job in phase.jobs] == [3, 4, 3]


def test_a_tree_goes_through_its_life() -> None:
    text = "[create-tree, {create: {bytes: 100, fsync: at-close, using: open}}, "
    text += "{stat: {shift: 2, order: random, limit: {operations: 5}}}, "
    text += "{read: {bytes: 100, paths: at}}, {write: {bytes: 50}}, rename, {find: {named: '*7', newer_than: stat}}, "
    text += "{remove: {rate: 1kIOPS}}, remove-tree]"
    case, plan = only(f"{HEAD}{TREE}    steps: {text}\n")
    assert plan["trees"] == {
        "tree": {
            "sharing": "shared",
            "depth": 2,
            "branch": 3,
            "items_per_directory": 10,
            "leaves_only": True,
            "items": "files",
        }
    }
    works = [step["jobs"][0]["work"] for step in plan["steps"]]
    assert works[1]["operation"] == {"kind": "create", "with": "open", "write_bytes": 100, "fsync": True}
    assert (works[2]["shift"], works[2]["order"], works[3]["paths"]) == (2, "random", "at")
    assert works[4]["operation"] == {"kind": "write", "bytes": 50, "fsync": False}
    assert works[6] == {"kind": "find", "name": "*7", "newer_than_step": 2}
    assert (case.file_set_bytes, case.written_bytes) == (9 * 10 * 4 * 100, 9 * 10 * 4 * 150)
    planned = {phase.name: phase.jobs[0].planned_operations for phase in case.phases}
    assert (planned["create-tree"], planned["create"], planned["stat"]) == (13, 360, 20)
    commands = {phase.name: phase.jobs[0].command for phase in case.phases}
    assert (
        commands["create"]
        == "mpirun -np 4 mdtest -a POSIX -F -C -I 10 -z 2 -b 3 -L -w 100 -y -d /t/ioassay-R/w.c002.r1"
    )
    assert " -T -I 10 -z 2 -b 3 -L -N 2 -R " in commands["stat"]


def test_items_are_synced_at_the_end_verified_and_in_trees_of_others() -> None:
    tree = "tree: {items: 10, displaced: 1, names: md-workbench, payload: ior-timestamp 7}"
    text = "[create-tree, {create: {bytes: 100, fsync: at-end, verify: writes}}, {read: {bytes: 9, verify: reads}}, "
    text += "{stat: {shift: 1}}, {remove: {shift: 2}}]"
    case, plan = only(f"{HEAD}workloads:\n  w:\n    title: W\n    {tree}\n    steps: {text}\n")
    assert plan["trees"]["tree"]["displaced"] == 1
    assert plan["trees"]["tree"]["names"] == "md-workbench"
    assert plan["trees"]["tree"]["payload"] == {"kind": "ior-timestamp", "signature": 7}
    _, create, read, _, _ = (step["jobs"][0]["work"] for step in plan["steps"])
    assert (create["sync_at_end"], create["verify"], create["operation"]["fsync"]) == (True, True, False)
    assert (read["verify"], "sync_at_end" in read) == (True, False)
    commands = {phase.name: phase.jobs[0].command for phase in case.phases}
    assert " -u -N 1 -w 100 -Y --dataPacketType=timestamp -G 7 -d " in commands["create"]
    assert " -u -e 9 -X " in commands["read"]
    assert " -u -N 1 " in commands["stat"]
    assert " -N 1 " in commands["remove"]
    assert commands["remove"].endswith("# here each rank took the items of the rank 2 further on")


def test_a_storage_api_may_stand_alone_or_with_its_options() -> None:
    head = HEAD + "storage: {api: uring, depth: 32, direct: yes, uring: {sqpoll: yes, batch: 8}}\n"
    _, plan = only(head + FILES + "    steps: [write]\n")
    uring = {"batch": 8, "registered_buffers": False, "registered_files": False, "sqpoll": True, "iopoll": False}
    assert plan["storage"] == {"api": "uring", "direct": True, "depth": 32, "uring": uring}
    _, plan = only(HEAD + "storage: 'null'\n" + FILES + "    steps: [write]\n")
    assert plan["storage"] == {"api": "null"}


def storages(storage: str, steps: str) -> dict[str, Any]:
    """The storage of each job that has one of its own, by the name of its phase."""
    _, plan = only(f"{HEAD}storage: {storage}\n{FILES}    steps: {steps}\n")
    phases = (step for step in plan["steps"] if step["step"] == "phase")
    return {step["name"]: job["storage"] for step in phases for job in step["jobs"] if "storage" in job}


def test_a_step_says_of_its_storage_only_what_is_not_as_the_study_says() -> None:
    steps = "[write, {read: {storage: {direct: yes}}}, {read: {name: again, storage: {api: posix}}}]"
    deep = "{api: uring, depth: 8, uring: {batch: 4}}"
    uring = {"batch": 4, "registered_buffers": False, "registered_files": False, "sqpoll": False, "iopoll": False}
    assert storages(deep, steps) == {
        "read": {"api": "uring", "direct": True, "depth": 8, "uring": uring},
        "again": {"api": "posix"},
    }
    assert storages("mmap", "[write, {read: {storage: {direct: no}}}, {read: {name: r, storage: posix}}]") == {
        "read": {"api": "mmap"},
        "r": {"api": "posix"},
    }


def test_jobs_side_by_side_have_storages_of_their_own_and_so_have_their_commands_and_words() -> None:
    sets = "files: {a: {layout: N-N, order: random, transfer: 4KiB, total: 64KiB, ranks: 1/2}, "
    sets += "b: {layout: N-N, order: random, transfer: 1000, total: 4000, ranks: 1/2}}"
    jobs = "{past: {write: {files: a, storage: {direct: yes}}}, through: {write: {files: b}}}"
    tree = "trees: {t: {items: 4}}"
    last = "{create: {tree: t, storage: {direct: yes}}}"
    case, plan = only(
        f"{HEAD}workloads:\n  w:\n    title: W\n    {sets}\n    {tree}\n"
        f"    steps: [together: {jobs}, create-tree: {{tree: t}}, {last}]\n"
    )
    past, through = plan["steps"][0]["jobs"]
    assert (past["storage"], "storage" in through) == ({"api": "posix", "direct": True}, False)
    commands = [job.command for phase in case.phases for job in phase.jobs]
    assert ["--posix.odirect" in command for command in commands] == [True, False, False, True]
    assert " mdtest -a POSIX --posix.odirect -F " in commands[3]
    words = plan_text.steps(plan)
    assert words.count("through the posix storage API, past the page cache") == 2


@pytest.mark.parametrize(
    ("storage", "start"),
    [
        ("posix", "ior -a POSIX -v"),
        ("{api: uring, depth: 4, direct: yes}", "ior -a AIO --posix.odirect --aio.max-pending=4 -v"),
        ("mmap", "ior -a MMAP -v"),
        ("{vectors: 2}", "ior -a POSIX -v"),
    ],
)
def test_equivalent_command_lines_name_the_api(storage: str, start: str) -> None:
    case, _ = only(f"{HEAD}storage: {storage}\n{FILES}    steps: [write]\n")
    command = case.phases[0].jobs[0].command
    assert start in command
    assert ("each call moved 2 pieces" in command) == ("vectors" in storage)


@pytest.mark.parametrize(
    ("storage", "api", "notes"),
    [
        ("posix", "POSIX", ""),
        ("'null'", "DUMMY", ""),
        ("{api: uring, depth: 4, direct: yes}", "POSIX --posix.odirect", "here through the uring storage API; "),
    ],
)
def test_commands_of_mdtest_have_only_the_apis_and_options_that_it_takes(storage: str, api: str, notes: str) -> None:
    steps = "[create-tree, {create: {limit: {minimum: 1500ms, stonewall: 3s}}}]"
    case, _ = only(f"{HEAD}storage: {storage}\n{TREE}    steps: {steps}\n")
    line, _, notes_of_line = case.phases[1].jobs[0].command.partition("  # ")
    assert line == f"mpirun -np 4 mdtest -a {api} -F -C -I 10 -z 2 -b 3 -L -W 3 -d /t/ioassay-R/w.c002.r1"
    assert notes_of_line.startswith(notes)
    assert notes_of_line.endswith("mdtest has no minimum time; here it was 1500 ms")


def test_the_command_of_a_phase_with_a_runtime_takes_as_long() -> None:
    case, plan = only(f"{HEAD}{FILES}    steps: [write: {{limit: {{runtime: 1500ms}}}}]\n")
    line, _, note = case.phases[0].jobs[0].command.partition("  # ")
    assert " -D 2 -O minTimeDuration=2 " in line
    assert note == "the runtime was 1500 ms; -D takes whole seconds"
    assert "for 1500 ms, starting over when all is done" in plan_text.steps(plan)


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("stonewall: 1500ms", ", for at most 1500 ms (stonewall)"),
        ("minimum: 1s", ", starting over until 1 s has passed"),
        (
            "minimum: 1s, stonewall: 1500ms",
            ", for at most 1500 ms (stonewall), starting over until 1 s has passed",
        ),
    ],
)
def test_limits_of_time_are_stated_as_the_engine_keeps_them(limit: str, words: str) -> None:
    _, plan = only(f"{HEAD}{FILES}    steps: [write: {{limit: {{{limit}}}}}]\n")
    assert f"{words}." in plan_text.steps(plan)


@pytest.mark.parametrize("key", ["stonewall_ns", "minimum_ns"])
def test_refusals_of_a_runtime_name_the_runtime(key: str) -> None:
    text = f"{HEAD}{FILES}    steps: [write: {{limit: {{runtime: 10s}}}}]\n"
    ((case, _),) = expanded(text)
    error: EventError = {
        "event": "error",
        "operation": "check",
        "message": "",
        "remedy": "use independent transfers",
        "refused": {"key": f"steps[0].jobs[0].limit.{key}", "problem": "lets ranks stop at different transfers"},
    }
    (problem,) = problems_of(resolve(parse_source(text, "my.yaml", "study"), None, []), [(case, error)])
    assert str(problem).startswith("my.yaml:13: workloads.w.steps[0].write.limit.runtime: lets ranks stop at")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("N-N", "N-M", "my.yaml:7: workloads.w: has the layout N-M but no `groups`"),
        ("N-N", "N-M\n    groups: 3", "my.yaml:10: workloads.w.groups: 4 ranks cannot be split into 3 equal groups"),
        ("N-N", "N-M\n    groups: [3, 5]", "my.yaml:10: workloads.w.groups: at no point of `w` can the ranks be split"),
        (
            "sequential",
            "strided",
            'my.yaml:10: workloads.w.order: "strided" is not a valid order; write for example `strided 4`',
        ),
        ("sequential", "zipf 11", 'my.yaml:10: workloads.w.order: "11" is out of range; use an exponent above 0'),
        ("sequential", "hot-spot 0% 9%", 'my.yaml:10: workloads.w.order: "0%" is out of range; use 1% to 99%'),
        ("total: 1MiB", "total: 1MiB\n    segments: 2\n    interleave: strided", "my.yaml:7: workloads.w: is strided"),
        ("total: 1MiB", "total: 1MiB\n    files_per_rank: 3", "my.yaml:12: workloads.w.total: 1 MiB of `w` cannot be"),
        ("total: 1MiB", "total: 1MiB\n    ranks: 1/3", "my.yaml:5: ranks_per_client: 4 ranks cannot be split"),
        (
            "total: 1MiB",
            "total: 1MiB\n    ranks: 0/3",
            'my.yaml:13: workloads.w.ranks: "0/3" is not a share of the ranks',
        ),
        ("total: 1MiB", "total: 1MiB\n    payload: uniqe", 'my.yaml:13: workloads.w.payload: "uniqe" is unknown; did'),
        (
            "total: 1MiB",
            "total: 1MiB\n    titel: x",
            "my.yaml:13: workloads.w.titel: unknown key; did you mean `title`",
        ),
        ("[write]", "[mixed]", "my.yaml:13: workloads.w.steps[0].read: is missing; add it: Share"),
        ("[write]", "[write, mixed: 100%]", 'my.yaml:13: workloads.w.steps[1].mixed: "100%" is out of range; use 1%'),
        ("[write]", "[mixed: 70%]", "my.yaml:13: workloads.w.steps[0].mixed: the job reads files that no earlier"),
        ("[write]", "[write: {shift: 1}]", "my.yaml:13: workloads.w.steps[0].write.shift: does not apply to `write`"),
        (
            "[write]",
            "[write: {bytes: 1}]",
            "my.yaml:13: workloads.w.steps[0].write.bytes: does not apply to `write` of",
        ),
        (
            "[write]",
            "[write: {verify: reads}]",
            "my.yaml:13: workloads.w.steps[0].write.verify: the job reads nothing",
        ),
        ("[write]", "[write: {tree: t}]", "my.yaml:13: workloads.w.steps[0].write.tree: there is no tree `t`"),
        ("[write]", "[write: {rate: 5}]", 'my.yaml:13: workloads.w.steps[0].write.rate: "5" is not a rate'),
        ("[write]", "[write: {rate: 0IOPS}]", 'my.yaml:13: workloads.w.steps[0].write.rate: "0IOPS" does nothing'),
        ("[write]", "[write: {think: 10}]", 'my.yaml:13: workloads.w.steps[0].write.think: "10" has no unit'),
        (
            "[write]",
            "[write: {limit: {bytes: 512KiB}}]",
            "my.yaml:13: workloads.w.steps[0].write.limit.bytes: 524288 bytes are more than each rank's 262144",
        ),
        (
            "[write]",
            "[write: {limit: {bytes: 100KiB}}]",
            "my.yaml:13: workloads.w.steps[0].write.limit.bytes: 102400 is not a multiple of the transfer, 65536 "
            "bytes; use 65536 or 131072",
        ),
        (
            "[write]",
            "[write: {limit: {wear_out: yes}}]",
            "my.yaml:13: workloads.w.steps[0].write.limit.wear_out: wear_out needs a stonewall",
        ),
        (
            "[write]",
            "[write: {limit: {minimum: 2s, stonewall: 1s}}]",
            "my.yaml:13: workloads.w.steps[0].write.limit.minimum: 2000000000 ns is longer than the stonewall of",
        ),
        (
            "[write]",
            "[write: {limit: {runtime: 2s, stonewall: 1s}}]",
            "my.yaml:13: workloads.w.steps[0].write.limit: has `runtime` and `stonewall`; leave one out",
        ),
        (
            "[write]",
            "[write: {limit: {runtime: 2d}}]",
            'my.yaml:13: workloads.w.steps[0].write.limit.runtime: "2d"',
        ),
        (
            "[write]",
            "[write: {barriers: yes}]\n    files_per_rank: 2",
            "my.yaml:13: workloads.w.steps[0].write.barriers: barriers need all ranks in the job",
        ),
        ("[write]", "[create]", "my.yaml:13: workloads.w.steps[0]: `w` has no tree for `create`"),
        (
            "[write]",
            "[together: {a: write, b: read}]",
            "my.yaml:13: workloads.w.steps[0].together.b: ranks 0 to 3 already have a job in this phase",
        ),
        ("[write]", "[together: {}]", "my.yaml:13: workloads.w.steps[0].together: is empty"),
        ("clients", "storage: {depth: 8}\nclients", "OK"),
        (
            "clients",
            "storage: {api: uring, uring: {iopoll: yes}}\nclients",
            "my.yaml:4: storage.uring.iopoll: polling (iopoll) works only with direct I/O; set storage.direct",
        ),
        (
            "[write]",
            "[write: {storage: {api: uring, uring: {batch: 2}}}]",
            "my.yaml:13: workloads.w.steps[0].write.storage.uring.batch: a batch of 2 transfers is larger than the "
            "depth of 1",
        ),
        (
            "[write]",
            "[write: {storage: {api: uring, depth: 8}, lock: file}]",
            "my.yaml:13: workloads.w.steps[0].write.lock: transfers cannot be locked one by one while several",
        ),
        (
            "total: 1MiB",
            "total: 1MiB\n    offset: 100\nsteps: [write, read: {storage: {direct: yes}}]\nseed: 1",
            "my.yaml:14: steps[1].read.storage.direct: `offset`: 100 is not a multiple of the sector size",
        ),
        (
            "total: 1MiB",
            "total: 4194304t\nsteps: [write, {write: {name: again}}]\nseed: 1",
            "my.yaml:13: steps: all jobs together write 9223372036854775808 bytes; keep a case at or below",
        ),
        ("[write]", "[find: {storage: posix}]", "my.yaml:13: workloads.w.steps[0].find.storage: unknown key"),
        ("clients", "storage: {depth: 0}\nclients", 'my.yaml:4: storage.depth: "0" is out of range; use 1 to 4096'),
        (
            "total: 1MiB",
            "total: 1MiB\n    offset: 100\nstorage: {direct: yes}\nseed: 1",
            "my.yaml:13: workloads.w.offset: 100 is not a multiple of the sector size that direct I/O needs",
        ),
    ],
)
def test_an_impossible_value_is_refused_where_it_was_written(old: str, new: str, message: str) -> None:
    text = HEAD + FILES + "    steps: [write]\n"
    if "seed: 1" in new:
        text = text.replace("    steps: [write]\n", "") + ("" if "steps:" in new else "steps: [write]\n")
    assert old in text
    text = text.replace(old, new, 1)
    if message == "OK":
        assert expanded(text)
    else:
        messages = refusals(text)
        assert any(line.startswith(message) for line in messages), messages


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            "[create]",
            "steps[0]: the tree's directories do not exist; add an earlier create-tree job",
        ),
        ("[create-tree, stat]", "steps[1]: the items of rank 0 do not exist; add an earlier job"),
        ("[create-tree, create, remove-tree]", "steps[2]: the tree still has items; add an earlier job"),
        ("[create-tree, create, remove, remove]", "steps[3]: two phases of `w` are called `remove`"),
        (
            "[create-tree, {create: {limit: {bytes: 1}}}]",
            "steps[1].create.limit.bytes: metadata work does not support this; use limit.operations",
        ),
        ("[create-tree, {create: {limit: {minimum: 1s}}}]", "steps[1].create.limit.minimum: metadata work"),
        (
            "[create-tree, {create: {limit: {runtime: 1500ms}}}]",
            "steps[1].create.limit.runtime: `create` does each item once, so it ends with the last one; use "
            "`stonewall: 1500ms` and more `items` than fit into this time",
        ),
        (
            "[create-tree, {create: {rate: 1MB/s}}]",
            "steps[1].create.rate: metadata work does not support this; use a rate in IOPS",
        ),
        ("[create-tree, {create: {order: backward}}]", "steps[1].create.order: `backward` is not an order of items"),
        ("[create-tree, create, write]", "steps[2]: `bytes`: 0 does nothing; use 1 or more"),
        (
            "[create-tree, {create: {verify: reads}}]",
            "steps[1].create.verify: `create` cannot verify reads; use `writes`",
        ),
        ("[create-tree, {create: {verify: writes}}]", "steps[1].create.verify: the content of the files is unknown"),
        (
            "[create-tree, {create: {verify: writes, bytes: 9}}]",
            "steps[1].create.verify: the content of the files is unknown; set a payload for the tree",
        ),
        ("[create-tree, {create: {fsync: every 2 writes}}]", "steps[1].create.fsync: `every 2 writes` is not an"),
        ("[create-tree, create, {replace: {bytes: 1}}]", "steps[2].replace.bytes: 1 bytes cannot be read from files"),
        ("[create-tree, create, {replace: {order: random}}]", "steps[2].replace.order: does not apply to `replace`"),
        (
            "[create-tree, {create: {limit: {operations: 3}}}, replace]",
            "steps[2]: a limit may have left more items in some directories",
        ),
        (
            "[create-tree, {create: {limit: {at_rate_of: {phase: creat-tree, time: 1s}}}}]",
            "steps[1].create.limit.at_rate_of.phase: `creat-tree` is not an earlier phase; did you mean",
        ),
        (
            "[create-tree, create, replace, {stat: {limit: {at_rate_of: {phase: replace, time: 1s}}}}]",
            "steps[3].stat.limit.at_rate_of.phase: replace mixes several kinds of operations",
        ),
        ("[{find: {newer_than: create}}]", "steps[0].find.newer_than: `create` is not an earlier phase"),
        ("[create-tree, create, {read: {bytes: 1}}]", "steps[2].read.bytes: 1 bytes cannot be read from files that"),
        ("[create-tree, {create: {using: mknod, bytes: 1}}]", "steps[1].create.using: mknod does not open the file"),
        ("[{create-tree: {limit: {operations: 1}}}]", "steps[0].create-tree.limit: does not apply to `create-tree`"),
        (
            "[create-tree, create, {rename: {limit: {operations: 1}}}, stat]",
            "steps[3]: an earlier job with a limit renames, replaces or removes some",
        ),
        ("[{find: {exactly: 1, at_least: 1}}]", "steps[0].find.exactly: both an exact size and a range of sizes"),
        ("[{find: {tree: tree}}]", "steps[0].find.tree: the directories of the tree `tree` do not exist; add"),
        (
            "[create-tree, {find: {tree: tre}}]",
            "steps[1].find.tree: the directories of the tree `tre` do not exist; did",
        ),
        ("[create-tree, {find: {tree: tree, root: /x}}]", "steps[1].find.tree: both a root and a tree are set"),
        ("[{find: {named: a/b}}]", 'steps[0].find.named: "a/b" cannot match the name of an entry'),
        ("[create-tree, mixed: 70%]", "steps[1]: `w` has no file set to read and write"),
    ],
)
def test_a_tree_is_used_only_as_it_stands(steps: str, message: str) -> None:
    messages = refusals(f"{HEAD}{TREE}    steps: {steps}\n")
    assert any(line.startswith(f"my.yaml:10: workloads.w.{message}") for line in messages), messages


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("displaced: 1", "my.yaml:9: workloads.w.tree.displaced: all ranks share one tree; leave it out"),
        ("names: md-workbench", "my.yaml:9: workloads.w.tree.names: these names do not distinguish the"),
        ("payload: unique", 'payload: "unique" is unknown; use one of `ior-offset`, `ior-timestamp`'),
    ],
)
def test_an_impossible_tree_is_refused(key: str, message: str) -> None:
    text = HEAD + TREE.replace("sharing: shared", f"sharing: shared, {key}") + "    steps: [create-tree]\n"
    assert any(message in line for line in refusals(text)), refusals(text)


def test_too_many_ranks_and_entries_are_refused() -> None:
    text = HEAD + TREE + "    steps: [create-tree]\n"
    (ranks,) = refusals(text.replace("[2]", "[1048576]"))
    wrong = "1048576 clients with 2 ranks each are too many ranks"
    assert ranks == f"my.yaml:4: clients: {wrong}; use at most 1048576 ranks in all"
    (entries,) = refusals(text.replace("depth: 2", "depth: 64"))
    assert entries.startswith("my.yaml:9: workloads.w.tree.depth: depth 64, 3 branches and 10 items in each directory")


def test_a_workload_of_walks_alone_needs_nothing_to_work_on() -> None:
    _, plan = only(f"{HEAD}workloads:\n  w:\n    title: W\n    steps: [find: {{root: /data, at_least: 1GiB}}]\n")
    assert "files" not in plan
    assert plan["steps"][0]["jobs"][0]["work"] == {"kind": "find", "root": "/data", "at_least_bytes": 1 << 30}

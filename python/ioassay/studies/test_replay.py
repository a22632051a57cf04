"""What a study can say of a replay: the plan that it becomes, its words, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ioassay.plans import text as plan_text
from ioassay.store.document import CaseEntry
from ioassay.studies.cases import expand
from ioassay.studies.resolve import resolve
from ioassay.studies.target import Target
from ioassay.studies.test_workloads import HEAD, PLAN_SCHEMA
from ioassay.yaml_models.source import SourceError, parse_source


def one_case(text: str) -> tuple[CaseEntry, Any]:
    study = resolve(parse_source(HEAD + text, "my.yaml", "study"), None, [])
    (case,) = expand(study, "R", Target("directory", "/t"), "local")
    PLAN_SCHEMA.validate(case.plan)
    return case.entry, case.plan


REPLAY = """\
workloads:
  w:
    title: W
    trees:
      in: {items: 8, sharing: shared-items}
      out: {items: 4, sharing: shared-items}
    steps:
      - create-tree: {name: tree-in, tree: in}
      - create-tree: {name: tree-out, tree: out}
      - replay: {name: prepare, streams: [{fill: {tree: in, file_size: 1MiB}}]}
      - replay:
          name: phase-1
          duration: 3s
          streams:
            - read: {tree: in, ranks: 1-3, count: 20, opens: 2, file_size: 1MiB, sizes: {4KiB: 300, 1MiB: 20},
                order: {consecutive: 80, forward: 10, random: 10}, timeline: [1, 0, 3]}
            - write: {tree: out, count: 3, file_size: 10KiB, sizes: 4KiB, sync_every: 3}
            - stat: {tree: in, items: all, ranks: 0, count: 5}
"""


def test_a_replay_becomes_its_streams() -> None:
    (case, plan) = one_case(REPLAY)
    (phase,) = (step for step in plan["steps"] if step.get("name") == "phase-1")
    (job,) = phase["jobs"]
    assert job["work"] == {
        "kind": "replay",
        "duration_ns": 3 * 10**9,
        "streams": [
            {
                "tree": "in",
                "ranks": {"first": 1, "count": 3},
                "items": "own",
                "timeline": [1, 0, 3],
                "operation": {
                    "kind": "read",
                    "count": 20,
                    "opens": 2,
                    "sizes": [{"bytes": 4096, "weight": 300}, {"bytes": 1 << 20, "weight": 20}],
                    "file_bytes": 1 << 20,
                    "region": "whole",
                    "order": {"consecutive": 80, "forward": 10, "random": 10},
                },
            },
            {
                "tree": "out",
                "items": "own",
                "operation": {
                    "kind": "write",
                    "count": 3,
                    "opens": 1,
                    "sizes": [{"bytes": 4096, "weight": 1}],
                    "file_bytes": 10 << 10,
                    "region": "whole",
                    "order": {"consecutive": 1, "forward": 0, "random": 0},
                    "sync_every": 3,
                },
            },
            {
                "tree": "in",
                "ranks": {"first": 0, "count": 1},
                "items": "all",
                "operation": {"kind": "stat", "count": 5},
            },
        ],
    }
    entry = case.phases[-1].jobs[0]
    assert entry.operations == ["write", "read", "open", "close", "sync", "stat"]
    # Each of 4 ranks writes 8 KiB in two transfers and 2 KiB in one, at the end of its file.
    assert entry.sizes["write"] == [(2048, 4), (4096, 8)]
    assert sum(count for _, count in entry.sizes["read"]) == 60
    assert entry.planned_operations == 60 + 6 * 2 + 12 + 4 * 2 + 4 + 5
    assert entry.command == "# neither IOR nor mdtest replays an application"
    assert case.file_set_bytes == 8 * (1 << 20) + 4 * (10 << 10)
    assert case.written_bytes == 8 * (1 << 20) + 4 * (10 << 10)


def test_a_replay_without_the_recorded_pace_has_no_duration() -> None:
    (_, plan) = one_case(REPLAY.replace("duration: 3s", "duration: 3s\n          pace: unlimited"))
    assert "duration_ns" not in plan["steps"][-1]["jobs"][0]["work"]


def test_the_words_for_a_replay_say_its_pace_and_its_first_streams() -> None:
    (_, plan) = one_case(REPLAY)
    text = plan_text.steps(plan)
    assert "replay 1 stream (prepare) as fast as it goes (fill in with 1 MiB a file)" in text
    assert "replay 3 streams (phase-1) within 3 s, no operation before its time (3 ranks each read 20 transfers" in text


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("ranks: 1-3", "ranks: 3-1", 'streams[0].read.ranks: "3-1" are not ranks; write for example 0 or 0-5'),
        ("{4KiB: 300, 1MiB: 20}", "{4KiB: 0}", "has sizes without a weight"),
        ("{4KiB: 300, 1MiB: 20}", "{4KiB: x}", "sizes"),
        ("{consecutive: 80, forward: 10, random: 10}", "{}", "has no weight; set for example `consecutive: 1`"),
        ("sync_every: 3", "sync_evry: 3", "streams[1].write.sync_evry: unknown key"),
        ("- stat: {", "- look: {", "streams[2].look: unknown key; use one of `fill`, `read`"),
        ("- stat: {tree: in", "- stat: {tree: inn", "there is no tree `inn`"),
        ("duration: 3s", "duration: 3s\n          pace: fast", '"fast" is unknown'),
    ],
)
def test_an_impossible_stream_is_refused_with_its_line(old: str, new: str, wrong: str) -> None:
    assert old in REPLAY
    with pytest.raises(SourceError) as refused:
        one_case(REPLAY.replace(old, new))
    assert wrong in str(refused.value)
    assert "my.yaml:" in str(refused.value)


def test_the_phases_of_a_recorded_application_are_replays() -> None:
    replays = "replays: {source: app, processes: 4, duration: 3s, phases: [phase-1, phase-2]}\n"
    with pytest.raises(SourceError, match=r"no workload has a step `replay` called `phase-2`"):
        one_case(replays + REPLAY)

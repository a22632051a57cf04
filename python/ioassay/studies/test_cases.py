"""The sweep, and the plan of each case."""

import json
import math
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.store.document import CaseEntry
from ioassay.studies.cases import expand
from ioassay.studies.conftest import SMALL
from ioassay.studies.library import builtin_studies, find_study
from ioassay.studies.resolve import resolve, scales
from ioassay.studies.target import Target
from ioassay.yaml_models.source import SourceError, parse_source

TARGET = Target("directory", "/mnt/target")
PLAN_SCHEMA = Path(__file__).parents[1] / "schemas/plan.json"

Cases = list[tuple[CaseEntry, Any]]


def cases(text: str, *settings: str, scale: str | None = None) -> Cases:
    resolved = resolve(parse_source(text, "my.yaml", "study"), scale, settings)
    return [(case.entry, case.plan) for case in expand(resolved, "run-1", TARGET, "mpirun")]


def test_a_whole_sweep_ends_before_it_is_repeated(small: str) -> None:
    text = small.replace("steps:", "repetitions: 2\nsteps:", 1)
    assert [case.id for case, _ in cases(text)] == [
        "big.c001.r1",
        "big.c002.r1",
        "big.c004.r1",
        "big.c001.r2",
        "big.c002.r2",
        "big.c004.r2",
    ]


REPEATED = SMALL.replace("steps:", "repetitions: 4\ncase_order: ${order}\nsteps:", 1)


def order(word: str, seed: int = 1) -> list[list[str]]:
    """The points in the order of each repetition."""
    text = REPEATED.replace("  clients: [1, 2, 4]", f"  clients: [1, 2, 4, 8]\n  order: {word}")
    ids = [case.id for case, _ in cases(text.replace("\nworkloads:", f"\nseed: {seed}\nworkloads:"))]
    suffixes = [f".r{repetition}" for repetition in range(1, 5)]
    return [[name.removesuffix(suffix) for name in ids if name.endswith(suffix)] for suffix in suffixes]


def test_interleaved_cases_run_back_every_second_time() -> None:
    first, second, third, fourth = order("interleaved")
    assert first == third == order("as-written")[0]
    assert second == fourth == first[::-1]


def test_randomised_cases_run_in_another_order_each_time_and_in_the_same_again_for_a_seed() -> None:
    shuffled = order("randomised")
    assert {tuple(sorted(repetition)) for repetition in shuffled} == {tuple(order("as-written")[0])}
    assert len({tuple(repetition) for repetition in shuffled}) > 1
    assert shuffled == order("randomised")
    assert shuffled != order("randomised", seed=2)


def test_the_order_changes_nothing_of_what_a_case_does() -> None:
    text = REPEATED.replace("settings:", "settings:\n  order: as-written")
    plans = [
        {case.id: plan for case, plan in cases(text, f"order={word}")}
        for word in ("as-written", "randomised", "interleaved")
    ]
    assert plans[0] == plans[1] == plans[2]


def test_the_most_repetitions_of_a_stop_rule_all_stand_in_the_run(small: str) -> None:
    text = small.replace("steps:", "repetitions: until 5 %, at most 7\nsteps:", 1)
    assert [case.repetition for case, _ in cases(text)] == [repetition for repetition in range(1, 8) for _ in range(3)]


def test_the_plan_says_everything_that_the_engine_needs(small: str) -> None:
    case, plan = cases(small, scale="tiny")[1]
    seed = plan.pop("seed")
    assert 0 <= seed < 2**64
    assert plan == {
        "version": 2,
        "run": "run-1",
        "case": "big.c002.r1",
        "target": {"directory": "/mnt/target"},
        "storage": {"api": "posix"},
        "ranks": {"clients": 2, "per_client": 1},
        "files": {
            "data": {
                "layout": "N-N",
                "files_per_rank": 1,
                "transfer_bytes": 1 << 20,
                "block_bytes": 2 << 20,
                "segments": 1,
                "payload": {"kind": "repeated"},
            }
        },
        "steps": [
            {"step": "phase", "name": "write", "jobs": [{"name": "write", "work": data("write", "at-close")}]},
            {"step": "pause", "duration_ns": 10**9},
            {"step": "cold-cache", "attempts": ["fadvise"]},
            {"step": "phase", "name": "read", "jobs": [{"name": "read", "work": data("read", "never")}]},
        ],
        "sample_interval_ns": 10**9,
    }
    assert (case.file_set_bytes, case.written_bytes, case.state) == (4 << 20, 4 << 20, "pending")
    assert case.measured == [(case.id, name, name, name) for name in ("write", "read")]


def data(transfer: str, fsync: str) -> dict[str, Any]:
    return {"kind": "data", "files": "data", "transfer": transfer, "order": "sequential", "fsync": fsync}


def test_a_phase_may_have_its_own_name_order_and_fsync(small: str) -> None:
    step = "- read: {name: again, order: random-with-replacement}"
    text = small.replace("  - write\n", "  - write: {fsync: never}\n").replace("- read", step)
    _, plan = cases(text)[0]
    assert plan["steps"][0]["jobs"][0]["work"]["fsync"] == "never"
    (job,) = plan["steps"][3]["jobs"]
    assert (plan["steps"][3]["name"], job["name"]) == ("again", "again")
    assert job["work"]["order"] == "random-with-replacement"


def test_cases_differ_in_their_seed_and_repeat_it() -> None:
    seeds = [plan["seed"] for _, plan in cases(SMALL)]
    assert len(set(seeds)) == len(seeds)
    assert seeds == [plan["seed"] for _, plan in cases(SMALL)]
    assert seeds != [plan["seed"] for _, plan in cases(SMALL.replace("steps:", "seed: 2\nsteps:", 1))]


@pytest.mark.parametrize(
    ("name", "scale"),
    [(name, scale) for name, source in builtin_studies().items() for scale in [None, *scales(source)]],
)
def test_plans_of_built_in_studies_fit_the_protocol(name: str, scale: str | None) -> None:
    plans = [case.plan for case in expand(resolve(find_study(name), scale, []), "run-1", TARGET, "local")]
    assert json.loads(json.dumps(plans)) == plans
    if not PLAN_SCHEMA.exists():
        pytest.skip("schemas/plan.json is not generated")
    validator = jsonschema.Draft202012Validator(json.loads(PLAN_SCHEMA.read_text()))
    for plan in plans:
        validator.validate(plan)


@st.composite
def valid_sweeps(draw: st.DrawFn) -> str:
    """Studies that can be, of every shape."""
    clients = sorted(draw(st.sets(st.integers(1, 64), min_size=1, max_size=5)))
    per_client = draw(st.integers(1, 8))
    segments = draw(st.integers(1, 5))
    transfer = draw(st.sampled_from([1, 47008, 4096, 1 << 20]))
    key = draw(st.sampled_from(["total", "per_client"]))
    sharers = per_client * (math.lcm(*clients) if key == "total" else 1)
    size = draw(st.integers(1, 4)) * transfer * segments * sharers
    layout = draw(st.sampled_from(["N-N", "N-1"]))
    order = draw(st.sampled_from(["sequential", "random"]))
    return f"""\
name: any
title: Any
question: Any?
clients: {clients}
ranks_per_client: {per_client}
repetitions: {draw(st.integers(1, 3))}
steps: [write, read]
workloads:
  a: {{title: A, layout: {layout}, order: {order}, transfer: {transfer}, segments: {segments}, {key}: {size}}}
  b: {{title: B, layout: N-N, order: random, transfer: 4k, per_client: {per_client * 4}k}}
"""


@given(valid_sweeps())
def test_blocks_add_up_to_the_file_set_in_every_case(study: str) -> None:
    expanded = cases(study)
    ids = [case.id for case, _ in expanded]
    assert len(set(ids)) == len(ids)
    for case, plan in expanded:
        files, ranks = plan["files"]["data"], plan["ranks"]["clients"] * plan["ranks"]["per_client"]
        assert re.fullmatch(r"[A-Za-z0-9._-]{1,128}", case.id)
        assert files["block_bytes"] > 0
        assert files["block_bytes"] % files["transfer_bytes"] == 0
        assert files["block_bytes"] * files["segments"] * ranks == case.file_set_bytes
        assert case.written_bytes == case.file_set_bytes


@given(clients=st.sets(st.integers(1, 40), min_size=1, max_size=4), total=st.integers(1, 1 << 34))
def test_a_total_that_is_refused_comes_with_totals_that_work(clients: set[int], total: int) -> None:
    typed = f"clients={','.join(map(str, sorted(clients)))}"
    refusals: list[str] = []
    try:
        cases(SMALL, typed, f"total={total}")
    except SourceError as error:
        refusals.append(error.message)
    for refusal in refusals:
        for instead in refusal.rsplit("use ", 1)[1].split(" or "):
            assert cases(SMALL, typed, f"total={instead}")

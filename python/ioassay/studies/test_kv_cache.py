"""What a study can say of key-value caches: the plan that it becomes, its words, and what is refused."""

from __future__ import annotations

import pytest

from ioassay.plans import text as plan_text
from ioassay.studies.library import find_study
from ioassay.studies.needs import overview
from ioassay.studies.refusals import refuse
from ioassay.studies.resolve import resolve
from ioassay.studies.test_replay import one_case
from ioassay.studies.test_workloads import HEAD
from ioassay.yaml_models.source import SourceError, parse_source

KV_CACHE = """\
storage: {api: posix, direct: yes}
workloads:
  w:
    title: W
    layout: N-N
    order: sequential
    transfer: 64k
    per_file: 128k
    files_per_rank: 40
    steps:
      - kv-cache: {time: 20s, requests: 500, users: 4, object_tokens: 64, memory: 1m, turns: 1 to 4, popularity: 0.9,
          prompt_tokens: 100, first_token: 2s, verify: yes}
"""


def test_a_step_becomes_work_on_its_objects() -> None:
    _, plan = one_case(KV_CACHE)
    (files,) = plan["files"]
    (step,) = plan["steps"]
    (job,) = step["jobs"]
    assert job["limit"] == {"stonewall_ns": 20 * 10**9, "operations_per_rank": 500}
    assert job["work"] == {
        "kind": "kv-cache",
        "files": files,
        "object_tokens": 64,
        "users": 4,
        "contexts": {"count": 100, "tokens": {"least": 2048, "most": 8192}, "exponent": 0.9},
        "turns": {"least": 1, "most": 4},
        "prompt_tokens": {"least": 100, "most": 100},
        "answer_tokens": {"least": 64, "most": 512},
        "prefill_tokens_per_s": 10_000,
        "decode_tokens_per_s": 50,
        "think_ns": 0,
        "memory_objects": 8,
        "first_token_deadline_ns": 2 * 10**9,
        "verify": True,
    }
    assert plan["files"][files]["payload"] == {"kind": "unique"}, "unless another is asked for"
    (words,) = plan_text.each_step(plan)
    assert words.startswith("answer requests with the key-value cache, 4 users of each rank, conversations of 1 to 4")
    assert "100 tokens for each request and 64 to 512 for its answer" in words
    assert "8 objects in the memory of each rank" in words


@pytest.mark.parametrize(
    ("replaced", "by", "place", "instead"),
    [
        ("time: 20s, requests: 500, ", "", "steps[0].kv-cache", "`time: 60s`"),
        ("turns: 1 to 4", "turns: 4 to 1", "steps[0].kv-cache.turns", "write `1 to 4`"),
        ("popularity: 0.9", "popularity: much", "steps[0].kv-cache.popularity", "write 0 to 10"),
        ("popularity: 0.9", "popularity: 11", "steps[0].kv-cache.popularity", "write 0 to 10"),
        ("users: 4", "users: 2000", "steps[0].kv-cache.users", "use 1 to 1024"),
        ("prompt_tokens: 100", "prompt_tokens: 0", "steps[0].kv-cache.prompt_tokens", "use 1 or more"),
        ("turns: 1 to 4", "turns: 1 to 1073741824", "steps[0].kv-cache.turns", "use fewer turns"),
        ("per_file: 128k", "per_file: 256k\n    offset: 64k", "offset", "no offset"),
        ("order: sequential", "order: sequential\n    payload: zero", "payload", "use unique"),
        ("users: 4,", "users: 4, files: other,", "steps[0].kv-cache.files", "data"),
        ("users: 4,", "users: 4, context_tokens: 5 to x,", "steps[0].kv-cache.context_tokens", "digits only"),
    ],
)
def test_what_cannot_be_served_is_refused_where_it_stands(replaced: str, by: str, place: str, instead: str) -> None:
    assert replaced in KV_CACHE
    with pytest.raises(SourceError) as raised:
        refuse(resolve(parse_source(HEAD + KV_CACHE.replace(replaced, by), "s.yaml", "study"), None, []))
    (problem,) = raised.value.problems
    message = str(problem)
    assert place.rsplit(".", 1)[-1] in message, message
    assert instead in message, message


def test_the_built_in_study_has_scales_and_says_what_lies_on_the_target() -> None:
    needs = {of.scale: of for of in overview(find_study("kv-cache")).needs}
    assert set(needs) == {"full", "node", "laptop"}
    assert needs["laptop"].at_once_bytes == 2 << 30
    assert needs["full"].at_once_bytes == 2 << 40

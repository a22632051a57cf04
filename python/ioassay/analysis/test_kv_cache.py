"""What a key-value cache gains, from the sums of its servers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from ioassay.analysis.kv_cache import served, servings
from ioassay.analysis.names import Names
from ioassay.reports.run.kv_cache import answer, sentence
from ioassay.store import schema
from ioassay.store.loaded import LoadedRun
from ioassay.studies.test_kv_cache import KV_CACHE
from ioassay.studies.test_workloads import HEAD
from ioassay.testing.measured_study import measured

MS = 1_000_000


def row(case: str, rank: int, **others: Any) -> dict[str, Any]:
    """Ten requests of 400 ms, of which reads took 100 and prefill 200: of 1,000 tokens each half was capacity."""
    tokens = {
        "prompt_tokens": 10_000,
        "memory_tokens": 1_000,
        "storage_tokens": 4_000,
        "recomputed_tokens": 500,
        "new_tokens": 4_500,
    }
    times = {
        "first_token_ns": 4_000 * MS,
        "read_ns": 1_000 * MS,
        "queue_ns": 900 * MS,
        "prefill_ns": 2_000 * MS,
        "answer_ns": 9_000 * MS,
    }
    counts = {"requests": 10, "answers": 8, "answer_tokens": 800, "stored": 50, "evicted": 5, "not_stored": 0}
    in_time = {"first_token_deadline_ns": 500 * MS, "first_tokens_in_time": 9, "answers_in_time": None}
    key = {"case": case, "phase": "kv-cache", "job": "kv-cache", "operation": "request", "rank": rank}
    return {**key, "node": "client00", "users": 4, **tokens, **times, **counts, **in_time, **others}


def run_with(rows: list[dict[str, Any]], study: str = KV_CACHE) -> LoadedRun:
    return replace(measured(HEAD + study), kv_cache=pl.DataFrame(rows, schema=schema.KV_CACHE))


def test_shares_and_the_speed_up_are_of_all_servers_together() -> None:
    case = measured(HEAD + KV_CACHE).document.cases[0].id
    run = run_with([row(case, 0), row(case, 1, first_token_ns=6_000 * MS, read_ns=3_000 * MS)])
    (serving,) = servings(run)
    assert (serving.servers, serving.users, serving.requests) == (2, 8, 20)
    assert serving.hit_share == pytest.approx(0.5)
    assert serving.storage_share == pytest.approx(0.4)
    assert serving.mean_first_token_ns == pytest.approx(500 * MS)
    assert serving.read_time_share == pytest.approx(0.4)
    # 8,000 tokens read in 4 s, and 10,000 computed in 4 s.
    assert serving.read_tokens_per_s == pytest.approx(2_000)
    assert serving.speed_up == pytest.approx(2_000 / 2_500)
    assert serving.first_tokens_in_time_share == pytest.approx(0.9)
    assert serving.answers_in_time_share is None
    assert serving.slowest_rank == 1
    assert serving.slowest_first_token_ns == pytest.approx(600 * MS)
    message = sentence(serving, Names(run.document))
    assert "storage answers 40 % of the tokens of 20 requests" in message
    assert "Reading a token is 1.25 times slower than computing it" in message
    assert "5.0 % had been stored and were computed again" in message


def test_nothing_that_was_read_or_computed_has_no_speed_up() -> None:
    case = measured(HEAD + KV_CACHE).document.cases[0].id
    none = {"storage_tokens": 0, "read_ns": 0, "new_tokens": 8_500}
    (serving,) = servings(run_with([row(case, 0, **none)]))
    assert serving.speed_up is None
    (serving,) = servings(run_with([row(case, 0, requests=0, prompt_tokens=0, first_token_ns=0)]))
    assert serving.mean_first_token_ns == 0


SWEPT = KV_CACHE.replace("    steps:", "    sweep: {steps.kv-cache.users: [2, 4, 8]}\n    steps:").replace(
    "users: 4, ", ""
)


def test_the_answer_names_the_most_users_in_time_and_the_first_number_that_is_not() -> None:
    in_time = {2: 10, 4: 10, 8: 7}

    def rows(in_time: dict[int, int]) -> list[dict[str, Any]]:
        cases = measured(HEAD + SWEPT).document.cases
        of_case = ((case.id, int(case.point["steps.kv-cache.users"])) for case in cases)
        return [row(case, 0, users=users, first_tokens_in_time=in_time[users]) for case, users in of_case]

    run = run_with(rows(in_time), SWEPT)
    (capacity,) = served(run, servings(run))
    assert [(count.users, count.in_time) for count in capacity.counts] == [(2, 1.0), (4, 1.0), (8, 0.7)]
    assert capacity.most is not None
    assert capacity.most.users == 4
    message = answer(capacity, Names(run.document))
    assert message.endswith(
        "4 users have their first tokens within 500 ms (100 % of them), but not 8 (70 % of their first tokens, where "
        "95 % are needed)."
    )
    run = run_with(rows({2: 10, 4: 10, 8: 10}), SWEPT)
    (capacity,) = served(run, servings(run))
    assert answer(capacity, Names(run.document)).endswith("(100 % of them), the most that were tried.")
    run = run_with(rows({2: 5, 4: 10, 8: 10}), SWEPT)
    (capacity,) = served(run, servings(run))
    assert capacity.most is None
    assert "2 users do not have their first tokens within 500 ms (50 %" in answer(capacity, Names(run.document))

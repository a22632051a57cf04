"""A key-value cache from a study to a report: users of two servers, tokens that were read, and deadlines."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from .support import ioassay, report_json

STUDY = """\
name: small
title: Small cache
question: Does it work?
clients: [1]
ranks_per_client: 2
sample_interval: 100ms
workloads:
  small:
    title: Small
    layout: N-N
    order: sequential
    transfer: 64k
    per_file: 64k
    files_per_rank: 40
    sweep: {steps.kv-cache.users: [1, 3]}
    steps:
      - kv-cache: {requests: 30, time: 60s, object_tokens: 32, contexts: 5, context_tokens: 64 to 200,
          prompt_tokens: 8 to 60, answer_tokens: 8 to 40, prefill: 100000, decode: 10000, first_token: 5s, verify: yes}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scratch = tmp_path_factory.mktemp("kv-cache")
    (scratch / "small.yaml").write_text(STUDY)
    target = scratch / "target"
    target.mkdir()
    code, out, err = ioassay("run", scratch / "small.yaml", "--target", target, "--out", scratch / "run")
    assert code == 0, err
    output = " ".join(out.split())
    assert "6 users have their first tokens within 5.00 s" in output
    assert "Reading a token is" in output
    assert "requests/s" in out + err
    assert list(target.iterdir()) == [], "no object is left"
    return scratch / "run"


def test_the_report_says_what_the_cache_saved(run: Path) -> None:
    document = report_json(run)
    assert [serving["users"] for serving in document["kv_cache"]] == [2, 6]
    for serving in document["kv_cache"]:
        assert serving["servers"] == 2
        assert serving["requests"] >= 60
        assert serving["storage_tokens"] > 0
        assert serving["memory_tokens"] == 0
        assert 0 < serving["hit_share"] < 1
        tokens = sum(serving[f"{of}_tokens"] for of in ("memory", "storage", "recomputed", "new"))
        assert tokens == serving["prompt_tokens"]
    (users,) = document["users"]
    assert (users["served"], users["first_token_deadline_ns"]) == (6, 5 * 10**9)
    requests = [row for row in document["measurements"] if row["operation"] == "request"]
    assert len(requests) == 2
    assert all(row["valid"] for row in requests)


def test_the_table_has_a_row_for_each_server(run: Path) -> None:
    table = pl.read_parquet(run / "kv_cache.parquet")
    assert table["rank"].to_list() == [0, 1, 0, 1]
    assert table["stored"].min() > 0
    code, page, err = ioassay("report", run, "--format", "md", "--full")
    assert code == 0, err
    assert "## Key-value cache" in page or "### Key-value cache" in page
    assert "First in time" in page

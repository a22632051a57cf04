"""Checkpoints from a study to a report: generations that are saved, kept and restored, and what they cost training."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from .support import ioassay, report_json

STUDY = """\
name: small
title: Small checkpoints
question: Does it work?
clients: [1]
ranks_per_client: 4
sample_interval: 100ms
workloads:
  small:
    title: Small
    checkpoints:
      small: {parameters: 1000001, tensor: 2, zero: 1, keep: 2}
    steps:
      - save-checkpoint: {count: 3, every: 50ms, rename: yes, transfer: 1m}
      - cold-cache: [fadvise]
      - restore-checkpoint: {count: 2, shift: 1, verify: yes}
"""

GENERATION_BYTES = 14 * 1_000_001


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scratch = tmp_path_factory.mktemp("checkpoint")
    (scratch / "small.yaml").write_text(STUDY)
    target = scratch / "target"
    target.mkdir()
    code, out, err = ioassay("run", scratch / "small.yaml", "--target", target, "--out", scratch / "run")
    assert code == 0, err
    assert "a checkpoint of 13.4 MiB stalls training for" in " ".join(out.split()), out
    assert "(checkpoint)" in err + out
    assert list(target.iterdir()) == [], "all generations are removed with the run's workspace"
    return scratch / "run"


def test_a_report_says_what_checkpoints_cost_training(run: Path) -> None:
    save, restore = report_json(run)["checkpoints"]
    assert (save["is_save"], restore["is_save"]) == (True, False)
    assert [generation["number"] for generation in save["generations"]] == [0, 1, 2]
    assert [generation["number"] for generation in restore["generations"]] == [1, 2]
    for phase in (save, restore):
        assert (phase["ranks"], phase["bytes"], phase["valid"]) == (4, GENERATION_BYTES, True)
        for generation in phase["generations"]:
            assert generation["bytes"] == GENERATION_BYTES
            assert 0 < generation["median_ns"] <= generation["slowest_ns"] <= generation["stall_ns"]
            assert 0 <= generation["fsync_ns"] + generation["fill_ns"] < generation["slowest_ns"]
    assert all(generation["fsync_share"] > 0 for generation in save["generations"])
    # Ranks compute for 50 ms before each save, and do nothing else between restores.
    stalls_ns = sum(generation["stall_ns"] for generation in save["generations"])
    assert save["stall_share"] == pytest.approx(stalls_ns / (stalls_ns + 3 * 50e6), rel=0.2)
    assert restore["cached_bytes"] == 0


def test_tables_have_a_row_for_each_rank_and_generation(run: Path) -> None:
    table = pl.read_parquet(run / "checkpoints.parquet")
    assert table.select("phase", "rank", "generation").rows() == [
        (phase, rank, generation)
        for phase, generations in (("save-checkpoint", (0, 1, 2)), ("restore-checkpoint", (1, 2)))
        for rank in range(4)
        for generation in generations
    ]
    # The first instance has the model and its share of the optimizer's state, the second its share of that.
    saved = table.filter((pl.col("phase") == "save-checkpoint") & (pl.col("generation") == 0))
    assert saved["bytes"].to_list() == [
        2 * 500_001 + 12 * 250_001,
        2 * 500_000 + 12 * 250_000,
        12 * 250_000,
        12 * 250_000,
    ]


def test_a_page_has_the_answer_and_the_generations(run: Path) -> None:
    code, text, err = ioassay("report", run, "--format", "md")
    assert code == 0, err
    assert "a checkpoint of 13.4 MiB stalls training for" in text
    assert "restoring 13.4 MiB takes" in text
    assert "| Generation |" in text
    assert "None of them is a result of MLPerf Storage" in text
    for form in ("html", "csv"):
        code, _, err = ioassay("report", run, "--format", form, "-o", run.parent / f"report.{form}")
        assert code == 0, err


def test_saves_beside_computation_stall_it_for_less_than_they_take(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(STUDY.replace("every: 50ms, rename: yes", "every: 1s, background: 10GB/s"))
    (tmp_path / "target").mkdir()
    code, _, err = ioassay("run", tmp_path / "small.yaml", "--target", tmp_path / "target", "--out", tmp_path / "run")
    assert code == 0, err
    save, restore = report_json(tmp_path / "run")["checkpoints"]
    assert len(save["generations"]) == 3
    for generation in save["generations"]:
        # The first rank copies 4 MB at 10 GB/s.
        assert 400_000 <= generation["stall_ns"] < generation["slowest_ns"]
        assert generation["fsync_ns"] > 0
    assert restore["valid"], "what was saved beside computation is complete, and is verified"
    assert list((tmp_path / "target").iterdir()) == []


def test_what_mlperf_storage_would_say_is_known_before_a_run() -> None:
    code, text, err = ioassay("run", "llama3-8b", "--dry-run", "--json", "--set", "fsync=no")
    assert code == 0, err
    (judgement,) = json.loads(text)["mlperf_storage"]
    assert (judgement["model"], judgement["verdict"]) == ("llama3-8b", "invalid")
    code, text, err = ioassay("run", "llama3-8b", "--dry-run")
    assert code == 0, err
    assert "llama3-8b with 8 ranks would be closed. No result of ioassay is one of MLPerf Storage." in " ".join(
        text.split()
    )


def test_a_target_without_room_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "large.yaml").write_text(STUDY.replace("parameters: 1000001", "model: llama3-1t"))
    (tmp_path / "target").mkdir()
    code, _, err = ioassay("run", tmp_path / "large.yaml", "--target", tmp_path / "target", "--out", tmp_path / "run")
    assert code == 3, err
    assert "TiB" in err
    assert list((tmp_path / "target").iterdir()) == []

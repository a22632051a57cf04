"""Training from a study to a report: a dataset that is created and removed, epochs, how busy accelerators were kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from .support import ioassay

STUDY = """\
name: small
title: Small training
question: Does it work?
clients: [1]
ranks_per_client: 2
sample_interval: 100ms
workloads:
  small:
    title: Small
    datasets:
      images: {samples: 96, size: 64k, deviation: 20k}
    steps:
      - create-dataset
      - train: {epochs: 2, batch: 4, compute: 10ms, loader_threads: 2, verify: yes, cold-cache: [fadvise]}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scratch = tmp_path_factory.mktemp("train")
    (scratch / "small.yaml").write_text(STUDY)
    target = scratch / "target"
    target.mkdir()
    code, out, err = ioassay("run", scratch / "small.yaml", "--target", target, "--out", scratch / "run")
    assert code == 0, err
    assert "kept 2 accelerators" in " ".join(out.split()), out
    assert list(target.iterdir()) == [], "the dataset is removed with the run's workspace"
    return scratch / "run"


def document(run: Path) -> dict[str, Any]:
    code, text, err = ioassay("report", run, "--format", "json")
    assert code == 0, err
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def test_a_report_says_how_busy_the_accelerators_were_kept(run: Path) -> None:
    (training,) = document(run)["training"]
    assert training["accelerators"] == 2
    assert [epoch["phase"] for epoch in training["epochs"]] == ["epoch-1", "epoch-2"]
    for epoch in training["epochs"]:
        assert (epoch["steps"], epoch["samples"], epoch["loader_threads"]) == (12, 96, 2)
        # Twelve steps of 10 ms, and the wait for the first batch at least.
        assert 0 < epoch["utilisation"] < 1
        assert epoch["utilisation"] * epoch["duration_ns"] >= 0.9 * 120e6
        assert epoch["dlio_release"] <= epoch["dlio_repository"]
        assert epoch["asked_bytes"] == epoch["read_bytes"] > 96 * 50_000
        assert epoch["first_batch_ns"] > 0


def test_tables_have_a_row_for_each_accelerator_and_epoch(run: Path) -> None:
    training = pl.read_parquet(run / "training.parquet")
    assert training.select("phase", "rank").rows() == [(f"epoch-{epoch}", rank) for epoch in (1, 2) for rank in (0, 1)]
    assert training["steps"].to_list() == [12] * 4


def test_a_page_has_the_answer_and_the_epochs(run: Path) -> None:
    code, text, err = ioassay("report", run, "--format", "md")
    assert code == 0, err
    assert "storage kept 2 accelerators" in text
    assert "| epoch-2 |" in text
    assert "None of them is a result of MLPerf Storage" in text

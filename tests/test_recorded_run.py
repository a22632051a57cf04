"""A run with recorded engines: the recorder and the engine have equal counts, and the run ends like any other."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import polars as pl
import pytest

from ioassay.analysis.profile import coverage
from ioassay.profiles import sources as profiles
from ioassay.profiles.records.profile import load_profile
from ioassay.store.run_directory import load

from .support import LONG, Measurement, ioassay, is_gone, states, study, until, workload


def test_the_recorder_counts_what_the_engine_measures(target: Path, tmp_path: Path) -> None:
    file = study(tmp_path, workload("nn"), workload("n1", layout="N-1", order="random", transfer="4KiB"))
    code, _, err = ioassay("run", file, "--record", "--target", target, "--out", tmp_path / "run")
    assert code == 0, err
    run = load(tmp_path / "run")
    for case in run.document.cases:
        profile = load_profile([tmp_path / "run" / "logs" / case.id / "record"])
        of_target = profile.files.filter(pl.col("path").str.starts_with(f"{target}/")).select("file")
        moved = pl.col("operation").is_in(["read", "write"]) & (pl.col("bytes") >= 4096)
        recorded = profile.file_operations.join(of_target, on="file").filter(moved)
        measured = run.measurements.filter(pl.col("case") == case.id)
        sums = recorded.group_by("operation").agg(pl.sum("calls", "bytes"))
        assert sorted(sums.rows()) == sorted(measured.select("phase", "operations", "bytes").rows())
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGUSR1"])
def test_a_signal_ends_a_recorded_run_in_order(target: Path, tmp_path: Path, name: str) -> None:
    measurement = Measurement(study(tmp_path, LONG), target, tmp_path / "run", "--record")
    measurement.until_moving()
    os.kill(measurement.pid, signal.Signals[name])
    code, _, err = measurement.end()
    assert code == 3
    assert f"{name}: stopping" in err
    assert set(states(measurement.document).values()) == {"interrupted"}
    assert list(target.iterdir()) == []
    (case,) = measurement.document.cases
    calls = load_profile([measurement.out / "logs" / case.id / "record"]).file_operations
    assert calls.filter(pl.col("operation") == "write")["calls"].sum() > 1000


def test_a_recorded_engine_ends_with_the_command_that_is_killed(target: Path, tmp_path: Path) -> None:
    measurement = Measurement(study(tmp_path, LONG), target, tmp_path / "run", "--record")
    measurement.until_moving()
    recorder, guard = measurement.guard, measurement.engine
    os.kill(measurement.pid, signal.SIGKILL)
    measurement.end()
    until(lambda: is_gone(recorder) and is_gone(guard), "the engine to end")
    assert list(target.iterdir()) == []


def test_the_recorder_counts_what_the_engine_does_through_io_uring(target: Path, tmp_path: Path) -> None:
    ring = {"storage": "{api: uring, depth: 4}"}
    file = study(tmp_path, workload("nn", **ring), workload("n1", layout="N-1", **ring), workload("plain"))
    code, _, err = ioassay("run", file, "--record", "--target", target, "--out", tmp_path / "run")
    assert code == 0, err
    run = load(tmp_path / "run")
    profile = profiles.load_profile([tmp_path / "run"])
    # Not once more from the events of the engines.
    assert (profile.supplements, profile.losses) == ((), ())
    moved = pl.col("operation").is_in(["read", "write", "submit read", "submit write"])
    of_target = profile.files.filter(pl.col("path").str.contains(r"\.data(\.\d{8})?$"))
    recorded = profile.file_operations.join(of_target.select("file"), on="file", how="semi").filter(moved)
    sums = recorded.with_columns(pl.col("operation").str.strip_prefix("submit "))
    measured = run.measurements.group_by("phase").agg(pl.sum("operations", "bytes"))
    assert sorted(sums.group_by("operation").agg(pl.sum("calls", "bytes")).rows()) == sorted(measured.rows())
    handed_over = profile.process_operations.filter(pl.col("operation").str.starts_with("submit"))
    ringed = run.measurements.filter(~pl.col("case").str.starts_with("plain"))
    assert handed_over["bytes"].sum() == ringed["bytes"].sum()
    assert handed_over["process"].n_unique() == run.ranks.select("case", "rank").unique().height - 2
    assert not coverage.coverage(profile).doubts

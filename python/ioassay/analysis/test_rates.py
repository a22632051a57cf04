from __future__ import annotations

import pytest

from ioassay.analysis import rates
from ioassay.analysis.rates import typical
from ioassay.testing.builder import RunBuilder


def test_there_is_a_point_per_repetition_and_a_median_per_sweep_point() -> None:
    run = RunBuilder().workload("w").clients(1, 2).repetitions(3).rates("w", "read", 2, 1e9, 3e9, 2e9).build()
    points = rates.of(rates.points(run.measurements), "w", "read")
    medians = rates.medians(points, "rate_bytes_per_s")
    assert points.height == 6
    assert medians["clients"].to_list() == [1, 2]
    assert medians["repetitions"].to_list() == [3, 3]
    second = medians.row(1, named=True)
    assert [second[name] / 1e9 for name in ("lowest", "median", "highest")] == pytest.approx([1, 2, 3], abs=1e-3)
    assert [second["low"], second["high"]] == [second["lowest"], second["highest"]]
    assert second["confidence"] == 0.75
    assert second["stonewall"] is None


def test_invalid_measurements_are_points_but_not_in_the_median() -> None:
    builder = RunBuilder().workload("w").clients(1).repetitions(2).rates("w", "write", 1, 1e9, 5e9)
    run = builder.doubt("w-c1-r2", "write", "failed", invalidates=True).build()
    points = rates.of(rates.points(run.measurements), "w", "write")
    assert points["valid"].to_list() == [True, False]
    assert round(rates.medians(points, "rate_bytes_per_s")["median"].item() / 1e9, 3) == 1


def test_a_run_without_measurements_has_no_points() -> None:
    run = RunBuilder().workload("w").stop_after(0).build()
    assert rates.medians(rates.points(run.measurements), "rate_bytes_per_s").is_empty()


def test_the_typical_repetition_is_the_valid_one_nearest_the_median() -> None:
    builder = RunBuilder().workload("w").clients(1, 2).repetitions(4).rates("w", "write", 1, 1e9, 4e9, 3e9, 2e9)
    builder.rates("w", "write", 2, 1e9, 1e9, 9e9, 1e9).doubt("w-c1-r2", "write", "failed", invalidates=True)
    chosen = typical(builder.build().measurements).filter(phase="write").sort("clients")
    assert chosen.select("clients", "repetition").rows() == [(1, 4), (2, 1)]


def test_the_first_repetition_is_typical_if_none_is_valid() -> None:
    builder = RunBuilder().workload("w").clients(1).repetitions(2)
    for repetition in (1, 2):
        builder.doubt(f"w-c1-r{repetition}", "read", "failed", invalidates=True)
    chosen = typical(builder.build().measurements)
    assert chosen.filter(phase="read")["repetition"].to_list() == [1]
    assert chosen.height == 2, "a row for each point: write and read"

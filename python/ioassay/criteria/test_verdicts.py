from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from ioassay.analysis.test_feeding import swept
from ioassay.analysis.test_training import MS
from ioassay.criteria import verdicts
from ioassay.criteria.model import read
from ioassay.criteria.verdicts import slow_share
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import KEY, Measurement
from ioassay.store.schema import SAMPLES
from ioassay.testing.builder import CALM, RunBuilder, run_of_writes
from ioassay.yaml_models.source import SourceError


def written(directory: Path, *lines: str) -> Path:
    file = directory / "criteria.yaml"
    file.write_text("criteria:\n" + "".join(f"  - {{{line}}}\n" for line in lines))
    return file


@pytest.mark.parametrize(
    ("criterion", "judgements"),
    [
        ("operation: write, sustained: 900MB/s", ["passed"]),
        ("operation: write, sustained: 1GB/s, peak: 900MB/s", ["passed", "failed"]),
        ("operation: write, every_point: 900IOPS", ["passed"]),
        ("operation: write, every_point: 900MB/s, from_clients: 16", ["failed"]),  # nothing was measured there
        ("operation: write, layout: N-1, peak: 1MB/s", ["failed"]),  # no such series
        ("operation: write, order: sequential, workload: seq, peak: 1MB/s", ["passed"]),
        ("operation: write, slow_samples: 50%", ["passed"]),
        ("operation: write, phase: write, peak: 1MB/s", ["passed"]),
        ("operation: write, of: seq, measure: rate, at_least: 1MB/s", ["passed"]),  # as a study has it
        ("operation: write, measure: operations_rate, at_least: 1000kIOPS", ["failed"]),
        ("operation: write, phase: again, peak: 1MB/s", ["failed"]),  # no such series
    ],
)
def test_a_criterion_is_judged_by_the_series_that_it_is_about(
    criterion: str, judgements: list[str], tmp_path: Path
) -> None:
    file = written(tmp_path, f"name: one, {criterion}")
    judged = run_of_writes(*(rate * 0.95 for rate in CALM))
    assert [check.judgement for check in verdicts.check(judged, read(file).criteria)] == judgements


def test_sustained_from_some_clients_on_rests_on_these_alone(tmp_path: Path) -> None:
    builder = RunBuilder().clients(1, 16, 32).workload("seq")
    for clients, rate in ((1, 9e9), (16, 5e9), (32, 4.9e9)):
        builder.rates("seq", "write", clients, rate)
    file = written(tmp_path, "name: one, operation: write, sustained: 4900MB/s, from_clients: 16")
    (check,) = verdicts.check(builder.build(), read(file).criteria)
    assert check.value == pytest.approx(4.95e9, rel=1e-6)


def judgements(judged: LoadedRun, criterion: str, tmp_path: Path) -> list[str]:
    file = written(tmp_path, f"name: one, {criterion}")
    return [check.judgement for check in verdicts.check(judged, read(file).criteria)]


def test_a_series_with_an_invalid_point_fails_however_fast_the_rest_is(tmp_path: Path) -> None:
    builder = RunBuilder().clients(1, 8).workload("seq").doubt("seq-c8-r1", "write", "failed", invalidates=True)
    assert judgements(builder.build(), "operation: write, peak: 1MB/s", tmp_path) == ["failed"]
    assert judgements(builder.build(), "operation: read, peak: 1MB/s", tmp_path) == ["passed"]


def test_a_run_that_ended_before_its_time_meets_no_criterion(tmp_path: Path) -> None:
    builder = RunBuilder().clients(1, 8).workload("seq").stop_after(1)
    assert judgements(builder.build(), "operation: write, every_point: 1MB/s", tmp_path) == ["failed"]


def test_a_workload_that_was_not_measured_at_all_fails_what_is_about_it_too(tmp_path: Path) -> None:
    builder = RunBuilder().clients(8).workload("first").workload("second").stop_after(1)
    assert judgements(builder.build(), "operation: write, peak: 1MB/s", tmp_path) == ["passed", "failed"]


def test_sustained_is_over_ranks_where_points_have_the_same_clients(tmp_path: Path) -> None:
    builder = RunBuilder().clients(1, 2, 4, 8).workload("seq")
    for ranks, rate in ((1, 1e9), (2, 5e9), (4, 3e9), (8, 3e9)):
        builder.rates("seq", "write", ranks, rate)
    swept = builder.build()
    one_client = swept.measurements.with_columns(clients=pl.lit(1, pl.Int64))
    (check,) = verdicts.check(
        LoadedRun(**{**vars(swept), "measurements": one_client}),
        read(written(tmp_path, "name: one, operation: write, sustained: 4GB/s")).criteria,
    )
    assert check.value == pytest.approx(3e9, rel=1e-6)


@pytest.mark.parametrize("limit", ["p99_latency", "slowest_operation"])
def test_latencies_have_limits(limit: str, tmp_path: Path) -> None:
    judged = RunBuilder().clients(1, 8).workload("seq").build()
    assert judgements(judged, f"operation: write, {limit}: 1h", tmp_path) == ["passed"]
    assert judgements(judged, f"operation: write, {limit}: 1ns", tmp_path) == ["failed"]
    assert judgements(judged, f"operation: write, {limit}: 1h, from_clients: 16", tmp_path) == ["failed"]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["name: a, operation: write"], "has no limit"),
        (["name: a, operation: write, peak: fast"], "is not a rate"),
        (["name: a, operation: wirte, peak: 1GB/s"], "did you mean `write`?"),
        (["name: a, operation: read, peak: 1GB/s"] * 2, "is given twice"),
    ],
)
def test_a_mistake_in_the_file_is_refused_with_its_line(lines: list[str], problem: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"criteria\.yaml:[23]") as refused:
        read(written(tmp_path, *lines))
    assert problem in refused.value.message


def test_a_slow_sample_moves_less_than_half_of_the_median_with_all_ranks_together() -> None:
    key = dict(zip(KEY, ("c", "write", "write", "write"), strict=True))
    # Rank 1 stands still in every second sample, but rank 0 makes up for it; both are slow in the third.
    moved = [(60, 40), (100, 0), (20, 20), (60, 40), (1, 0)]
    rows = [
        key | {"rank": rank, "sample": sample, "bytes": amounts[rank], "operations": 1}
        for sample, amounts in enumerate(moved)
        for rank in (0, 1)
    ]
    samples = pl.LazyFrame(rows, schema=SAMPLES)
    place = Measurement("c", "write", "write", "write")
    # The last sample is cut off by the end of the phase.
    assert slow_share(samples, [place], "rate_bytes_per_s") == pytest.approx(1 / 4)
    assert slow_share(samples, [place], "rate_operations_per_s") == 0
    assert slow_share(samples, [place._replace(case="d")], "rate_bytes_per_s") is None


@pytest.mark.parametrize(
    ("criterion", "judged"),
    [
        ("utilisation: 70 %", ["passed"]),
        ("utilisation: 80%", ["failed"]),
        ("accelerators: 4", ["passed"]),
        ("accelerators: 5, utilisation: 75 %", ["passed", "failed"]),
        ("measure: accelerators, at_least: 4", ["passed"]),  # as a study has it
        ("utilisation: 70 %, from_clients: 2", ["failed"]),  # nothing was measured there
    ],
)
def test_epochs_are_judged_by_their_utilisation_and_the_accelerators_that_are_fed(
    criterion: str, judged: list[str], tmp_path: Path
) -> None:
    run = swept({accelerators: ms * MS for accelerators, ms in {1: 240, 2: 236, 4: 228, 8: 180}.items()})
    criterion = f"operation: step, phase: epoch-1, {criterion}"
    assert judgements(run, criterion, tmp_path) == judged
    assert judgements(run, criterion.replace("epoch-1", "epoch-2"), tmp_path) == ["failed"] * len(judged)


def test_no_rate_has_a_utilisation(tmp_path: Path) -> None:
    assert judgements(run_of_writes(*CALM), "operation: write, utilisation: 10 %", tmp_path) == ["failed"]

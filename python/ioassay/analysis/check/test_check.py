from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from ioassay.analysis.check import criteria
from ioassay.analysis.check.moderated_t import detect_drops
from ioassay.analysis.check.regression import PointCheck, differing, regressions
from ioassay.analysis.check.slow_samples import slow_share
from ioassay.analysis.compare import measured
from ioassay.analysis.compare.ratios import compare
from ioassay.analysis.compare.subject import Conditions, Curve, Point, Rates, Subject
from ioassay.analysis.rate_units import RateColumn
from ioassay.criteria.model import read
from ioassay.results.loaded import LoadedRun
from ioassay.results.schema import KEY, SAMPLES, Measurement
from ioassay.testing.builder import RunBuilder
from ioassay.yaml_models.source import SourceError

CALM = (1.0e9, 1.01e9, 0.99e9, 1.005e9, 0.995e9)


def run(*rates: float, clients: tuple[int, ...] = (8,), **workload: Any) -> LoadedRun:
    builder = RunBuilder().clients(*clients).repetitions(len(rates)).workload("seq", **workload)
    for count in clients:
        builder.rates("seq", "write", count, *rates).rates("seq", "read", count, *CALM[: len(rates)])
    return builder.build()


def writes(baseline: LoadedRun, judged: LoadedRun, tolerance: float = 0.05) -> list[PointCheck]:
    comparison = compare(measured.subject(baseline, "baseline"), measured.subject(judged, "run"))
    return [check for check in regressions(comparison, tolerance) if check.curve.operation == "write"]


@pytest.mark.parametrize(
    ("factor", "tolerance", "reason", "judgement"),
    [
        (1.0, 0.05, "held", "passed"),
        (0.97, 0.05, "held", "passed"),  # told apart from 1, but tolerated
        (0.97, 0.01, "slower", "failed"),
        (0.9, 0.05, "slower", "failed"),
        (1.5, 0.0, "held", "passed"),
    ],
)
def test_a_point_fails_where_it_is_slower_by_more_than_the_tolerance(
    factor: float, tolerance: float, reason: str, judgement: str
) -> None:
    (check,) = writes(run(*CALM), run(*(factor * rate for rate in CALM)), tolerance)
    assert (check.reason, check.judgement) == (reason, judgement)


def test_a_loss_that_may_be_chance_is_not_judged() -> None:
    (check,) = writes(run(*CALM), run(0.5e9, 0.9e9, 1.4e9, 0.7e9, 1.2e9), 0.05)
    assert (check.reason, check.judgement) == ("scatter", "not judged")


def test_too_few_repetitions_are_not_judged() -> None:
    (check,) = writes(run(1e9, 1e9), run(1e8, 1e8))
    assert (check.reason, check.judgement) == ("too few repetitions", "not judged")


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"transfer_bytes": 4096}, ["transfer_bytes"]),
        ({"fsync": "never"}, ["fsync"]),
        ({"direct": True, "api": "uring", "depth": 32}, ["api", "direct", "depth"]),
        ({"payload": "zero"}, ["payload"]),
        ({}, []),
        ({"payload": None, "fsync": None}, []),  # as a run of an earlier version, which does not tell
    ],
)
def test_what_was_not_measured_alike_is_told_once(changed: dict[str, Any], what: list[str]) -> None:
    baseline, judged = (measured.subject(run(*CALM, clients=(1, 8), **more), "run") for more in ({}, changed))
    assert [unlike.what for unlike in differing(compare(baseline, judged))] == what


def test_a_point_that_the_baseline_has_and_the_run_has_not_fails() -> None:
    checks = writes(run(*CALM, clients=(1, 8)), run(*CALM, clients=(8, 16)))
    assert [(check.reason, check.judgement) for check in checks] == [("held", "passed"), ("missing", "failed")]


def test_a_series_that_the_run_lacks_fails() -> None:
    judged = run(*CALM)
    judged = LoadedRun(**{**vars(judged), "measurements": judged.measurements.filter(pl.col("operation") == "read")})
    (check,) = writes(run(*CALM), judged)
    assert (check.reason, check.point) == ("missing", None)


def failing(scatter: float, repetitions: int, loss: float, points: int = 1, runs: int = 400) -> float:
    """The share of runs of log-normal repetitions that fail at 5 % tolerance, after a true loss at the first point.

    Where there is none, a run fails if any point does; else if the first does.
    """
    dice = random.Random(1)

    def drawn(first: float) -> Subject:
        curves = []
        for at in range(points):
            median = first if at == 0 else 1.0
            rates = tuple(median * math.exp(dice.gauss(0, scatter)) for _ in range(repetitions))
            point = Point(8, Conditions(), rates)
            known: dict[RateColumn, Rates] = {"rate_bytes_per_s": Rates((point,), point, point)}
            curves.append(Curve((f"seq-{at}", "write", "write"), "", "write", "rate_bytes_per_s", known))
        return Subject("one", "run", tuple(curves))

    failed = 0
    for _ in range(runs):
        checks = list(regressions(compare(drawn(1), drawn(1 - loss)), 0.05))
        assert len(checks) == points
        failed += any(check.judgement == "failed" for check in (checks[:1] if loss else checks))
    return failed / runs


@pytest.mark.parametrize(
    ("points", "scatter", "repetitions", "in_vain", "tenth_lost"),
    [
        (1, 0.03, 3, 0.016, 0.96),
        (1, 0.05, 3, 0.042, 0.66),
        (1, 0.05, 10, 0.014, 0.98),
        (1, 0.10, 5, 0.048, 0.50),
        (20, 0.05, 3, 0.041, 0.37),
        (20, 0.05, 5, 0.034, 0.66),
    ],
)
def test_the_guide_says_how_often_a_check_fails_in_vain_and_finds_a_loss(
    points: int, scatter: float, repetitions: int, in_vain: float, tenth_lost: float
) -> None:
    assert failing(scatter, repetitions, 0, points) == pytest.approx(in_vain, abs=0.03)
    assert failing(scatter, repetitions, 0.1, points) == pytest.approx(tenth_lost, abs=0.08)


def repeated(
    dice: np.random.Generator, drop: float, points: int, repetitions: int, scatter: float
) -> list[tuple[list[float], list[float]]]:
    """Points of a baseline and of a run of which the first has lost `drop`."""
    rates = dice.lognormal(0, scatter, (2, points, repetitions))
    rates[1, 0] *= 1 - drop
    return list(zip(rates[0].tolist(), rates[1].tolist(), strict=True))


@pytest.mark.parametrize(("points", "repetitions"), [(1, 4), (20, 3), (20, 5)])
def test_a_drop_of_the_smallest_detectable_size_is_detected_in_8_of_10_runs(points: int, repetitions: int) -> None:
    dice = np.random.default_rng(5)
    equal = (repeated(dice, 0, points, repetitions, 0.05) for _ in range(200))
    drop = float(np.median([detect_drops(pairs, 0.0)[0].detectable for pairs in equal]))
    found = [detect_drops(repeated(dice, drop, points, repetitions, 0.05), 0.0)[0].is_slower for _ in range(400)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.07)


def test_points_that_scatter_alike_are_taken_to_do_so() -> None:
    pairs = repeated(np.random.default_rng(8), 0, 20, 3, 0.05)
    together = [one.detectable for one in detect_drops(pairs, 0.0)]
    alone = [detect_drops([pair], 0.0)[0].detectable for pair in pairs]
    assert max(together) < 1.3 * min(together)
    assert max(alone) > 2 * min(alone)


def test_a_point_that_scatters_more_than_the_others_is_not_taken_for_one_of_them() -> None:
    pairs = repeated(np.random.default_rng(9), 0, 20, 5, 0.01)
    wild = np.random.default_rng(10).lognormal(0, 0.3, (2, 5)).tolist()
    found = detect_drops([*pairs, (wild[0], wild[1])], 0.0)
    assert found[-1].detectable > 5 * max(one.detectable for one in found[:-1])


def test_equal_repetitions_and_a_tolerance_of_everything_have_an_answer() -> None:
    (same, lower) = detect_drops([([1e9] * 3, [1e9] * 3), ([1e9] * 3, [0.9e9] * 3)], 0.05)
    assert (same.is_slower, lower.is_slower) == (False, True)
    assert same.detectable == pytest.approx(0.05, abs=0.01)
    assert detect_drops([([1e9] * 3, [1e9] * 3)], 1.0)[0].detectable == 1.0
    assert detect_drops([], 0.05) == []


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
    ],
)
def test_a_criterion_is_judged_by_the_series_that_it_is_about(
    criterion: str, judgements: list[str], tmp_path: Path
) -> None:
    file = written(tmp_path, f"name: one, {criterion}")
    judged = run(*(rate * 0.95 for rate in CALM))
    assert [check.judgement for check in criteria.check(judged, read(file).criteria)] == judgements


def test_sustained_from_some_clients_on_rests_on_these_alone(tmp_path: Path) -> None:
    builder = RunBuilder().clients(1, 16, 32).workload("seq")
    for clients, rate in ((1, 9e9), (16, 5e9), (32, 4.9e9)):
        builder.rates("seq", "write", clients, rate)
    file = written(tmp_path, "name: one, operation: write, sustained: 4900MB/s, from_clients: 16")
    (check,) = criteria.check(builder.build(), read(file).criteria)
    assert check.value == pytest.approx(4.95e9, rel=1e-6)


def judgements(judged: LoadedRun, criterion: str, tmp_path: Path) -> list[str]:
    file = written(tmp_path, f"name: one, {criterion}")
    return [check.judgement for check in criteria.check(judged, read(file).criteria)]


def test_what_has_no_valid_measurement_fails_however_fast_the_rest_is(tmp_path: Path) -> None:
    builder = RunBuilder().clients(1, 8).workload("seq").doubt("seq-c8-r1", "write", "failed", invalidates=True)
    assert judgements(builder.build(), "operation: write, peak: 1MB/s", tmp_path) == ["failed"]
    assert judgements(builder.build(), "operation: read, peak: 1MB/s", tmp_path) == ["passed"]


def test_a_run_that_ended_before_its_time_meets_no_criterion(tmp_path: Path) -> None:
    builder = RunBuilder().clients(1, 8).workload("seq").stop_after(1)
    assert judgements(builder.build(), "operation: write, every_point: 1MB/s", tmp_path) == ["failed"]


def test_a_workload_that_was_not_measured_at_all_fails_what_is_about_it_too(tmp_path: Path) -> None:
    builder = RunBuilder().clients(8).workload("first").workload("second").stop_after(1)
    assert judgements(builder.build(), "operation: write, peak: 1MB/s", tmp_path) == ["passed", "failed"]


def test_sustained_is_over_ranks_where_clients_do_not_tell_the_points_apart(tmp_path: Path) -> None:
    builder = RunBuilder().clients(1, 2, 4, 8).workload("seq")
    for ranks, rate in ((1, 1e9), (2, 5e9), (4, 3e9), (8, 3e9)):
        builder.rates("seq", "write", ranks, rate)
    swept = builder.build()
    one_client = swept.measurements.with_columns(clients=pl.lit(1, pl.Int64))
    (check,) = criteria.check(
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
    ("lines", "said"),
    [
        (["name: a, operation: write"], "has no limit"),
        (["name: a, operation: write, peak: fast"], "is not a rate"),
        (["name: a, operation: wirte, peak: 1GB/s"], "did you mean `write`?"),
        (["name: a, operation: read, peak: 1GB/s"] * 2, "is given twice"),
    ],
)
def test_what_is_written_wrongly_is_refused_with_its_line(lines: list[str], said: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"criteria\.yaml:[23]") as refused:
        read(written(tmp_path, *lines))
    assert said in refused.value.message


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

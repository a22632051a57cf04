from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import polars as pl
import pytest

from ioassay.analysis.compare import measured_run
from ioassay.analysis.compare.ratios import compare
from ioassay.analysis.compare.subject import Conditions, Curve, Point, Rates, Subject
from ioassay.analysis.detectable_drop import LARGEST_UNDETECTABLE_DROP
from ioassay.analysis.regression import PointCheck, detect_drops, differing, regressions
from ioassay.store.loaded import LoadedRun
from ioassay.testing.builder import CALM, run_of_writes
from ioassay.text.rate_units import RateColumn


def writes(baseline: LoadedRun, judged: LoadedRun, tolerance: float = 0.05) -> list[PointCheck]:
    comparison = compare(measured_run.subject(baseline, "baseline"), measured_run.subject(judged, "run"))
    return [check for check in regressions(comparison, tolerance) if check.curve.operation == "write"]


@pytest.mark.parametrize(
    ("factor", "tolerance", "reason", "judgement"),
    [
        (1.0, 0.05, "held", "passed"),
        (0.97, 0.05, "held", "passed"),  # significantly below 1, but tolerated
        (0.97, 0.01, "slower", "failed"),
        (0.9, 0.05, "slower", "failed"),
        (1.5, 0.0, "held", "passed"),
    ],
)
def test_a_point_fails_if_it_is_slower_by_more_than_the_tolerance(
    factor: float, tolerance: float, reason: str, judgement: str
) -> None:
    (check,) = writes(run_of_writes(*CALM), run_of_writes(*(factor * rate for rate in CALM)), tolerance)
    assert (check.reason, check.judgement) == (reason, judgement)


def test_a_loss_that_may_be_chance_is_not_judged() -> None:
    (check,) = writes(run_of_writes(*CALM), run_of_writes(0.5e9, 0.9e9, 1.4e9, 0.7e9, 1.2e9), 0.05)
    assert (check.reason, check.judgement) == ("scatter", "not judged")


def test_a_point_that_could_miss_a_loss_of_half_is_not_judged() -> None:
    wild = run_of_writes(0.4e9, 2e9, 0.7e9, 1.3e9, 1e9)
    (check,) = writes(wild, wild)
    assert check.tested is not None
    assert check.tested.detectable > LARGEST_UNDETECTABLE_DROP
    assert (check.reason, check.judgement) == ("insensitive", "not judged")
    (check,) = writes(wild, wild, LARGEST_UNDETECTABLE_DROP)  # half may be lost
    assert (check.reason, check.judgement) == ("held", "passed")


def test_too_few_repetitions_are_not_judged() -> None:
    (check,) = writes(run_of_writes(1e9, 1e9), run_of_writes(1e8, 1e8))
    assert (check.reason, check.judgement) == ("too few repetitions", "not judged")


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"transfer_bytes": 4096}, ["transfer_bytes"]),
        ({"fsync": "never"}, ["fsync"]),
        ({"direct": True, "api": "uring", "depth": 32}, ["api", "direct", "depth"]),
        ({"payload": "zero"}, ["payload"]),
        ({}, []),
        ({"payload": None, "fsync": None}, []),  # runs of earlier versions do not state it
    ],
)
def test_each_differing_condition_is_reported_once(changed: dict[str, Any], what: list[str]) -> None:
    baseline, judged = (
        measured_run.subject(run_of_writes(*CALM, clients=(1, 8), **more), "run") for more in ({}, changed)
    )
    assert [unlike.what for unlike in differing(compare(baseline, judged))] == what


def test_a_point_of_the_baseline_that_the_run_lacks_fails() -> None:
    checks = writes(run_of_writes(*CALM, clients=(1, 8)), run_of_writes(*CALM, clients=(8, 16)))
    assert [(check.reason, check.judgement) for check in checks] == [("held", "passed"), ("missing", "failed")]


def test_a_series_that_the_run_lacks_fails() -> None:
    judged = run_of_writes(*CALM)
    judged = LoadedRun(**{**vars(judged), "measurements": judged.measurements.filter(pl.col("operation") == "read")})
    (check,) = writes(run_of_writes(*CALM), judged)
    assert (check.reason, check.point) == ("missing", None)


def failing(scatter: float, repetitions: int, loss: float, points: int = 1, runs: int = 400) -> float:
    """The share of runs of log-normal repetitions that fail at 5 % tolerance, after a real loss at the first point.

    Where there is none, a run fails if any point does; else if the first does.
    """
    dice = random.Random(1)

    def drawn(first: float) -> Subject:
        curves = []
        for index in range(points):
            median = first if index == 0 else 1.0
            rates = tuple(median * math.exp(dice.gauss(0, scatter)) for _ in range(repetitions))
            point = Point(8, Conditions(), rates)
            known: dict[RateColumn, Rates] = {"rate_bytes_per_s": Rates((point,), point, point)}
            curves.append(Curve((f"seq-{index}", "write", "write"), "", "write", "rate_bytes_per_s", known))
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
def test_the_guide_states_how_often_a_check_has_a_false_alarm_and_detects_a_loss(
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
    detected = [detect_drops(repeated(dice, drop, points, repetitions, 0.05), 0.0)[0].is_slower for _ in range(400)]
    assert np.mean(detected) == pytest.approx(0.8, abs=0.07)


def test_points_that_scatter_alike_share_their_variance() -> None:
    pairs = repeated(np.random.default_rng(8), 0, 20, 3, 0.05)
    together = [detect_drop.detectable for detect_drop in detect_drops(pairs, 0.0)]
    alone = [detect_drops([pair], 0.0)[0].detectable for pair in pairs]
    assert max(together) < 1.3 * min(together)
    assert max(alone) > 2 * min(alone)


def test_a_point_that_scatters_more_than_the_others_keeps_its_variance() -> None:
    pairs = repeated(np.random.default_rng(9), 0, 20, 5, 0.01)
    wild = np.random.default_rng(10).lognormal(0, 0.3, (2, 5)).tolist()
    drop_tests = detect_drops([*pairs, (wild[0], wild[1])], 0.0)
    assert drop_tests[-1].detectable > 5 * max(drop_test.detectable for drop_test in drop_tests[:-1])


def test_equal_repetitions_and_a_tolerance_of_1_have_a_result() -> None:
    (same, lower) = detect_drops([([1e9] * 3, [1e9] * 3), ([1e9] * 3, [0.9e9] * 3)], 0.05)
    assert (same.is_slower, lower.is_slower) == (False, True)
    assert same.detectable == pytest.approx(0.05, abs=0.01)
    assert detect_drops([([1e9] * 3, [1e9] * 3)], 1.0)[0].detectable == 1.0
    assert detect_drops([], 0.05) == []

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis.findings.outliers import NORMAL, Outlier, find_outliers, limit


def outliers_of(*bytes_per_s: float) -> list[Outlier]:
    return find_outliers(_points(*bytes_per_s), "rate_bytes_per_s")


def _points(*bytes_per_s: float) -> pl.DataFrame:
    """Repetitions of a write as `rates.points` returns them; their cases are `w-c4-rREPETITION`."""
    repetitions = range(1, len(bytes_per_s) + 1)
    return pl.DataFrame(
        {
            "case": [f"w-c4-r{repetition}" for repetition in repetitions],
            "repetition": repetitions,
            "rate_bytes_per_s": bytes_per_s,
        }
    ).select(
        pl.lit("w").alias("workload"),
        *(pl.lit("write").alias(name) for name in ("phase", "job", "operation")),
        *(pl.lit(4).alias(name) for name in ("clients", "ranks", "files")),
        pl.lit('{"clients":4,"ranks_per_client":1}').alias("point"),
        "case",
        "repetition",
        "rate_bytes_per_s",
        pl.lit(True).alias("valid"),
    )


@pytest.mark.parametrize("repetitions", [5, 6, 7, 8, 9, 10, 11, 12, 15, 20, 30])
def test_points_without_outliers_have_at_most_one_percent_false_alarms(repetitions: int) -> None:
    values = np.random.default_rng(repetitions).normal(size=(40_000, repetitions))
    distance = np.abs(values - np.median(values, axis=1, keepdims=True))
    scores = NORMAL * distance.max(axis=1) / np.median(distance, axis=1)
    assert (scores > limit(repetitions)).mean() < 0.012  # the standard error of 40 000 points is 0.05 %
    assert (scores > 3.5).mean() > 0.08, "the limit of the handbook would name scatter"


def test_one_slow_repetition_of_five_is_named_and_stays_among_the_points() -> None:
    (outlier,) = outliers_of(1.00e9, 1.01e9, 0.99e9, 1.005e9, 0.6e9)
    assert outlier.place == ("w-c4-r5", "write", "write", "write")
    assert (outlier.repetition, outlier.repetitions) == (5, 5)
    assert outlier.difference == pytest.approx(-0.4, abs=0.01)


def test_two_outliers_do_not_hide_each_other() -> None:
    outliers = outliers_of(1.0e9, 1.01e9, 0.5e9, 0.99e9, 1.005e9, 0.52e9, 1.002e9)
    assert [outlier.repetition for outlier in outliers] == [3, 6]


def test_three_repetitions_are_too_few_for_an_outlier() -> None:
    assert outliers_of(1.0e9, 1.01e9, 0.2e9) == []


def test_a_close_repetition_is_no_outlier_however_calm_the_others_are() -> None:
    assert outliers_of(1e9, 1e9, 1e9, 1e9, 1e9, 0.95e9) == []


def test_invalid_repetitions_are_ignored() -> None:
    points = _points(*[1e9] * 5, 1e8)
    assert find_outliers(points, "rate_bytes_per_s") != []
    assert find_outliers(points.with_columns((pl.col("repetition") < 6).alias("valid")), "rate_bytes_per_s") == []


@given(st.lists(st.floats(1e6, 1e10), min_size=5, max_size=9), st.sampled_from([1e-3, 1e3]))
def test_the_unit_of_a_rate_does_not_matter(values: list[float], factor: float) -> None:
    there, scaled = outliers_of(*values), outliers_of(*(value * factor for value in values))
    assert [outlier.place for outlier in there] == [outlier.place for outlier in scaled]

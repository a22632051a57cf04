from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis.findings.outliers import NORMAL, Outlier, find_outliers, limit


def found(*bytes_per_s: float) -> list[Outlier]:
    return find_outliers(_points(*bytes_per_s), "rate_bytes_per_s")


def _points(*bytes_per_s: float) -> pl.DataFrame:
    """What `rates.points` returns of repetitions of one write, whose case is `w-c4-rREPETITION`."""
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
def test_a_point_without_an_outlier_gets_one_in_one_of_a_hundred_cases_at_most(repetitions: int) -> None:
    values = np.random.default_rng(repetitions).normal(size=(40_000, repetitions))
    distance = np.abs(values - np.median(values, axis=1, keepdims=True))
    scores = NORMAL * distance.max(axis=1) / np.median(distance, axis=1)
    assert (scores > limit(repetitions)).mean() < 0.012  # 40 000 points tell 1 % to 0.15 %
    assert (scores > 3.5).mean() > 0.08, "the limit of the handbook would name scatter"


def test_one_slow_repetition_of_five_is_named_and_stays_among_the_points() -> None:
    (one,) = found(1.00e9, 1.01e9, 0.99e9, 1.005e9, 0.6e9)
    assert one.place == ("w-c4-r5", "write", "write", "write")
    assert (one.repetition, one.repetitions) == (5, 5)
    assert one.difference == pytest.approx(-0.4, abs=0.01)


def test_two_outliers_do_not_hide_each_other() -> None:
    assert [one.repetition for one in found(1.0e9, 1.01e9, 0.5e9, 0.99e9, 1.005e9, 0.52e9, 1.002e9)] == [3, 6]


def test_of_three_repetitions_none_can_be_told_to_be_an_outlier() -> None:
    assert found(1.0e9, 1.01e9, 0.2e9) == []


def test_what_lies_close_is_no_outlier_however_calm_the_others_are() -> None:
    assert found(1e9, 1e9, 1e9, 1e9, 1e9, 0.95e9) == []


def test_an_invalid_repetition_is_not_looked_at() -> None:
    points = _points(*[1e9] * 5, 1e8)
    assert find_outliers(points, "rate_bytes_per_s") != []
    assert find_outliers(points.with_columns((pl.col("repetition") < 6).alias("valid")), "rate_bytes_per_s") == []


@given(st.lists(st.floats(1e6, 1e10), min_size=5, max_size=9), st.sampled_from([1e-3, 1e3]))
def test_the_unit_of_a_rate_does_not_matter(values: list[float], factor: float) -> None:
    there, scaled = found(*values), found(*(value * factor for value in values))
    assert [one.place for one in there] == [one.place for one in scaled]

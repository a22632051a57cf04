from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ioassay.analysis.trend.change_detection import FALSE_ALARMS, FEWEST, Course, courses
from ioassay.testing.nightly_runs import history

TOLERANCE = 0.05
SCATTER = 0.03


def courses_of(*series: Sequence[float] | NDArray[np.float64], tolerance: float = TOLERANCE) -> list[Course]:
    return courses([history(rates) for rates in series], tolerance)


def noise(seed: int, series: int, runs: int, scatter: float = SCATTER) -> NDArray[np.float64]:
    """Rates around 1e9 that have not changed; a row per series."""
    return np.asarray(1e9 * np.random.default_rng(seed).lognormal(0, scatter, (series, runs)))


Kind = Literal["independent", "common", "heavy tails", "neighbours", "one-sided", "slow nights"]
"""One-sided: rates below a maximum. Slow nights: a series loses 22 % on one night of five."""


def logs(kind: Kind, dice: np.random.Generator, series: int, runs: int) -> NDArray[np.float64]:
    normal = dice.normal(0, SCATTER, (series, runs))
    match kind:
        case "independent":
            return normal
        case "common":  # nights on which everything is slower
            return np.asarray(normal / 2 + dice.normal(0, SCATTER, runs))
        case "heavy tails":
            return np.asarray(SCATTER * dice.standard_t(5, (series, runs)))
        case "one-sided":
            return np.asarray(-dice.exponential(SCATTER, (series, runs)))
        case "slow nights":
            return np.asarray(normal - 0.25 * (dice.random((series, runs)) < 0.2))
        case "neighbours":
            for index in range(1, runs):
                normal[:, index] = 0.3 * normal[:, index - 1] + np.sqrt(1 - 0.3**2) * normal[:, index]
            return normal


# The most false alarms in 100 collections of 8 series. The promise is 1 %: more than 5 of 100 come by chance once in
# 2000 seeds. Other kinds exceed the promise, and stay near the rates in docs/concepts/statistics.md.
@pytest.mark.parametrize(
    ("kind", "most"),
    [("independent", 5), ("common", 5), ("heavy tails", 7), ("neighbours", 8), ("one-sided", 14), ("slow nights", 26)],
)
@pytest.mark.parametrize("runs", [6, 12, 30])
def test_unchanged_series_rarely_have_a_report(kind: Kind, most: int, runs: int) -> None:
    dice = np.random.default_rng(7)
    alarms = 0
    for _ in range(100):
        detected = courses_of(*(1e9 * np.exp(logs(kind, dice, 8, runs))), tolerance=0.0)
        alarms += any(course.trend or course.changes for course in detected)
    assert alarms <= most
    assert FALSE_ALARMS == 0.01


@pytest.mark.parametrize("nights", [1, 2, 4, 7])
def test_a_drop_is_a_change_before_its_first_run_and_a_decline_of_the_latest(nights: int) -> None:
    rates = noise(1, 4, 14)
    rates[0, -nights:] *= 0.7
    first, *others = courses_of(*rates)
    assert (first.reason, first.judgement, first.trend) == ("declined", "failed", None)
    (change,) = first.changes
    assert change.index == 14 - nights
    assert first.rests_on_the_latest_run == (nights == 1)
    assert change.after / change.before == pytest.approx(0.7, rel=0.1)
    assert (first.before, first.now) == (change.before, change.after)
    assert [other.reason == "declined" for other in others] == [False, False, False]


def test_a_gradual_decline_is_a_trend_and_no_series_of_steps() -> None:
    (course,) = courses_of(noise(2, 1, 20)[0] * np.linspace(1, 0.7, 20))
    assert course.changes == ()
    assert course.trend is not None
    assert course.trend.low < -0.3 < course.trend.high
    assert course.change == pytest.approx(course.trend.estimate)
    assert course.reason == "declined"


def test_a_recovered_rate_passes_and_both_changes_are_reported() -> None:
    rates = noise(3, 1, 30)[0]
    rates[8:16] *= 0.6
    (course,) = courses_of(rates)
    assert [change.index for change in course.changes] == [8, 16]
    assert course.reason == "held"


def test_a_partly_recovered_rate_is_judged_by_the_best_level() -> None:
    rates = noise(4, 1, 30)[0]
    rates[10:20] *= 0.5
    rates[20:] *= 0.75
    (course,) = courses_of(rates)
    assert course.reason == "declined"
    assert course.change == pytest.approx(-0.25, abs=0.05)


def test_a_faster_rate_passes() -> None:
    rates = noise(5, 1, 16)[0]
    rates[8:] *= 1.5
    (course,) = courses_of(rates)
    assert (course.reason, len(course.changes)) == ("held", 1)
    assert course.change == pytest.approx(0.5, abs=0.1)


def test_a_change_within_the_tolerance_is_neither_reported_nor_judged() -> None:
    rates = noise(6, 1, 24, scatter=0.005)[0]
    rates[12:] *= 0.97
    (course,) = courses_of(rates)
    assert (course.reason, course.changes, course.trend) == ("held", (), None)
    (course,) = courses_of(rates, tolerance=0.01)
    assert course.reason == "declined"


def test_a_loss_that_may_be_chance_is_not_judged_but_a_detectable_one_is() -> None:
    rates = noise(7, 1, 10, scatter=0.1)[0]
    typical = float(np.median(rates[:-1]))
    rates[-1] = 0.8 * typical
    (course,) = courses_of(rates)
    assert (course.reason, course.judgement) == ("scatter", "not judged")
    assert course.smallest_detectable_drop is not None
    assert course.smallest_detectable_drop > 0.2
    rates[-1] = np.exp(np.log(rates[:-1]).mean()) * (1 - course.smallest_detectable_drop)
    assert courses_of(rates)[0].reason == "declined"


def test_a_drop_of_the_smallest_detectable_size_is_detected_in_8_of_10_cases() -> None:
    dice = np.random.default_rng(11)
    series = SCATTER * dice.normal(size=(300, 12))
    drop = float(np.median([courses_of(np.exp(values))[0].smallest_detectable_drop or 0 for values in series[:100]]))
    series[100:, -1] += np.log1p(-drop)
    assert np.mean([courses_of(np.exp(values))[0].reason == "declined" for values in series[100:]]) == pytest.approx(
        0.8, abs=0.08
    )


def test_a_point_that_could_miss_a_loss_of_half_is_not_judged() -> None:
    (scattered,), (steady,) = courses_of([1e9, 1.1e9, 0.9e9, 1.05e9, 0.95e9, 1e9]), courses_of(noise(12, 1, 30)[0])
    assert (scattered.reason, scattered.judgement) == ("insensitive", "not judged")
    assert (scattered.smallest_detectable_drop or 0) > 0.5 > (steady.smallest_detectable_drop or 1)
    assert (steady.reason, steady.judgement) == ("held", "passed")
    assert courses_of([1e9, 1.1e9, 0.9e9, 1.05e9, 0.95e9, 1e9], tolerance=0.5)[0].reason == "held"  # half may be lost


def test_too_few_runs_are_not_judged() -> None:
    few = [1e9, 1.01e9, 0.99e9, 0.1e9]
    assert len(few) == FEWEST - 1
    (course,) = courses_of(few)
    assert (course.reason, course.judgement, course.smallest_detectable_drop) == ("too few runs", "not judged", None)
    assert courses_of([1e9])[0].before is None
    assert courses_of([1e9, 1.005e9, 1.01e9, 0.99e9, 0.1e9])[0].reason == "declined"


def test_runs_with_equal_rates_hold() -> None:
    assert courses_of([1e9] * 8)[0].reason == "held"
    assert courses_of([1e9] * 7 + [0.9e9])[0].reason == "declined"


def test_runs_that_began_in_the_same_second_keep_their_order() -> None:
    (course,) = courses([history(noise(8, 1, 12)[0] * np.linspace(1, 0.5, 12), hours=0)], TOLERANCE)
    assert course.reason == "declined"


def test_more_series_need_a_larger_drop_for_detection() -> None:
    rates = noise(9, 1, 8)[0]
    (alone,) = courses_of(rates)
    among = courses_of(rates, *noise(10, 39, 8))[0]
    assert alone.smallest_detectable_drop is not None
    assert among.smallest_detectable_drop is not None
    assert among.smallest_detectable_drop > alone.smallest_detectable_drop


@given(st.integers(0, 10**6), st.sampled_from([0.5, 0.8, 1.0, 1.3]), st.floats(0.1, 1000))
def test_faster_storage_has_the_same_changes_in_proportion(seed: int, drop: float, factor: float) -> None:
    rates = noise(seed, 1, 15)[0]
    rates[9:] *= drop
    (slow,), (fast,) = courses_of(rates), courses_of(rates * factor)
    assert [change.index for change in slow.changes] == [change.index for change in fast.changes]
    assert slow.reason == fast.reason
    assert fast.now == pytest.approx(factor * slow.now)

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


def told(*series: Sequence[float] | NDArray[np.float64], tolerance: float = TOLERANCE) -> list[Course]:
    return courses([history(one) for one in series], tolerance)


def noise(seed: int, series: int, runs: int, scatter: float = SCATTER) -> NDArray[np.float64]:
    """Rates around 1e9 that have not changed; a row per series."""
    return np.asarray(1e9 * np.random.default_rng(seed).lognormal(0, scatter, (series, runs)))


Kind = Literal["independent", "common", "heavy tails", "neighbours", "one-sided", "slow nights"]
"""One-sided: rates fall short of a best one. Slow nights: on one of five a series loses 22 %."""


def logs(kind: Kind, dice: np.random.Generator, series: int, runs: int) -> NDArray[np.float64]:
    own = dice.normal(0, SCATTER, (series, runs))
    match kind:
        case "independent":
            return own
        case "common":  # nights on which everything is slower
            return np.asarray(own / 2 + dice.normal(0, SCATTER, runs))
        case "heavy tails":
            return np.asarray(SCATTER * dice.standard_t(5, (series, runs)))
        case "one-sided":
            return np.asarray(-dice.exponential(SCATTER, (series, runs)))
        case "slow nights":
            return np.asarray(own - 0.25 * (dice.random((series, runs)) < 0.2))
        case "neighbours":
            for index in range(1, runs):
                own[:, index] = 0.3 * own[:, index - 1] + np.sqrt(1 - 0.3**2) * own[:, index]
            return own


# Of so many collections of 8 series, how many alarms there may be. What is promised is 1 %: of 100 more than 5 come by
# chance once in 2000 seeds. The others go beyond the promise, and stay near what docs/concepts/statistics.md says.
@pytest.mark.parametrize(
    ("kind", "most"),
    [("independent", 5), ("common", 5), ("heavy tails", 7), ("neighbours", 8), ("one-sided", 14), ("slow nights", 26)],
)
@pytest.mark.parametrize("runs", [6, 12, 30])
def test_where_nothing_changed_something_is_rarely_told_of_all_series_together(
    kind: Kind, most: int, runs: int
) -> None:
    dice = np.random.default_rng(7)
    alarms = 0
    for _ in range(100):
        found = told(*(1e9 * np.exp(logs(kind, dice, 8, runs))), tolerance=0.0)
        alarms += any(one.trend or one.changes for one in found)
    assert alarms <= most
    assert FALSE_ALARMS == 0.01


@pytest.mark.parametrize("nights", [1, 2, 4, 7])
def test_a_fall_is_a_change_before_its_first_run_and_a_decline_of_the_latest(nights: int) -> None:
    rates = noise(1, 4, 14)
    rates[0, -nights:] *= 0.7
    first, *others = told(*rates)
    assert (first.reason, first.judgement, first.trend) == ("declined", "failed", None)
    (change,) = first.changes
    assert change.at == 14 - nights
    assert first.rests_on_the_latest_run == (nights == 1)
    assert change.after / change.before == pytest.approx(0.7, rel=0.1)
    assert (first.before, first.now) == (change.before, change.after)
    assert [other.reason == "declined" for other in others] == [False, False, False]


def test_a_gradual_decline_is_a_trend_over_the_time_and_no_staircase() -> None:
    (one,) = told(noise(2, 1, 20)[0] * np.linspace(1, 0.7, 20))
    assert one.changes == ()
    assert one.trend is not None
    assert one.trend.low < -0.3 < one.trend.high
    assert one.change == pytest.approx(one.trend.estimate)
    assert one.reason == "declined"


def test_a_rate_that_has_recovered_passes_and_both_changes_are_told() -> None:
    rates = noise(3, 1, 30)[0]
    rates[8:16] *= 0.6
    (one,) = told(rates)
    assert [change.at for change in one.changes] == [8, 16]
    assert one.reason == "held"


def test_a_rate_that_has_recovered_in_part_is_judged_by_the_best_level() -> None:
    rates = noise(4, 1, 30)[0]
    rates[10:20] *= 0.5
    rates[20:] *= 0.75
    (one,) = told(rates)
    assert one.reason == "declined"
    assert one.change == pytest.approx(-0.25, abs=0.05)


def test_what_became_faster_passes() -> None:
    rates = noise(5, 1, 16)[0]
    rates[8:] *= 1.5
    (one,) = told(rates)
    assert (one.reason, len(one.changes)) == ("held", 1)
    assert one.change == pytest.approx(0.5, abs=0.1)


def test_a_change_within_the_tolerance_is_neither_told_nor_judged() -> None:
    rates = noise(6, 1, 24, scatter=0.005)[0]
    rates[12:] *= 0.97
    (one,) = told(rates)
    assert (one.reason, one.changes, one.trend) == ("held", (), None)
    (one,) = told(rates, tolerance=0.01)
    assert one.reason == "declined"


def test_a_loss_that_may_be_chance_is_not_judged_and_a_large_enough_one_is() -> None:
    rates = noise(7, 1, 10, scatter=0.1)[0]
    typical = float(np.median(rates[:-1]))
    rates[-1] = 0.8 * typical
    (one,) = told(rates)
    assert (one.reason, one.judgement) == ("scatter", "not judged")
    assert one.smallest_detectable_drop is not None
    assert one.smallest_detectable_drop > 0.2
    rates[-1] = np.exp(np.log(rates[:-1]).mean()) * (1 - one.smallest_detectable_drop)
    assert told(rates)[0].reason == "declined"


def test_a_drop_of_the_smallest_detectable_size_is_detected_in_8_of_10_cases() -> None:
    dice = np.random.default_rng(11)
    series = SCATTER * dice.normal(size=(300, 12))
    drop = float(np.median([told(np.exp(one))[0].smallest_detectable_drop or 0 for one in series[:100]]))
    series[100:, -1] += np.log1p(-drop)
    assert np.mean([told(np.exp(one))[0].reason == "declined" for one in series[100:]]) == pytest.approx(0.8, abs=0.08)


def test_a_point_of_which_a_loss_of_half_could_be_missed_is_not_judged() -> None:
    (scattered,), (steady,) = told([1e9, 1.1e9, 0.9e9, 1.05e9, 0.95e9, 1e9]), told(noise(12, 1, 30)[0])
    assert (scattered.reason, scattered.judgement) == ("insensitive", "not judged")
    assert (scattered.smallest_detectable_drop or 0) > 0.5 > (steady.smallest_detectable_drop or 1)
    assert (steady.reason, steady.judgement) == ("held", "passed")
    assert told([1e9, 1.1e9, 0.9e9, 1.05e9, 0.95e9, 1e9], tolerance=0.5)[0].reason == "held"  # half may be lost


def test_few_runs_are_not_judged_whatever_they_measured() -> None:
    few = [1e9, 1.01e9, 0.99e9, 0.1e9]
    assert len(few) == FEWEST - 1
    (one,) = told(few)
    assert (one.reason, one.judgement, one.smallest_detectable_drop) == ("too few runs", "not judged", None)
    assert told([1e9])[0].before is None
    assert told([1e9, 1.005e9, 1.01e9, 0.99e9, 0.1e9])[0].reason == "declined"


def test_runs_that_measured_exactly_the_same_hold() -> None:
    assert told([1e9] * 8)[0].reason == "held"
    assert told([1e9] * 7 + [0.9e9])[0].reason == "declined"


def test_runs_that_began_in_the_same_second_are_taken_in_their_order() -> None:
    (one,) = courses([history(noise(8, 1, 12)[0] * np.linspace(1, 0.5, 12), hours=0)], TOLERANCE)
    assert one.reason == "declined"


def test_the_more_series_the_more_it_takes_to_tell_one() -> None:
    rates = noise(9, 1, 8)[0]
    (alone,) = told(rates)
    among = told(rates, *noise(10, 39, 8))[0]
    assert alone.smallest_detectable_drop is not None
    assert among.smallest_detectable_drop is not None
    assert among.smallest_detectable_drop > alone.smallest_detectable_drop


@given(st.integers(0, 10**6), st.sampled_from([0.5, 0.8, 1.0, 1.3]), st.floats(0.1, 1000))
def test_faster_storage_has_the_same_changes_in_proportion(seed: int, drop: float, factor: float) -> None:
    rates = noise(seed, 1, 15)[0]
    rates[9:] *= drop
    (slow,), (fast,) = told(rates), told(rates * factor)
    assert [change.at for change in slow.changes] == [change.at for change in fast.changes]
    assert slow.reason == fast.reason
    assert fast.now == pytest.approx(factor * slow.now)

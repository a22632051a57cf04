from __future__ import annotations

import random

import pytest

from ioassay.tuning.sweep.pairs import FEWEST, Pair, Precision, gain, next_step, today_first


def _pairs(*ratios: float) -> list[Pair]:
    return [Pair(100.0, 100.0 * ratio) for ratio in ratios]


def test_a_point_is_never_given_up_before_three_pairs() -> None:
    for count in range(FEWEST):
        assert next_step(_pairs(*[0.01] * count), Precision(), least=1.0) == "pair"
    assert next_step(_pairs(0.01, 0.011, 0.012), Precision(), least=1.0) == "given up"


def test_pairs_are_added_until_the_interval_is_narrow_or_there_are_enough() -> None:
    assert next_step(_pairs(1.5, 1.5001, 1.5002), Precision()) == "settled"
    assert next_step(_pairs(1.0, 2.0, 1.5), Precision()) == "pair"
    assert next_step(_pairs(*[1.0, 2.0] * 5), Precision(most=10)) == "enough"


def test_a_point_that_may_still_win_is_not_given_up() -> None:
    assert next_step(_pairs(0.9, 1.2, 1.6), Precision(), least=1.5) == "pair"


def test_a_steady_drift_cancels_out_over_an_even_number_of_pairs() -> None:
    rate, pairs = 100.0, []
    for number in range(4):
        order = ["today", "point"] if today_first(number) else ["point", "today"]
        values = {}
        for side in order:
            values[side] = rate
            rate *= 0.9
        pairs.append(Pair(values["today"], values["point"]))
    product = 1.0
    for pair in pairs:
        product *= pair.point / pair.today
    assert product == pytest.approx(1.0)


def test_a_point_like_today_is_called_better_by_five_pairs_in_at_most_five_percent_of_sweeps() -> None:
    chance, sweeps, wrong = random.Random(5), 2000, 0
    for _ in range(sweeps):
        pairs = [Pair(chance.lognormvariate(0, 0.1), chance.lognormvariate(0, 0.1)) for _ in range(5)]
        known = gain(pairs)
        assert known is not None
        wrong += known.low > 1
    assert wrong / sweeps < 0.05

"""Which rank count has the best score, on made-up rounds."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from ioassay.tuning.io500.balance import Balance, Limits, Round, balance

_COUNTS = [1, 2, 4, 8, 16, 32]
_LIMITS = Limits(precision=0.05, most_rounds=8)


def _measured(score: Callable[[int], float | None], optimum: int, noise: float = 0.01, seed: int = 1) -> Balance:
    """Measures as the procedure does, until nothing is left."""
    chance = random.Random(seed)
    rounds: list[Round] = []
    while (state := balance(rounds, optimum, _COUNTS, _LIMITS)).to_measure:
        values = {ranks: score(ranks) for ranks in state.to_measure}
        rounds.append({ranks: value and value * chance.lognormvariate(0, noise) for ranks, value in values.items()})
        assert len(rounds) < 200
    return state


def test_candidates_begin_with_the_optimum_of_bandwidth_and_its_neighbours() -> None:
    assert sorted(balance([], 4, _COUNTS, _LIMITS).to_measure) == [2, 4, 8]
    assert sorted(balance([], 32, _COUNTS, _LIMITS).to_measure) == [16, 32]
    assert list(balance([], 1, [1], _LIMITS).to_measure) == [1]


def test_the_order_turns_from_round_to_round() -> None:
    rounds: list[Round] = []
    firsts = []
    for _ in range(3):
        order = balance(rounds, 4, _COUNTS, _LIMITS).to_measure
        firsts.append(order[0])
        rounds.append(dict.fromkeys(order, 10.0))
    assert sorted(firsts) == [2, 4, 8]


@pytest.mark.parametrize("peak", _COUNTS)
@pytest.mark.parametrize("optimum", [2, 16])
def test_the_peak_is_found_wherever_bandwidth_had_its_own(peak: int, optimum: int) -> None:
    state = _measured(lambda ranks: 10 * min(ranks / peak, peak / ranks) ** 0.3, optimum)
    assert state.best == peak
    around = {candidate.ranks: candidate.standing for candidate in state.candidates}
    assert around[peak] == "leads"
    assert set(around.values()) == {"leads", "worse"}


def test_rank_counts_that_score_alike_are_reported() -> None:
    state = _measured(lambda ranks: 10.0, 4)
    assert state.best is not None
    assert len(state.candidates) >= 3
    assert set(state.alike) == {candidate.ranks for candidate in state.candidates} - {state.best}


def test_a_clearly_worse_count_is_measured_no_more_than_it_takes_to_know() -> None:
    state = _measured(lambda ranks: {2: 10.0, 4: 5.0, 8: 1.0}.get(ranks, 4.0), 4)
    assert state.best == 2
    assert max(len(candidate.scores) for candidate in state.candidates if candidate.standing == "worse") == 4


def test_a_single_rank_count_is_measured_three_times() -> None:
    rounds: list[Round] = []
    while (state := balance(rounds, 1, [1], _LIMITS)).to_measure:
        rounds.append({1: 3.0})
    assert (state.best, len(rounds)) == (1, 3)


def test_a_rank_count_that_cannot_be_measured_is_left_out() -> None:
    state = _measured(lambda ranks: None if ranks > 4 else float(ranks), 4)
    assert state.best == 4
    assert {candidate.ranks for candidate in state.candidates if candidate.standing == "failed"} == {8}


def test_no_rank_count_is_best_without_a_valid_measurement() -> None:
    state = _measured(lambda ranks: None, 4)
    assert state.best is None
    assert {candidate.standing for candidate in state.candidates} == {"failed"}


def test_a_round_that_was_interrupted_counts_for_those_it_has() -> None:
    rounds: list[Round] = [{2: 5.0}, *[{2: 5.0, 4: 10.0, 8: 3.0}] * 4]
    state = balance(rounds, 4, [2, 4, 8], _LIMITS)
    assert not state.to_measure
    assert state.best == 4
    assert {len(candidate.scores) for candidate in state.candidates if candidate.ranks == 2} == {5}

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Sequence

import pytest

from ioassay.errors import CannotRun
from ioassay.tuning.sweep.search import Point, Search, suggestions

Surface = Callable[[Point], float]


def _tried(search: Search, surface: Surface) -> list[Point]:
    tried = []
    while (point := search.ask()) is not None:
        search.tell(point, surface(point))
        tried.append(point)
    return tried


def test_a_grid_that_fits_the_budget_is_tried_whole_and_each_point_once() -> None:
    tried = _tried(Search([3, 4], trials=12, today=(1, 1)), lambda point: 1.0)
    assert len(tried) == len(set(tried)) == 11
    assert (1, 1) not in tried


def test_no_point_of_a_larger_grid_is_tried_twice() -> None:
    tried = _tried(Search([6, 6, 6], trials=25, today=None), lambda point: 1.0 + sum(point) / 10)
    assert len(tried) == len(set(tried)) == 25


def test_optuna_is_needed_only_for_a_grid_beyond_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert len(_tried(Search([3, 4], trials=12, today=None), lambda point: 1.0)) == 12
    with pytest.raises(CannotRun) as error:
        Search([3, 4], trials=11, today=None)
    assert error.value.remedy == "pip install 'ioassay[tune]'; or try every point: --trials 12."


def test_suggestions_of_rules_come_first() -> None:
    search = Search([5, 5], trials=4, today=(0, 0), suggested=[(4, 4), (4, 0)])
    assert _tried(search, lambda point: 1.0)[:2] == [(4, 4), (4, 0)]


def test_a_search_that_is_given_known_results_again_goes_on_with_new_points() -> None:
    first = Search([8, 8], trials=10, today=None, seed=3)
    known = [first.ask() for _ in range(1)]
    for point in filter(None, known):
        first.tell(point, 1.2)
    resumed = Search([8, 8], trials=10, today=None, seed=3)
    for point in filter(None, known):
        resumed.tell(point, 1.2)
    rest = _tried(resumed, lambda point: 1.0)
    assert len(rest) == 9
    assert not set(rest) & set(known)


def test_points_that_cannot_be_measured_and_forbidden_ones_are_not_tried_again() -> None:
    search = Search([2, 2], trials=10, today=None)
    while (point := search.ask()) is not None:
        search.tell(point, None if sum(point) else 5.0, is_allowed=False)
    assert search.ask() is None


def test_recommendations_are_suggested_together_and_alone_by_the_nearest_values_of_the_lists() -> None:
    values = [["128", "512", "1024"], ["none", "mq-deadline"], ["1", "2"]]
    points = suggestions(values, ["512", "none", "1"], {0: "900", 1: "mq-deadline"})
    assert points == [(2, 1, 0), (2, 0, 0), (1, 1, 0)]
    assert suggestions(values, ["512", "none", "1"], {}) == []


def _surfaces() -> dict[str, tuple[Sequence[int], Surface]]:
    """Known optima: a peak, a ridge of two parameters that depend on each other, one of four that matters."""
    return {
        "peak": (
            [8, 8, 8],
            lambda point: 1 + math.exp(-sum((a - b) ** 2 for a, b in zip(point, (5, 2, 6), strict=True)) / 8),
        ),
        "ridge": ([10, 10], lambda point: 1 + math.exp(-((point[0] + point[1] - 12) ** 2) / 4) * (1 + point[0] / 10)),
        "one of four": ([6, 6, 6, 6], lambda point: 1 + point[1] / 3),
    }


@pytest.mark.parametrize("name", list(_surfaces()))
def test_search_without_a_rule_is_no_worse_than_random_search(name: str) -> None:
    sizes, surface = _surfaces()[name]
    budget, seeds = 20, 12
    ours = [max(map(surface, _tried(Search(sizes, budget, None, seed=seed), surface))) for seed in range(1, seeds + 1)]
    random_ones = []
    for seed in range(seeds * 10):
        chance = random.Random(seed)
        points = {tuple(chance.randrange(size) for size in sizes) for _ in range(budget)}
        random_ones.append(max(map(surface, points)))
    assert sum(ours) / len(ours) >= sum(random_ones) / len(random_ones)

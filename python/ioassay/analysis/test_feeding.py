"""How many accelerators storage feeds, and what a search measures to find out."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from ioassay.analysis.accelerator_sweeps import likely_cases
from ioassay.analysis.feeding import AcceleratorCount, Feeding, feeding, next_count
from ioassay.analysis.test_training import MS, row
from ioassay.analysis.training import Epoch, training
from ioassay.store import schema
from ioassay.store.loaded import LoadedRun
from ioassay.store.point import SweepPoint
from ioassay.studies.test_train import TRAIN
from ioassay.studies.test_workloads import HEAD
from ioassay.testing.measured_study import measured

SWEPT = TRAIN.replace("w:\n", "w:\n    clients: [1]\n    ranks_per_client: [1, 2, 4, 8]\n    repetitions: 2\n", 1)


def swept(computing_ns: dict[int, int], study: str = SWEPT, **others: Any) -> LoadedRun:
    """Epochs of 240 ms in which each of so many accelerators of a client computed for so long."""
    run = measured(HEAD + study)
    rows = [
        row(case.id, "epoch-1", rank, compute_ns=computing_ns[case.ranks_per_client], **others)
        for case in run.document.cases
        for rank in range(case.clients * case.ranks_per_client)
    ]
    return replace(run, training=pl.DataFrame(rows, schema=schema.TRAINING))


def test_accelerators_are_fed_up_to_the_first_number_that_misses_the_goal() -> None:
    run = swept({1: 240 * MS, 2: 228 * MS, 4: 180 * MS, 8: 230 * MS}, loader_busy_ns=470 * MS)
    (answer,) = feeding(run.document.cases, training(run))
    assert [(count.accelerators, count.repetitions) for count in answer.counts] == [(1, 2), (2, 2), (4, 2), (8, 2)]
    assert answer.fed is not None
    assert answer.first_unfed is not None
    assert answer.fed.accelerators == 2
    assert answer.fed.utilisation == pytest.approx(0.95)
    assert (answer.first_unfed.accelerators, answer.first_unfed.limit) == (4, "storage")


def test_none_or_all_may_be_fed() -> None:
    few, all_busy = (swept(dict.fromkeys((1, 2, 4, 8), time * MS)) for time in (100, 240))
    ((none,), (every,)) = (feeding(run.document.cases, training(run)) for run in (few, all_busy))
    assert none.fed is None
    assert none.first_unfed is not None
    assert none.first_unfed.accelerators == 1
    assert every.fed is not None
    assert every.fed.accelerators == 8
    assert every.first_unfed is None


def test_a_single_number_of_accelerators_has_no_answer() -> None:
    run = swept(dict.fromkeys((1, 2, 4, 8), 240 * MS))
    of_two = replace(run, training=run.training.filter(pl.col("case").str.contains("p002")))
    assert not of_two.training.is_empty()
    assert feeding(run.document.cases, training(of_two)) == []


def test_the_goal_is_that_of_the_study() -> None:
    times = {1: 240 * MS, 2: 180 * MS, 4: 160 * MS, 8: 100 * MS}
    run = swept(times, study=SWEPT.replace("batch: 4", "batch: 4, utilisation: 70 %"))
    (answer,) = feeding(run.document.cases, training(run))
    assert answer.goal == pytest.approx(0.7)
    assert answer.fed is not None
    assert answer.fed.accelerators == 2


def test_numbers_of_clients_are_apart_where_their_ranks_are_swept() -> None:
    run = swept(dict.fromkeys((1, 2), 240 * MS), study=SWEPT.replace("[1]", "[1, 2]").replace("[1, 2, 4, 8]", "[1, 2]"))
    answers = feeding(run.document.cases, training(run))
    assert [dict(answer.swept.values) for answer in answers] == [{"clients": 1}, {"clients": 2}]
    assert [[count.accelerators for count in answer.counts] for answer in answers] == [[1, 2], [2, 4]]


def epoch(utilisation: float) -> Epoch:
    run = swept(dict.fromkeys((1, 2, 4, 8), 240 * MS))
    return replace(training(run)[0].epochs[0], utilisation=utilisation)


ANY = epoch(1.0)


def counts(utilisations: Mapping[int, list[float]]) -> list[AcceleratorCount]:
    return [
        AcceleratorCount(accelerators, [replace(ANY, utilisation=utilisation) for utilisation in each])
        for accelerators, each in utilisations.items()
    ]


def searched(most: int, repetitions: int, utilisation: Callable[[int], float]) -> tuple[Feeding, list[int]]:
    """The answer of a search among 1 to `most`, and what it measured in order."""
    known: dict[int, list[float]] = {count: [] for count in range(1, most + 1)}
    order: list[int] = []
    while True:
        exhausted = [count for count, each in known.items() if len(each) == repetitions]
        count = next_count(counts(known), exhausted)
        if count is None:
            break
        assert count not in exhausted
        order.append(count)
        known[count].append(utilisation(count))
    measured_counts = [count for count in counts(known) if count.epochs]
    return Feeding(SweepPoint("w", ()), measured_counts), order


@pytest.mark.parametrize("answer", range(18))
def test_a_search_finds_the_limit_by_bisection_and_repeats_what_is_next_to_it(answer: int) -> None:
    feeds, order = searched(17, 5, lambda count: 0.97 if count <= answer else 0.7)
    assert (feeds.fed.accelerators if feeds.fed else 0) == answer
    assert feeds.certainly_fed == feeds.fed
    assert feeds.certainly_unfed == feeds.first_unfed
    assert len(set(order)) <= 5, "bisection of 17"
    for count in {answer, answer + 1} & set(range(1, 18)):
        assert order.count(count) == 3
    assert len(order) <= 5 + 2 * 2


def test_a_search_says_what_it_does_not_know_where_repetitions_scatter_about_the_goal() -> None:
    scatter = random.Random(1)
    feeds, order = searched(8, 5, lambda count: 0.9 + (4.5 - count) * 0.01 + scatter.uniform(-0.02, 0.02))
    assert feeds.first_unfed is not None
    assert feeds.fed is not None
    assert order.count(feeds.fed.accelerators) >= 3
    lowest = feeds.certainly_fed.accelerators if feeds.certainly_fed else 0
    highest = feeds.certainly_unfed.accelerators if feeds.certainly_unfed else 9
    assert (lowest, highest) != (feeds.fed.accelerators, feeds.first_unfed.accelerators)
    assert lowest <= feeds.fed.accelerators < highest


def test_a_first_run_that_was_disturbed_moves_a_search_only_until_it_is_repeated() -> None:
    times = iter([0.95, 0.60])  # 5 of 8 passes, then 7 passes in truth, but its first run was disturbed
    feeds, order = searched(8, 7, lambda count: next(times, 0.97 if count <= 7 else 0.5))
    assert order[:2] == [5, 7]
    assert feeds.fed is not None
    assert feeds.fed.accelerators == 7


def test_a_single_run_of_each_is_an_answer_without_certainty() -> None:
    feeds, order = searched(16, 1, lambda count: 0.97 if count <= 3 else 0.7)
    assert feeds.fed is not None
    assert feeds.fed.accelerators == 3
    assert len(order) == len(set(order)) <= 5
    assert (feeds.certainly_fed, feeds.certainly_unfed) == (None, None)


def test_a_number_that_could_not_be_measured_counts_as_not_fed() -> None:
    known: dict[int, list[float]] = {1: [0.99] * 5, 2: [], 3: [], 4: []}
    assert next_count(counts(known), [1, 2, 3, 4]) is None
    assert next_count(counts(known), [1, 3]) == 2


def test_a_search_likely_takes_bisection_and_repetitions_on_both_sides() -> None:
    study = SWEPT.replace("[1, 2, 4, 8]", "1 to 8\n    search: accelerators").replace(
        "repetitions: 2", "repetitions: 5"
    )
    document = measured(HEAD + study).document
    assert len(document.cases) == 40
    for case in document.cases:
        case.state = "pending"
    assert len(likely_cases(document)) == 4 + 4
    for case in document.cases[:12]:
        case.state = "complete"
    assert len(likely_cases(document)) == 12 + 1
    for case in document.cases[12:]:
        case.state = "not needed"
    assert likely_cases(document) == document.cases


def test_all_cases_are_likely_without_a_search() -> None:
    document = measured(HEAD + SWEPT).document
    assert likely_cases(document) == document.cases

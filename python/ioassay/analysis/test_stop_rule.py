from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis.stop_rule import Width, by_point, half_width, is_narrow, point_rates, still_wide, widths
from ioassay.store.document import RunDocument, StopRule
from ioassay.store.loaded import LoadedRun
from ioassay.testing.builder import RunBuilder

RULE = StopRule(share=0.05, at_least=3, at_most=4)
RATES = st.lists(st.floats(1e3, 1e12), min_size=2, max_size=12)


def ruled(document: RunDocument, rule: StopRule = RULE) -> RunDocument:
    """The document with this rule in all workloads."""
    for entry in document.study.workloads:
        entry.until = rule
    return document


def widths_of(run: LoadedRun) -> list[Width]:
    """The widths of the only point of `run`."""
    (rates,) = point_rates(run.document.cases, run.measurements).values()
    return widths(run.document.cases[0], rates)


def narrow(*rates: float) -> bool:
    run = RunBuilder().workload("w").clients(1).repetitions(len(rates)).rates("w", "write", 1, *rates)
    built = run.rates("w", "read", 1, *[1e9] * len(rates)).build()
    return is_narrow(RULE, widths_of(built))


def test_equal_repetitions_are_narrow_from_the_third_on() -> None:
    assert not narrow(1e9, 1e9)
    assert narrow(1e9, 1e9, 1e9)


def test_the_widest_measurement_of_a_point_decides() -> None:
    assert not narrow(1e9, 1.1e9, 0.9e9), "the writes spread, whatever the reads do"
    assert narrow(1e9, 1.001e9, 0.999e9)


def test_invalid_measurements_do_not_count() -> None:
    builder = RunBuilder().workload("w").clients(1).repetitions(3).rates("w", "write", 1, 1e9, 1e9, 1e9)
    run = builder.rates("w", "read", 1, 1e9, 1e9, 1e9).doubt("w-c1-r2", "read", "failed", invalidates=True).build()
    of_phase = {width.series.phase: width for width in widths_of(run)}
    assert (of_phase["write"].repetitions, of_phase["read"].repetitions) == (3, 2)
    assert not is_narrow(RULE, [*of_phase.values()])


def test_unmeasured_points_are_not_narrow() -> None:
    run = RunBuilder().workload("w").stop_after(0).build()
    unknown = widths(run.document.cases[0], {})
    assert [width.share for width in unknown] == [math.inf, math.inf]
    assert not is_narrow(RULE, unknown)


def test_the_half_width_is_that_of_students_t() -> None:
    # t(0.99, 2) = 6.964557; the standard deviation of 1, 2, 3 is 1.
    assert half_width([1, 2, 3]) == pytest.approx(6.964557 / math.sqrt(3), rel=1e-6)
    assert half_width([5.0]) == math.inf


@given(RATES, st.floats(1e-3, 1e3))
def test_the_unit_of_the_rates_does_not_matter(rates: list[float], factor: float) -> None:
    rounding = 1e-12 * factor * max(rates)
    assert half_width([factor * rate for rate in rates]) == pytest.approx(
        factor * half_width(rates), rel=1e-6, abs=rounding
    )


@given(RATES, st.randoms(use_true_random=False))
def test_the_order_of_the_repetitions_does_not_matter(rates: list[float], dice: random.Random) -> None:
    shuffled = dice.sample(rates, len(rates))
    assert half_width(shuffled) == pytest.approx(half_width(rates), rel=1e-9)


def stopped(dice: random.Random, scatter: float, at_most: int) -> tuple[bool, bool, int]:
    """Whether a point of the true rate 1 stops as narrow at 5 %, whether its interval then covers 1, and its
    repetitions.
    """
    rates: list[float] = []
    while len(rates) < at_most:
        rates.append(dice.lognormvariate(0, scatter))
        half = half_width(rates)
        if len(rates) >= 3 and half <= 0.05 * statistics.median(rates):
            return True, abs(statistics.fmean(rates) - 1) <= half, len(rates)
    return False, False, at_most


@pytest.mark.parametrize("scatter", [0.02, 0.05, 0.07, 0.1])
def test_at_most_5_of_100_points_stop_with_an_interval_that_misses(scatter: float) -> None:
    dice = random.Random(3)
    stops = [stopped(dice, scatter, 10) for _ in range(1500)]
    assert statistics.fmean(narrow and not covers for narrow, covers, _ in stops) <= 0.05


def test_calm_points_stop_early_and_noisy_ones_rarely() -> None:
    dice = random.Random(4)
    calm, wild = ([stopped(dice, scatter, 10) for _ in range(600)] for scatter in (0.02, 0.1))
    assert statistics.fmean(count for _, _, count in calm) == pytest.approx(4.0, abs=0.3)
    assert statistics.fmean(narrow for narrow, _, _ in wild) == pytest.approx(0.09, abs=0.04)


def test_only_points_that_reached_the_most_repetitions_are_still_wide() -> None:
    builder = RunBuilder().workload("w").clients(1, 2, 4).repetitions(4)
    for clients, spread in ((1, 1.0), (2, 1.5), (4, 1.5)):
        builder.rates("w", "write", clients, 1e9, spread * 1e9, 1e9, spread * 1e9)
        builder.rates("w", "read", clients, 1e9, 1e9, 1e9, 1e9)
    run = builder.build()
    ruled(run.document)
    run.document.cases[-1].state = "interrupted"
    (wide,) = still_wide(run.document, run.measurements)
    assert (dict(wide.point.values)["clients"], [width.series.phase for width in wide.wide]) == (2, ["write"])
    assert wide.wide[0].repetitions == 4


def test_cases_of_a_point_are_its_repetitions() -> None:
    document = RunBuilder().workload("a").workload("b").clients(1, 2).repetitions(3).build().document
    points = by_point(document.cases)
    assert [(point.workload, dict(point.values)["clients"], len(cases)) for point, cases in points.items()] == [
        ("a", 1, 3),
        ("a", 2, 3),
        ("b", 1, 3),
        ("b", 2, 3),
    ]

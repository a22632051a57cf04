from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.analysis import rates
from ioassay.analysis.scalability import FOLLOWS, Law, Sweep, fit, sweeps
from ioassay.analysis.series import Series
from ioassay.studies.library import builtin_studies
from ioassay.testing.builder import RunBuilder
from ioassay.testing.measured_study import measured

METADATA = Path(__file__).parents[3] / "examples" / "one-directory-or-many.yaml"

COUNTS = (1, 2, 4, 8, 16, 32, 64)


def _medians(law: Law, counts: tuple[int, ...] = COUNTS) -> tuple[tuple[int, float], ...]:
    return tuple((count, law.rate(count)) for count in counts)


def _sweep(*rates_of: float, counts: tuple[int, ...] = COUNTS) -> Sweep:
    """The sweep of a run with these rates of its writes."""
    counts = counts[: len(rates_of)]
    builder = RunBuilder().workload("w").clients(*counts)
    for count, rate in zip(counts, rates_of, strict=True):
        builder.rates("w", "write", count, rate)
    run = builder.build()
    return next(
        sweep for sweep in sweeps(run.document, rates.points(run.measurements)) if sweep.series.operation == "write"
    )


@given(
    st.floats(1e6, 1e11), st.floats(0, 0.9), st.floats(0, 0.1), st.sampled_from([COUNTS, (1, 3, 9, 27), (4, 8, 12, 20)])
)
def test_the_fit_recovers_the_terms_of_the_law(
    rate: float, contention: float, coherency: float, counts: tuple[int, ...]
) -> None:
    law = Law(rate, contention, coherency)
    fitted = fit(_medians(law, counts))
    assert fitted is not None
    assert fitted.law.rate_of_one == pytest.approx(rate, rel=1e-6)
    assert fitted.law.contention == pytest.approx(contention, abs=1e-6)
    assert fitted.law.coherency == pytest.approx(coherency, abs=1e-8)
    assert fitted.error < 1e-6


def test_the_peak_is_where_the_curve_is_highest() -> None:
    law = Law(1e9, 0.02, 0.001)
    around = max(range(1, 200), key=law.rate)
    assert law.peak_at == pytest.approx(around, abs=0.5)
    assert law.highest == pytest.approx(law.rate(around), rel=1e-3)
    assert Law(1e9, 0.1, 0).highest == pytest.approx(1e10)
    assert Law(1e9, 0, 0).highest == math.inf


@pytest.mark.parametrize("coherency", [0, 0.001])
def test_a_falling_rate_is_highest_with_one_client(coherency: float) -> None:
    law = Law(1e9, 2.5, coherency)
    assert law.highest == law.rate(1) == 1e9
    assert law.peak_at < 1


@pytest.mark.parametrize("counts", [COUNTS, (1, 2, 4, 8, 16), (1, 2, 4, 8)])
@pytest.mark.parametrize("law", [Law(1, 0.05, 0.001), Law(1, 0.3, 0), Law(1, 0.02, 0.01)])
def test_intervals_cover_the_terms_behind_a_noisy_sweep(law: Law, counts: tuple[int, ...]) -> None:
    trials, hits, dice = 120, np.zeros(3), np.random.default_rng(9)
    for _ in range(trials):
        fitted = fit(tuple((count, rate * float(dice.lognormal(0, 0.05))) for count, rate in _medians(law, counts)))
        assert fitted is not None
        pairs = (
            (fitted.contention, law.contention),
            (fitted.coherency, law.coherency),
            (fitted.peak_at, law.peak_at),
        )
        hits += [interval.low <= true <= interval.high for interval, true in pairs]
    assert (hits / trials > 0.85).all(), "92 % of many trials, minus three standard errors"


def test_a_sweep_that_stops_early_does_not_reach_its_peak() -> None:
    sweep = _sweep(1e9, 1.9e9, 3.6e9, 6.4e9)
    assert sweep.law is not None
    assert sweep.reach == "not reached"
    assert sweep.law.peak_at.estimate > 8


def test_a_sweep_that_falls_from_the_first_point_has_not_levelled_off() -> None:
    law = Law(52e6, 2.1, 0)
    sweep = _sweep(*(law.rate(count) for count in COUNTS))
    assert sweep.law is not None
    assert sweep.law.law.coherency == 0
    assert sweep.reach == "reached"


def test_a_sweep_that_falls_has_its_peak_within() -> None:
    law = Law(1e9, 0.02, 0.002)
    sweep = _sweep(*(law.rate(count) for count in COUNTS))
    assert sweep.reach == "reached"
    assert sweep.law is not None
    assert sweep.law.law.peak_at == pytest.approx(22, abs=0.5)


@pytest.mark.parametrize(("law", "reached"), [(Law(1, 1, 0), (0, 0.06)), (Law(1, 0.02, 0.01), (0.9, 1))])
def test_a_sweep_reaches_its_peak_only_if_it_has_one(law: Law, reached: tuple[float, float]) -> None:
    dice = np.random.default_rng(4)
    reaches = []
    for _ in range(60):
        medians = tuple((count, rate * float(dice.lognormal(0, 0.03))) for count, rate in _medians(law, COUNTS))
        series = Series("p", "j", "write")
        sweep = Sweep("w", series, None, (), "clients", "rate_bytes_per_s", medians, (), False, False, fit(medians))
        reaches.append(sweep.reach)
    assert reached[0] <= reaches.count("reached") / len(reaches) <= reached[1]
    assert "not reached" not in reaches


def test_a_peak_within_the_sweep_is_uncertain_if_its_interval_extends_beyond() -> None:
    sweep = _sweep(1e9, 1.1e9, 0.92e9, 1.12e9, 0.93e9, 1.05e9, 0.88e9)
    assert sweep.law is not None
    assert sweep.law.law.peak_at <= COUNTS[-1] < sweep.law.peak_at.high
    assert sweep.reach == "uncertain"


def test_a_levelled_off_sweep_is_level() -> None:
    law = Law(1e9, 0.9, 0)
    assert _sweep(*(law.rate(count) for count in COUNTS)).reach == "level"


def test_a_collapsing_sweep_does_not_follow_the_law() -> None:
    sweep = _sweep(1e9, 2e9, 4e9, 8e9, 16e9, 1e9, 30e9)
    assert sweep.fit is not None
    assert sweep.fit.error > FOLLOWS
    assert sweep.law is None
    assert sweep.reach == "not reached"
    assert _sweep(1e9, 2e9, 4e9, 8e9, 16e9, 16e9, 1e8).reach == "reached"


def test_three_points_have_no_law_but_a_reach() -> None:
    rising, falling, level = _sweep(1e9, 2e9, 3e9), _sweep(1e9, 2e9, 1.5e9), _sweep(1e9, 2e9, 2.04e9)
    assert rising.fit is None
    assert (rising.reach, falling.reach, level.reach) == ("not reached", "reached", "level")


def test_medians_that_do_not_differ_significantly_do_not_rise() -> None:
    builder = RunBuilder().workload("w").clients(1, 2).repetitions(3)
    builder.rates("w", "write", 1, 1e9, 1.1e9, 1.5e9).rates("w", "write", 2, 1.2e9, 1.4e9, 1.6e9)
    builder.rates("w", "read", 1, 1e9, 1.1e9, 1.15e9).rates("w", "read", 2, 1.2e9, 1.4e9, 1.6e9)
    run = builder.build()
    reaches = {sweep.series.operation: sweep.reach for sweep in sweeps(run.document, rates.points(run.measurements))}
    assert reaches == {"write": "level", "read": "not reached"}


def test_one_point_is_no_sweep() -> None:
    run = RunBuilder().workload("w").clients(8).build()
    assert sweeps(run.document, rates.points(run.measurements)) == []


def test_a_rate_of_0_is_not_fitted() -> None:
    assert fit(((1, 0.0), (2, 1.0), (4, 2.0), (8, 3.0))) is None


def test_invalid_measurements_do_not_count() -> None:
    run = RunBuilder().workload("w").clients(1, 2, 4).doubt("w-c4-r1", "write", "failed", invalidates=True).build()
    by_operation = {sweep.series.operation: sweep for sweep in sweeps(run.document, rates.points(run.measurements))}
    assert [count for count, _ in by_operation["write"].medians] == [1, 2]
    assert [count for count, _ in by_operation["read"].medians] == [1, 2, 4]


def test_data_is_counted_in_the_unit_of_the_study() -> None:
    run = RunBuilder().workload("w", unit="kIOPS").workload("v").clients(1, 2).build()
    columns = {sweep.workload: sweep.column for sweep in sweeps(run.document, rates.points(run.measurements))}
    assert columns == {"w": "rate_operations_per_s", "v": "rate_bytes_per_s"}


def test_metadata_is_counted_in_operations() -> None:
    run = measured(METADATA.read_text(encoding="utf-8"), lambda case, _: 1000.0 * case.clients)
    all_sweeps = sweeps(run.document, rates.points(run.measurements))
    assert {sweep.series.operation for sweep in all_sweeps} > {"create", "stat", "remove"}
    assert {sweep.column for sweep in all_sweeps} == {"rate_operations_per_s"}


def test_a_survey_is_a_grid_and_no_sweep() -> None:
    run = measured(builtin_studies()["survey"].text)
    assert sweeps(run.document, rates.points(run.measurements)) == []

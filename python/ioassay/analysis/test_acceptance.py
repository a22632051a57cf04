from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from ioassay.analysis.acceptance import MEASURES, Verdict, accepted, judge
from ioassay.analysis.test_feeding import SWEPT, swept
from ioassay.analysis.test_training import MS
from ioassay.store.loaded import LoadedRun
from ioassay.testing.builder import RunBuilder


def _builder() -> RunBuilder:
    builder = RunBuilder().workload("w").clients(1, 2).repetitions(2)
    return builder.rates("w", "write", 1, 1e9, 2e9).rates("w", "write", 2, 4e9, 4e9)


def _verdict(builder: RunBuilder) -> Verdict:
    (verdict,) = judge(builder.build())
    return verdict


OF_RATES = [name for name in MEASURES if name not in ("utilisation", "accelerators")]
"""Measures that a run of writes and reads has; those of training are tested with runs that train."""


@pytest.mark.parametrize("name", OF_RATES)
def test_every_measure_passes_a_limit_that_it_keeps_and_fails_one_that_it_breaks(name: str) -> None:
    unit = MEASURES[name].unit
    kept = _verdict(_builder().criterion(name, unit=unit, at_most=1e18, at_least=-1))
    broken = _verdict(_builder().criterion(name, unit=unit, at_least=1e18))
    assert (kept.judgement, broken.judgement) == ("passed", "failed")
    assert kept.value is not None
    assert kept.rests_on


@pytest.mark.parametrize("name", MEASURES)
def test_a_criterion_without_data_fails(name: str) -> None:
    builder = _builder().stop_after(0).criterion(name, unit=MEASURES[name].unit, at_most=1e18)
    assert _verdict(builder).judgement == "failed"


@pytest.mark.parametrize("name", OF_RATES)
def test_a_limit_kept_by_half_of_the_data_is_not_passed(name: str) -> None:
    builder = _builder().stop_after(3).criterion(name, unit=MEASURES[name].unit, at_most=1e18)
    verdict = _verdict(builder)
    assert verdict.judgement == "failed"
    assert "have no valid measurement" in verdict.missing


def test_the_rate_is_the_lowest_median_and_names_its_measurements() -> None:
    verdict = _verdict(_builder().criterion("rate", unit="bytes/s", operation="write", at_least=1.6e9))
    assert verdict.judgement == "failed"
    assert verdict.value == pytest.approx(1.5e9)
    assert verdict.rests_on == (("w-c1-r1", "write", "write", "write"), ("w-c1-r2", "write", "write", "write"))


def test_a_criterion_with_a_phase_covers_only_that_phase() -> None:
    builder = _builder().doubt("w-c2-r1", "read", "failed", invalidates=True)
    for phase, judgement in (("write", "passed"), ("read", "failed"), (None, "failed")):
        (*_, verdict) = judge(builder.criterion("failed_phases", unit="1", phase=phase, at_most=0).build())
        assert verdict.judgement == judgement
    (*_, verdict) = judge(builder.criterion("failed_phases", unit="1", phase="stat", at_most=0).build())
    assert (verdict.judgement, verdict.missing) == ("failed", "there is no valid measurement to judge")


def test_operations_that_waited_for_a_suspended_run_break_no_limit() -> None:
    builder = _builder().criterion("slowest_operation", unit="s", operation="write", at_most=1e-9)
    assert _verdict(builder).missing == ""
    for case in ("w-c1-r1", "w-c1-r2", "w-c2-r1", "w-c2-r2"):
        builder.doubt(case, "write", "suspended", invalidates=True)
    assert _verdict(builder).missing == "there is no valid measurement to judge"


def test_the_spread_is_the_widest_over_the_sweep_points() -> None:
    builder = _builder().criterion("spread_between_repetitions", unit="1", operation="write", at_most=0.5)
    assert _verdict(builder).value == pytest.approx(2 / 3)


def test_one_repetition_has_no_spread_and_fails() -> None:
    builder = RunBuilder().workload("w").criterion("spread_between_repetitions", unit="1", at_most=1)
    assert _verdict(builder).judgement == "failed"


def test_an_invalid_phase_is_a_failed_one() -> None:
    builder = _builder().doubt("w-c2-r1", "read", "failed", invalidates=True)
    verdict = _verdict(builder.criterion("failed_phases", unit="1", at_most=0))
    assert (verdict.judgement, verdict.value, verdict.rests_on) == ("failed", 1, (("w-c2-r1", "read", "read", "read"),))


def test_a_case_that_died_without_events_counts_as_one_failed_phase() -> None:
    builder = _builder().stop_after(1, "failed", "the engine was killed")
    verdict = _verdict(builder.criterion("failed_phases", unit="1", at_most=0))
    assert (verdict.judgement, verdict.value) == ("failed", 1)


def test_an_unknown_measure_or_another_unit_fails() -> None:
    assert _verdict(_builder().criterion("beauty", unit="1", at_least=1)).judgement == "failed"
    assert _verdict(_builder().criterion("rate", unit="s", at_most=1)).judgement == "failed"


def test_the_run_is_accepted_only_if_every_criterion_is() -> None:
    passing = _builder().criterion("failed_phases", unit="1", at_most=0)
    assert accepted(judge(passing.build())) == "passed"
    assert accepted(judge(passing.criterion("rate", unit="bytes/s", at_least=1e15).build())) == "failed"
    assert accepted(judge(_builder().build())) is None


def _trained(criterion: str, computing_ms: dict[int, int]) -> LoadedRun:
    study = f"{SWEPT}acceptance: [{{{criterion}, because: the tender asks for it}}]\n"
    return swept({accelerators: ms * MS for accelerators, ms in computing_ms.items()}, study)


@pytest.mark.parametrize(
    ("criterion", "judgement", "value"),
    [
        ("measure: utilisation, at_least: 70 %", "passed", 0.75),
        ("utilisation: 76 %, operation: step", "failed", 0.75),
        ("utilisation: 70 %, phase: epoch-1, workload: w", "passed", 0.75),
        ("measure: accelerators, at_least: 4", "passed", 4),
        ("measure: accelerators, at_least: 5", "failed", 4),
        ("accelerators: 4", "passed", 4),
    ],
)
def test_utilisation_and_accelerators_are_measures(criterion: str, judgement: str, value: float) -> None:
    run = _trained(criterion, {1: 240, 2: 236, 4: 228, 8: 180})
    (verdict,) = judge(_of_epoch_1(run))
    assert (verdict.judgement, verdict.missing) == (judgement, "")
    assert verdict.value == pytest.approx(value)
    cases = {"w.c001.p008.r1", "w.c001.p008.r2"}
    if "accelerators" in criterion:
        cases |= {"w.c001.p004.r1", "w.c001.p004.r2"}
    assert {place.case for place in verdict.rests_on} == cases
    assert {(place.phase, place.operation) for place in verdict.rests_on} == {("epoch-1", "step")}


def _of_epoch_1(run: LoadedRun) -> LoadedRun:
    """The run as if it had no other epoch."""
    for case in run.document.cases:
        case.phases = [phase for phase in case.phases if phase.name != "epoch-2"]
    return run


@pytest.mark.parametrize("measure", ["utilisation", "accelerators"])
def test_training_that_left_no_valid_epoch_meets_no_goal(measure: str) -> None:
    run = _of_epoch_1(
        _trained(
            f"measure: {measure}, at_least: 1{' %' if measure == 'utilisation' else ''}",
            {1: 240, 2: 240, 4: 240, 8: 240},
        )
    )
    (verdict,) = judge(run)
    assert verdict.judgement == "passed"
    invalid = run.measurements.with_columns(pl.lit(value=False).alias("valid"))
    (verdict,) = judge(replace(run, measurements=invalid))
    assert (verdict.judgement, verdict.missing) == ("failed", "there is no valid measurement to judge")

from __future__ import annotations

import pytest

from ioassay.analysis.acceptance import MEASURES, Verdict, accepted, judge
from ioassay.testing.builder import RunBuilder


def _builder() -> RunBuilder:
    builder = RunBuilder().workload("w").clients(1, 2).repetitions(2)
    return builder.rates("w", "write", 1, 1e9, 2e9).rates("w", "write", 2, 4e9, 4e9)


def _verdict(builder: RunBuilder) -> Verdict:
    (verdict,) = judge(builder.build())
    return verdict


@pytest.mark.parametrize("name", MEASURES)
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


@pytest.mark.parametrize("name", MEASURES)
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

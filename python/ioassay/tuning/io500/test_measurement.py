"""What a run of ior-easy alone says; that of the whole IO500 is tested on a real one."""

from __future__ import annotations

import pytest

from ioassay.store.loaded import LoadedRun
from ioassay.testing.builder import RunBuilder
from ioassay.tuning.io500.measurement import finished, observe


def _run(state: str = "complete") -> LoadedRun:
    run = RunBuilder().workload("ior-easy").clients(1).repetitions(1).build()
    run.document.state = state  # type: ignore[assignment]
    return run


@pytest.mark.parametrize(("state", "is_interrupted"), [("failed", False), ("interrupted", True)])
def test_a_run_that_is_not_complete_has_no_rates(state: str, is_interrupted: bool) -> None:
    finished_phase = finished(_run(state), "ior-easy")
    assert finished_phase.is_interrupted is is_interrupted
    assert finished_phase.observed.why_invalid == f"the run is {state}"
    assert finished_phase.observed.write_bytes_per_s is None


def test_the_error_of_a_case_is_the_reason() -> None:
    run = _run("failed")
    run.document.cases[0].error = "No space left on device"
    assert observe(run, "balance").why_invalid == "No space left on device"


def test_a_run_of_other_phases_has_no_rates() -> None:
    assert observe(_run(), "ior-easy").why_invalid == "not every rank completed its work"
    assert observe(_run(), "balance").why_invalid == "nothing was measured"

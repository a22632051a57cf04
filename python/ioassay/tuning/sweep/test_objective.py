from __future__ import annotations

from ioassay.testing.builder import RunBuilder
from ioassay.tuning.sweep.objective import why_not_complete


def test_a_failed_run_is_said_as_a_clause_that_a_sentence_can_end_with() -> None:
    run = (
        RunBuilder()
        .workload("w")
        .clients(1, 2)
        .stop_after(0, "failed", "No space left on device (ENOSPC); measure with less data.")
        .build()
    )
    assert why_not_complete(run) == "No space left on device (ENOSPC); measure with less data"

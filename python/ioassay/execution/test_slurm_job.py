from __future__ import annotations

from pathlib import Path

from ioassay.execution.slurm_job import script
from ioassay.store.document import StopRule
from ioassay.testing.builder import RunBuilder


def test_a_job_has_the_size_of_the_remaining_cases_and_mentions_the_stop_rule() -> None:
    document = RunBuilder().workload("w").clients(1, 2, 4).repetitions(2).build().document
    for case in document.cases:
        case.state = "pending" if case.clients == 2 else "complete"
    document.cases[-1].state = "not needed"
    written = script(document, Path("/runs/1"))
    assert "2 cases left to run." in written
    assert "--nodes=2\n" in written
    document.study.workloads[0].until = StopRule(share=0.05, at_least=3, at_most=10)
    assert "at most 2 cases left to run." in script(document, Path("/runs/1"))

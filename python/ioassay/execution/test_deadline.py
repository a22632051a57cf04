"""Repetitions that would end too late are spared, whole ones."""

import time

from ioassay.execution.deadline import Deadline
from ioassay.store.document import CaseEntry


def case(workload: str, repetition: int) -> CaseEntry:
    return CaseEntry(
        id=f"{workload}.r{repetition}",
        workload=workload,
        point={"clients": 1, "ranks_per_client": 1},
        repetition=repetition,
        file_set_bytes=0,
        written_bytes=0,
        phases=[],
    )


def test_the_first_repetition_runs_however_late_it_is() -> None:
    deadline = Deadline(time.monotonic() - 1, "Too late.")
    assert not deadline.spares(case("a", 1))
    assert not deadline.spares(case("b", 1))


def test_a_repetition_that_does_not_fit_as_a_whole_is_spared_with_the_reason() -> None:
    deadline = Deadline(time.monotonic() + 100, "Too late.")
    deadline.note(case("a", 1), 60)
    deadline.note(case("b", 1), 60)
    second = case("a", 2)
    assert deadline.spares(second)
    assert (second.state, second.skipped) == ("not needed", "Too late.")


def test_a_repetition_that_has_begun_is_finished() -> None:
    deadline = Deadline(time.monotonic() + 100, "Too late.")
    deadline.note(case("a", 1), 10)
    assert not deadline.spares(case("a", 2))
    deadline.note(case("a", 2), 1000)
    assert not deadline.spares(case("b", 2))
    assert deadline.spares(case("a", 3))

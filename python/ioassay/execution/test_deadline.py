"""Repetitions that would end too late are skipped as a whole."""

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


def test_the_first_repetition_always_runs() -> None:
    deadline = Deadline(time.monotonic() - 1, "Too late.")
    assert not deadline.skips(case("a", 1))
    assert not deadline.skips(case("b", 1))


def test_a_repetition_that_does_not_fit_is_skipped_with_the_reason() -> None:
    deadline = Deadline(time.monotonic() + 100, "Too late.")
    deadline.note(case("a", 1), 60)
    deadline.note(case("b", 1), 60)
    second = case("a", 2)
    assert deadline.skips(second)
    assert (second.state, second.skipped) == ("not needed", "Too late.")


def test_a_repetition_that_has_begun_is_finished() -> None:
    deadline = Deadline(time.monotonic() + 100, "Too late.")
    deadline.note(case("a", 1), 10)
    assert not deadline.skips(case("a", 2))
    deadline.note(case("a", 2), 1000)
    assert not deadline.skips(case("b", 2))
    assert deadline.skips(case("a", 3))

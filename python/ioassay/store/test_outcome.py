from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ioassay.protocol.event import EventError
from ioassay.store.outcome import outcome

FAILURE: EventError = {
    "event": "error",
    "operation": "write",
    "message": "rank 1, write: disk full",
    "remedy": "free space",
    "errno_name": "ENOSPC",
}


def test_a_case_without_a_finished_event_has_no_state_and_keeps_its_workspace(events: Callable[..., list[Any]]) -> None:
    end = outcome(events("c", None))
    assert end.state is None
    assert end.leftovers == ["/target/ioassay-r"]


def test_a_case_that_never_started_left_nothing() -> None:
    assert outcome([FAILURE]).leftovers == []


def test_the_first_failure_is_the_reason_and_reads_as_a_sentence(events: Callable[..., list[Any]]) -> None:
    case_events = [events("c")[0], FAILURE, FAILURE | {"message": "a consequence"}, *events("c", "failed")[-2:]]
    end = outcome(case_events)
    assert (end.state, end.leftovers) == ("failed", [])
    assert end.error == "rank 1, write: disk full; free space."


def test_leftovers_of_the_engine_are_named(events: Callable[..., list[Any]]) -> None:
    case_events = events("c", "interrupted")
    case_events[-2]["left"] = [{"path": "/target/ioassay-r/f", "because": "is busy"}]
    assert outcome(case_events).leftovers == ["/target/ioassay-r/f"]

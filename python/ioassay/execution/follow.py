"""Follows an engine process to its end: hands on what it reports, passes signals on to it."""

from __future__ import annotations

from collections.abc import Callable

from ioassay.execution.interruption import Interruption
from ioassay.execution.process import EngineProcess
from ioassay.results.events import Event, EventTail

# Often enough for a live display, seldom enough to leave the processors to the ranks.
_LOOK_EVERY_S = 0.2


def follow(
    process: EngineProcess,
    interruption: Interruption,
    events: EventTail,
    on_event: Callable[[Event], None] = lambda event: None,
    on_look: Callable[[], None] = lambda: None,
) -> list[Event]:
    """Returns all events once nothing more is to be expected of `process`.

    `on_event` gets each event as it appears, `on_look` is called several times a second.
    """
    seen: list[Event] = []
    passed_on = 0
    ended = False
    while not ended:
        ended = process.wait(_LOOK_EVERY_S)
        for event in events.new():
            seen.append(event)
            on_event(event)
        on_look()
        while interruption.first is not None and passed_on < min(interruption.count, 2) and not ended:
            process.stop(interruption.first)
            passed_on += 1
    return seen

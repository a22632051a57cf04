"""Follows an engine process to its end: hands on what it reports, passes signals on to it.

A launcher between says nothing that is believed: neither that it has ended nor with which exit code. The engine's last
word counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from ioassay.execution.interruption import Interruption
from ioassay.execution.process import EngineProcess
from ioassay.launchers.printed import is_lost, losses
from ioassay.results.events import EventTail

if TYPE_CHECKING:
    from ioassay.protocol.event import Event

# Often enough for a live display, seldom enough to leave the processors to the ranks.
_LOOK_EVERY_S = 0.2

LINGER_S = 3.0
"""How long an engine, or its launcher, may go on after the engine's last word."""

LINGER_LOST_S = 0.5
"""The same where a node is lost: many launchers wait for it for minutes."""

LAST_WORD_S = 5.0
"""How long engines may take to say it when their launcher has gone: they notice, and remove their files."""

LOST_S = 4.0
"""How long engines and launcher may take to end by themselves once they have printed that a node is lost: the engines
that are left remove their files meanwhile."""

_KILLED_S = 1.0
"""As `LAST_WORD_S`, where the launcher has ended the engines itself, or has had `LOST_S`."""

LAUNCH_S = 150.0
"""How long a launcher may take until its engine says something. One that waits for a lost node waits for ever; where
MPI does not begin, the engine says so itself before this."""


def follow(
    process: EngineProcess,
    interruption: Interruption,
    events: EventTail,
    on_event: Callable[[Event], None] = lambda event: None,
    on_look: Callable[[], None] = lambda: None,
    *,
    last_words: Collection[str] = ("finished",),
) -> list[Event]:
    """Returns all events once nothing more is to be expected of `process`, whose last one is one of `last_words`.

    `on_event` gets each event as it appears, `on_look` is called several times a second.
    """
    seen: list[Event] = []
    passed_on = 0
    ended = False
    finished_at: float | None = None
    lost_at: float | None = None
    begun = time.monotonic()

    def look() -> None:
        nonlocal finished_at
        for event in events.new():
            seen.append(event)
            on_event(event)
            if event["event"] in last_words:
                finished_at = time.monotonic()
        on_look()

    while not ended:
        ended = process.wait(_LOOK_EVERY_S)
        look()
        while interruption.first is not None and passed_on < min(interruption.count, 2) and not ended:
            process.stop(interruption.first)
            passed_on += 1
        linger_s = LINGER_LOST_S if lost_at is not None else LINGER_S
        if finished_at is not None and time.monotonic() > finished_at + linger_s:
            process.kill()
        if process.through and not seen and time.monotonic() > begun + LAUNCH_S:
            process.kill()
        if process.through and lost_at is None and is_lost(process.printed, begun=bool(seen)):
            lost_at = time.monotonic()
        if lost_at is not None and time.monotonic() > lost_at + LOST_S:
            process.kill()
    last_word_s = _KILLED_S if process.through and losses(process.printed) else LAST_WORD_S
    gone = time.monotonic()
    while process.through and seen and finished_at is None and time.monotonic() < gone + last_word_s:
        time.sleep(_LOOK_EVERY_S)
        look()
    process.sweep()
    return seen

"""How a case ended, from its events alone.

Exit codes are not asked: a launcher's tells nothing of the engine, and the engine's is lost when the control
plane dies before it. What both a living and a recovered run conclude from the same events is therefore the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ioassay.protocol.event import Event, Failure
    from ioassay.protocol.event import Outcome as End


@dataclass(frozen=True)
class Outcome:
    """The end of a case, as far as the engine could tell."""

    state: End | None
    """`None` where the engine's last word is missing: it was killed, or is still at work."""
    failure: Failure | None
    """The first failure."""
    leftovers: list[str]
    """Paths that are still on the target."""

    @property
    def error(self) -> str | None:
        """The failure as a sentence with its remedy."""
        return sentence(self.failure) if self.failure else None


def outcome(events: Sequence[Event], workspace: str | None = None) -> Outcome:
    """Reads the end of a case off its events. An engine that has begun and ended without its last word may have created
    `workspace`, or its call to do so may still hang.
    """
    finished = next((event for event in events if event["event"] == "finished"), None)
    removed = next((event for event in events if event["event"] == "removed"), None)
    started = next((event for event in events if event["event"] == "started"), None)
    if removed is not None:
        leftovers = [left["path"] for left in removed["left"]]
    elif started is not None:
        leftovers = [started["workspace"]]
    else:
        leftovers = [workspace] if workspace is not None and finished is None else []
    return Outcome(
        state=finished["outcome"] if finished is not None else None,
        failure=next((event for event in events if event["event"] == "error"), None),
        leftovers=leftovers,
    )


def sentence(failure: Failure) -> str:
    """A failure and its remedy in one; the engine writes both without a full stop."""
    return "; ".join(part for part in (failure["message"], failure["remedy"]) if part) + "."

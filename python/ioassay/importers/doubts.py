"""The doubts that an importer can raise: what a tool does not check, and its output gives away.

The kinds that the engine raises too are called as there.
"""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.importers.model import Doubt
from ioassay.protocol.facts import SHORTEST_PHASE_NS
from ioassay.text.units import format_duration


def unsynced_write(option: str) -> Doubt:
    """A write phase that ended without forcing its data to stable storage. `option` is the tool's that does."""
    return Doubt(
        kind="unsynced-write",
        message="the data was written without fsync and may still have been in the clients' page cache at the end",
        remedy=f"measure again with {option}, which includes fsync in the measured time",
    )


def may_be_cached(why: str, option: str) -> Doubt:
    """A read of what the same node has written before. `option` is the tool's that avoids it."""
    return Doubt(
        kind="may-be-cached",
        message=f"{why}: it may have come from the clients' page cache, which the tool does not check",
        remedy=f"measure again with {option}, with caches dropped before the read, or with a file set twice the size "
        "of memory",
    )


def short_phase(seconds: float, remedy: str = "move more data: a larger total or larger files") -> Iterator[Doubt]:
    """A phase that took too little time to say anything."""
    if seconds * 1e9 < SHORTEST_PHASE_NS:
        yield Doubt(
            kind="short-phase",
            message=f"the phase took only {format_duration(round(seconds * 1e9))}",
            remedy=remedy,
            evidence={"duration_ns": round(seconds * 1e9), "wanted_ns": SHORTEST_PHASE_NS},
        )


def mean_only(repetitions: int) -> Doubt:
    """A row that stands for several repetitions."""
    return Doubt(
        kind="mean-only",
        message=f"the tool printed only the mean, minimum and maximum of {repetitions} repetitions",
        remedy="keep the tool's verbose output, which has a line for each",
        evidence={"repetitions": repetitions},
    )


def ranks_missing(there: int, ranks: int) -> Doubt:
    """A table by rank that lacks some: it is not taken."""
    return Doubt(
        kind="ranks-missing",
        message=f"the table of ranks beside the output has only {there} of {ranks} ranks: it is ignored",
        remedy="import the whole table",
    )


def does_not_add_up(message: str) -> Doubt:
    """Numbers that contradict each other, as `message` says."""
    return Doubt(
        kind="does-not-add-up",
        message=message,
        remedy="check the tool's own output; measure again",
    )

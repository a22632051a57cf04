"""The doubts that several importers raise: what a tool does not check, but its output shows.

Kinds that the engine raises too have the engine's names.
"""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.importers.model import Doubt
from ioassay.protocol.facts import SHORTEST_PHASE_NS
from ioassay.text.units import format_duration


def unsynced_write(option: str) -> Doubt:
    """A write phase that did not force its data to stable storage. `option` is the tool's option that does."""
    return Doubt(
        kind="unsynced-write",
        message="the data was written without fsync and may still have been in the clients' page cache at the end",
        remedy=f"measure again with {option}, which includes fsync in the measured time",
    )


def may_be_cached(reason: str, option: str) -> Doubt:
    """A read of data that the same node wrote before. `option` is the tool's option that avoids it."""
    return Doubt(
        kind="may-be-cached",
        message=f"{reason}: it may have come from the clients' page cache, which the tool does not check",
        remedy=f"measure again with {option}, with caches dropped before the read, or with a file set twice the size "
        "of memory",
    )


def short_phase(seconds: float, remedy: str = "move more data: a larger total or larger files") -> Iterator[Doubt]:
    """A phase too short to be measured well."""
    if seconds * 1e9 < SHORTEST_PHASE_NS:
        yield Doubt(
            kind="short-phase",
            message=f"the phase took only {format_duration(round(seconds * 1e9))}",
            remedy=remedy,
            evidence={"duration_ns": round(seconds * 1e9), "wanted_ns": SHORTEST_PHASE_NS},
        )


def mean_only(repetitions: int) -> Doubt:
    """A row that is the mean of several repetitions."""
    return Doubt(
        kind="mean-only",
        message=f"the tool printed only the mean, minimum and maximum of {repetitions} repetitions",
        remedy="keep the tool's verbose output, which has a line for each",
        evidence={"repetitions": repetitions},
    )


def ranks_missing(present: int, ranks: int) -> Doubt:
    """A table by rank that lacks ranks, and is therefore ignored."""
    return Doubt(
        kind="ranks-missing",
        message=f"the table of ranks beside the output has only {present} of {ranks} ranks: it is ignored",
        remedy="import the whole table",
    )


def does_not_add_up(message: str) -> Doubt:
    """Numbers that contradict each other, as `message` says."""
    return Doubt(
        kind="does-not-add-up",
        message=message,
        remedy="check the tool's own output; measure again",
    )

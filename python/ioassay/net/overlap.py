"""Flows that run side by side: what they carried while all of them were at work.

Clients that are started together begin some moments apart, and what the first one carries while it is alone is no share
of what all carry together. iperf3 tells the time of a test in whole seconds, and the clocks of hosts differ anyway, so
when a flow began is known from here, as a moment not before which and one not after which. Of each flow those
intervals count that lie, whenever in between it began, in the time in which every other flow was at work. The sum over
the flows of their rates in these intervals is the rate of all.

What counts is what arrived, as the receiving end counted it: a sender also counts what still fills its buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ioassay.net.iperf3 import Interval


@dataclass(frozen=True)
class Timed:
    """The intervals of a flow, and when their time 0 was, in seconds on one clock for all flows."""

    intervals: tuple[Interval, ...]
    earliest_s: float
    """It did not begin before."""
    latest_s: float
    """It did not begin after."""

    @property
    def length_s(self) -> float:
        """How long it was at work."""
        return self.intervals[-1].end_s if self.intervals else 0.0


@dataclass(frozen=True)
class Carried:
    """What a flow carried while all were at work."""

    received_bytes: int
    duration_s: float

    @property
    def bits_per_s(self) -> float:
        """Its rate then."""
        return self.received_bytes * 8 / self.duration_s


def carried(flows: Sequence[Timed]) -> list[Carried] | None:
    """What each flow carried while all of them were at work. `None` if one of them has no interval in that time."""
    found = []
    for at, flow in enumerate(flows):
        others = [*flows[:at], *flows[at + 1 :]]
        begun_s = max((other.latest_s for other in others), default=float("-inf"))
        over_s = min((other.earliest_s + other.length_s for other in others), default=float("inf"))
        inside = [
            interval
            for interval in flow.intervals
            if flow.earliest_s + interval.start_s >= begun_s and flow.latest_s + interval.end_s <= over_s
        ]
        duration_s = sum(interval.end_s - interval.start_s for interval in inside)
        if duration_s <= 0:
            return None
        found.append(Carried(sum(interval.received_bytes for interval in inside), duration_s))
    return found

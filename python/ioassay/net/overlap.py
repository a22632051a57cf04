"""The traffic of concurrent flows while all of them were active.

Clients that are started together begin at slightly different times, and the traffic of the first one while it is alone
is not part of the joint traffic. iperf3 prints the time of a test in whole seconds, and the clocks of hosts differ, so
the start of a flow is bounded from here, by an earliest and a latest time. Those intervals of each flow count that lie,
for any start between these bounds, within the time in which every other flow was active. The sum over
the flows of their rates in these intervals is the joint rate.

Received bytes count: a sender also counts what is still in its buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ioassay.net.iperf3 import Interval


@dataclass(frozen=True)
class Timed:
    """The intervals of a flow, and bounds of their time 0, in seconds on one clock for all flows."""

    intervals: tuple[Interval, ...]
    earliest_s: float
    """Lower bound of the start."""
    latest_s: float
    """Upper bound of the start."""

    @property
    def length_s(self) -> float:
        """How long it was active."""
        return self.intervals[-1].end_s if self.intervals else 0.0


@dataclass(frozen=True)
class Carried:
    """The traffic of a flow while all were active."""

    received_bytes: int
    duration_s: float

    @property
    def bits_per_s(self) -> float:
        return self.received_bytes * 8 / self.duration_s


def carried(flows: Sequence[Timed]) -> list[Carried] | None:
    """The traffic of each flow while all of them were active. `None` if a flow has no interval in that time."""
    traffic = []
    for number, flow in enumerate(flows):
        other_flows = [*flows[:number], *flows[number + 1 :]]
        all_started_s = max((other.latest_s for other in other_flows), default=float("-inf"))
        first_ended_s = min((other.earliest_s + other.length_s for other in other_flows), default=float("inf"))
        inside = [
            interval
            for interval in flow.intervals
            if flow.earliest_s + interval.start_s >= all_started_s and flow.latest_s + interval.end_s <= first_ended_s
        ]
        duration_s = sum(interval.end_s - interval.start_s for interval in inside)
        if duration_s <= 0:
            return None
        traffic.append(Carried(sum(interval.received_bytes for interval in inside), duration_s))
    return traffic

"""Pairs of measurements, one of ioassay and one of a peer, and what they say.

The machine may drift and may be shared; both sides of a pair meet about the same machine. So ratios within pairs
are compared, never rates of different pairs, and who comes first changes from pair to pair.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Measurement:
    """One rate that one tool reached once."""

    work: str
    peer: str
    """The tool that ioassay is compared with here, whichever of the two this is."""
    pair: int
    position: int
    """1 for the tool that came first in the pair, 2 for the other."""
    tool: str
    rate: str
    operations_per_s: float
    load_average: float
    """Of one minute, before the tool was started: high where others used the machine."""


@dataclass
class Comparison:
    """One rate of one piece of work, of ioassay and of a peer, pair by pair."""

    work: str
    rate: str
    peer: str
    ours: list[float] = field(default_factory=list)
    """Operations per second."""
    theirs: list[float] = field(default_factory=list)
    """Operations per second."""

    @property
    def ratios(self) -> list[float]:
        """Ours over theirs in each pair."""
        return [ours / theirs for ours, theirs in zip(self.ours, self.theirs, strict=True)]

    @property
    def ratio(self) -> float:
        """The median of the ratios."""
        return statistics.median(self.ratios)


Measure = Callable[[], dict[str, float]]


def alternate(work: str, peer: str, ours: Measure, theirs: Measure, pairs: int) -> Iterator[Measurement]:
    """Measures both in turn, so many times each."""
    sides = [("ioassay", ours), (peer, theirs)]
    for pair in range(pairs):
        for position, (tool, measure) in enumerate(sides if pair % 2 == 0 else sides[::-1], start=1):
            load = os.getloadavg()[0]
            for rate, value in measure().items():
                yield Measurement(work, peer, pair, position, tool, rate, value, load)


def compare(measurements: list[Measurement]) -> list[Comparison]:
    """The comparisons in complete pairs of `measurements`, in the order in which they came."""
    by_pair: dict[tuple[str, str, str], dict[int, dict[bool, float]]] = {}
    for each in measurements:
        pairs = by_pair.setdefault((each.work, each.rate, each.peer), {})
        pairs.setdefault(each.pair, {})[each.tool == each.peer] = each.operations_per_s
    comparisons = []
    for key, pairs in by_pair.items():
        complete = [pair for pair in pairs.values() if len(pair) == 2]
        if complete:
            sides = [[pair[side] for pair in complete] for side in (False, True)]
            comparisons.append(Comparison(*key, *sides))
    return comparisons

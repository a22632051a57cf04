"""When a point has been measured often enough: pairs of today's settings and the point's, one right after the other.

A storage system drifts: other jobs come and go, caches age, disks fill. Alternating measurements drift alike, so each
measurement of a point has one of today's settings beside it, and which of the two comes first changes from pair to pair
(the counterbalanced design of Box, Hunter and Hunter, *Statistics for Experimenters*, 2005, chapter 4).

The interval of the gain is that of the ratio of two medians (`analysis.intervals.of_ratio`); whether it has settled is
judged as repetitions of a study are (`analysis.stop_rule`), which allows for looking after each pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from ioassay.analysis import intervals, stop_rule
from ioassay.analysis.intervals import Interval

FEWEST = 3
"""Pairs before a point may be given up; fewer have no interval."""

Step = Literal["pair", "settled", "given up", "enough"]
"""`enough`: it has not settled, and has as many pairs as it may have."""


@dataclass(frozen=True)
class Pair:
    """The objective under today's settings and under the point's, in the same unit; both above 0."""

    today: float
    point: float


@dataclass(frozen=True)
class Precision:
    """How well a gain is to be known."""

    share: float = 0.05
    """The half-width of the gain's interval, as a share of the gain."""
    fewest: int = FEWEST
    most: int = 10


def gain(pairs: Sequence[Pair]) -> Interval | None:
    """By what factor the point beats today's settings; `None` for fewer than `FEWEST` pairs."""
    return intervals.of_ratio([pair.point for pair in pairs], [pair.today for pair in pairs])


def next_step(pairs: Sequence[Pair], precision: Precision, least: float = 0.0) -> Step:
    """The next step at a point. It is given up where its gain, as far as it can be known, stays below `least`."""
    if len(pairs) < precision.fewest:
        return "pair"
    known = gain(pairs)
    if known is not None and known.high < least:
        return "given up"
    ratios = [pair.point / pair.today for pair in pairs]
    if stop_rule.half_width(ratios) <= precision.share * fmean(ratios):
        return "settled"
    return "pair" if len(pairs) < precision.most else "enough"


def today_first(number: int) -> bool:
    """Whether today's settings come first in this pair, counted from 0: turns that a steady drift cancels out in."""
    return number % 2 == 0

"""The smallest detectable drop: how surely it is detected, and how large it may be for a verdict.

Not: how large it is (`regression` of a run against a baseline, `trend.change_detection` of stored runs).
"""

from __future__ import annotations

POWER = 0.8
"""How often a drop of the smallest detectable size is detected."""

LARGEST_UNDETECTABLE_DROP = 0.5
"""A point is judged only if a loss of more than this share of its rate would be detected. At half of the rate a job
takes twice its time, which its users notice by themselves: a check that may miss that has nothing to say.
"""


def is_insensitive(smallest: float, tolerance: float) -> bool:
    """True if a loss of half could be missed, where that is not tolerated. Both are shares of the rate, 0 to 1."""
    return tolerance < LARGEST_UNDETECTABLE_DROP < smallest

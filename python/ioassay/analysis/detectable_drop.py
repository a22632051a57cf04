"""The smallest detectable drop: the power of its detection, and its limit for a verdict.

Not: its size (`regression` of a run against a baseline, `trend.change_detection` of stored runs).
"""

from __future__ import annotations

POWER = 0.8
"""The probability that a drop of the smallest detectable size is detected."""

LARGEST_UNDETECTABLE_DROP = 0.5
"""A point is judged only if a loss of more than this share of its rate would be detected. At half the rate, a job
takes twice the time, which users notice by themselves: a check that may miss that is useless.
"""


def is_insensitive(smallest: float, tolerance: float) -> bool:
    """True if a loss of half could be missed although it is not tolerated. Both are shares of the rate, 0 to 1."""
    return tolerance < LARGEST_UNDETECTABLE_DROP < smallest

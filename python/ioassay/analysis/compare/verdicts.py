"""What can be told from the ratios of a series: that one side is faster, up to how much and where, or that none is.

Only an interval that excludes 1 tells a difference. With several points one of them may do so by chance: of 20 points
without a difference one, at 95 %. Not: how many are no chance (`chance`), words (`ioassay.reports.compare`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ioassay.analysis.compare.ratios import Compared, Ratio

Outcome = Literal["differs", "no difference", "too few repetitions"]


@dataclass(frozen=True)
class Verdict:
    """What the points of a series tell. The ratios are `None` where nothing differs in that direction."""

    outcome: Outcome
    fastest: Ratio | None = None
    """Where the other is ahead of the reference most."""
    slowest: Ratio | None = None
    """Where it is behind most."""
    last: Ratio | None = None
    """That of most clients, where it differs and is neither of the two."""


def verdict(compared: Compared) -> Verdict:
    """The verdict on the points of a series."""
    judged = [ratio for ratio in compared.points if ratio.interval]
    if not judged:
        return Verdict("too few repetitions")
    differing = [ratio for ratio in judged if ratio.differs]
    if not differing:
        return Verdict("no difference")
    fastest = max((ratio for ratio in differing if ratio.value > 1), key=_value, default=None)
    slowest = min((ratio for ratio in differing if ratio.value < 1), key=_value, default=None)
    last = judged[-1]
    return Verdict("differs", fastest, slowest, last if last.differs and last not in (fastest, slowest) else None)


def _value(ratio: Ratio) -> float:
    return ratio.value

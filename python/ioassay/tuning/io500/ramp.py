"""Step 4: whether ior-easy gains from the next larger number of ranks per node.

Two rank counts are measured in pairs, one right after the other (`tuning.sweep.pairs`), and after each pair from the
fourth on the interval of their ratio is examined. The larger count gains where the whole interval lies above 1 and the
estimate is a gain of at least `LEAST_GAIN`: twice the ranks for less are not worth it. It gains nothing where the
interval ends below that, and where it is still open after the most pairs.

Looking several times lets chance win more often than looking once. Four pairs before the first look keep it within
bounds: with rates that scatter by 2 to 20 % and no true gain, 5 % of all steps go on at most, of a true gain of 10 %
with 5 % of scatter 93 % are found (`test_ramp.py` measures both).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

from ioassay.store.tune_io500_document import CeilingEntry
from ioassay.tuning.sweep import pairs
from ioassay.tuning.sweep.pairs import Pair

FEWEST_PAIRS = 4
"""Before the first look: 4 against 4 have an interval of 97 %, 3 against 3 one of 90 %."""

LEAST_GAIN = 1.05

NEAR = 0.9
"""The share of the ceiling from which on ior-easy is near it."""

ABOVE = 1.1
"""The share of the ceiling above which a rate contradicts it."""

Verdict = Literal["pair", "gain", "no gain", "loss"]
"""`pair`: not known yet, so another pair is measured."""


@dataclass(frozen=True)
class Rates:
    """The rates of ior-easy in one run, of all nodes, in bytes per second."""

    write: float
    read: float


def rungs(most: int) -> list[int]:
    """The ranks per node to try: 1, 2, 4, … and `most`, which is at least 1."""
    reasons = []
    ranks = 1
    while ranks < most:
        reasons.append(ranks)
        ranks *= 2
    return [*reasons, most]


def verdict(known: Sequence[Pair], most_pairs: int) -> Verdict:
    """The verdict of the pairs of a step; `today` of a pair is the smaller rank count."""
    if len(known) < min(FEWEST_PAIRS, most_pairs):
        return "pair"
    gain = pairs.gain(known)
    if gain is not None:
        if gain.low > 1 and gain.estimate >= LEAST_GAIN:
            return "gain"
        if gain.high < 1:
            return "loss"
        if gain.high < LEAST_GAIN:
            return "no gain"
    return "pair" if len(known) < most_pairs else "no gain"


def share(measured: Sequence[Rates], ceiling: CeilingEntry | None) -> float | None:
    """The smaller of what write and read have of their ceilings, by medians; `None` where that cannot be said."""
    if ceiling is None or not measured or not min(ceiling.write_bytes_per_s, ceiling.read_bytes_per_s):
        return None
    return min(_shares(measured, ceiling))


def contradicts(measured: Sequence[Rates], ceiling: CeilingEntry | None) -> bool:
    """Whether write or read is above its ceiling, so that the ceiling is too low or a cache was measured."""
    return share(measured, ceiling) is not None and ceiling is not None and max(_shares(measured, ceiling)) > ABOVE


def _shares(measured: Sequence[Rates], ceiling: CeilingEntry) -> tuple[float, float]:
    return (
        median(rates.write for rates in measured) / ceiling.write_bytes_per_s,
        median(rates.read for rates in measured) / ceiling.read_bytes_per_s,
    )


def is_near(measured: Sequence[Rates], ceiling: CeilingEntry | None) -> bool:
    """Whether write and read are both near the ceiling, which neither contradicts."""
    known = share(measured, ceiling)
    return known is not None and known >= NEAR and not contradicts(measured, ceiling)


@dataclass(frozen=True)
class RampStep:
    """One rank count beside the next larger one."""

    lower: int
    higher: int
    pairs: Sequence[Pair]
    lower_rates: Sequence[Rates]
    """The rates of every valid run with so many ranks, also in the step before."""
    higher_rates: Sequence[Rates]
    verdict: Verdict
    failed: str = ""
    """Why the larger count cannot be measured, where it cannot."""


End = Literal["ceiling", "no gain", "loss", "failed", "most ranks", "open"]
"""`most ranks`: there are no more to try."""


@dataclass(frozen=True)
class Ramp:
    """The state of step 4."""

    steps: Sequence[RampStep]
    ranks: int
    """The largest rank count that gained."""
    end: End

    @property
    def next_step(self) -> RampStep | None:
        """The step that needs another pair."""
        return self.steps[-1] if self.end == "open" else None


def ramp(step: Callable[[int, int], RampStep], counts: Sequence[int], ceiling: CeilingEntry | None) -> Ramp:
    """Where the ramp over these rank counts is. `step` gives what is known of a step."""
    done: list[RampStep] = []
    for lower, higher in pairwise(counts):
        known = step(lower, higher)
        if len(known.lower_rates) >= FEWEST_PAIRS and is_near(known.lower_rates, ceiling):
            return Ramp([*done, known] if known.pairs else done, lower, "ceiling")
        done.append(known)
        if known.failed:
            return Ramp(done, lower, "failed")
        match known.verdict:
            case "pair":
                return Ramp(done, lower, "open")
            case "no gain" | "loss":
                return Ramp(done, lower, known.verdict)
            case "gain" if is_near(known.higher_rates, ceiling):
                return Ramp(done, higher, "ceiling")
    return Ramp(done, counts[-1], "most ranks")

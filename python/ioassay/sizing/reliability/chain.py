"""The chance that a group of drives is lost: a Markov chain over how many of its drives are down.

Drives fail independently and at a constant rate λ, and each failed one is rebuilt by itself at the rate μ, one over the
time that takes. With i of n drives down the next failure comes at (n - i)λ and the next rebuild ends at iμ; beyond p
drives the group is lost. A rebuild that ends with p drives down has read without any redundancy, and with the
probability q it met an unreadable sector.

The chain of RAID is that of Patterson, Gibson and Katz (A Case for Redundant Arrays of Inexpensive Disks, SIGMOD 1988)
and of Chen, Lee, Gibson, Katz and Patterson (RAID: High-Performance, Reliable Secondary Storage, ACM Computing Surveys,
1994), with rebuilds side by side as of Angus (On computing MTBF for a k-out-of-n:G repairable system, IEEE Transactions
on Reliability, 1988). Unlike them it gives the chance within a time, and not the mean time to data loss, which says
little about the years in which a system is used (Greenan, Plank, Wylie: Mean time to meaningless, HotStorage 2010).

Not: where the rates come from (`rebuild`, `failures`). Nor what makes it worse than this: drives of one batch, failing
enclosures, wear (Elerath, Schindler: Beyond MTTDL, ACM Transactions on Storage, 2014).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Drives that protect each other, and how often they fail."""

    drives: int
    parity: int
    """How many may be down at a time; less than `drives`."""
    failures_per_s: float
    """λ, of one drive; above 0."""
    rebuilds_per_s: float
    """μ, of one drive; above 0."""
    unreadable: float = 0.0
    """q: the probability that a rebuild without redundancy meets an unreadable sector. Without parity it is unused."""

    @property
    def next_failure_per_s(self) -> list[float]:
        """The rates at which one more drive is down, with 0 to `parity` down, in 1/s; the last is a loss."""
        rates = [(self.drives - down) * self.failures_per_s for down in range(self.parity + 1)]
        rates[-1] += self.unreadable * self.parity * self.rebuilds_per_s
        return rates

    @property
    def next_rebuild_per_s(self) -> list[float]:
        """The rates at which one drive less is down, with 0 to `parity` down, in 1/s."""
        rates = [down * self.rebuilds_per_s for down in range(self.parity + 1)]
        rates[-1] *= 1 - self.unreadable
        return rates


def loss_within(group: Group, time_s: float) -> float:
    """The probability that a group of which no drive is down is lost within `time_s`.

    `scipy.linalg.expm` gives it with 6 digits or more even where it is 1e-30 (compared with a series without any
    subtraction: Xue, Ye, Computing exponentials of essentially non-negative matrices entrywise to high accuracy,
    Mathematics of Computation, 2013).
    """
    import numpy as np  # noqa: PLC0415
    from scipy.linalg import expm  # noqa: PLC0415  (0.2 s, which few commands need)

    lost = group.parity + 1
    rates = np.diag(group.next_failure_per_s, 1) + np.diag([*group.next_rebuild_per_s[1:], 0.0], -1)
    generator = rates - np.diag(rates.sum(axis=1))
    return float(np.clip(expm(generator * time_s)[0, lost], 0, 1))


def loss_during_rebuild(group: Group) -> float:
    """The probability that a group of which one drive is down is lost before all drives are up again.

    That of a birth-death chain to reach one end before the other (Karlin, Taylor: A First Course in Stochastic
    Processes, 1975, chapter 4).
    """
    term = total = 1.0
    for failure, rebuild in zip(group.next_failure_per_s[1:], group.next_rebuild_per_s[1:], strict=True):
        term *= rebuild / failure
        total += term
    return 1 / total

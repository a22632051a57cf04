"""Processes that do the same work and do not share it equally: all wait for the one with most.

Drishti's rules P21 and P22 for bytes and, for time, its limit for stragglers (P19), here of the time in I/O of whole
processes and not of a shared file alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.finding import Finding, ProcessRow
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts
from ioassay.analysis.profile.peers import Imbalance


@dataclass(frozen=True)
class SizeImbalanceEvidence(ProfileEvidence):
    """Bytes of processes that do the same work."""

    kind: ClassVar[str] = "size-imbalance"
    imbalance: Imbalance


@dataclass(frozen=True)
class TimeImbalanceEvidence(ProfileEvidence):
    """Time in I/O of processes that do the same work."""

    kind: ClassVar[str] = "time-imbalance"
    imbalance: Imbalance
    most_share: float
    """Of the run time of the process or rank with most. Several threads, or processes of a rank, can spend more."""


def size_imbalance(facts: ProfileFacts) -> Iterator[Finding]:
    """One for each direction and group of processes."""
    share, least = facts.thresholds.size_imbalance_share, facts.thresholds.moved_bytes
    for one in facts.imbalances:
        if one.measure != "io_ns" and one.share > share.value and one.most > least.value:
            evidence = SizeImbalanceEvidence(thresholds=(share, least), spent_ns=None, imbalance=one)
            yield Finding("notice", evidence, (ProcessRow(one.most_process),))


def time_imbalance(facts: ProfileFacts) -> Iterator[Finding]:
    """One for each group of processes whose I/O takes a part of their time."""
    share, least = facts.thresholds.time_imbalance_share, facts.thresholds.io_share
    for one in facts.imbalances:
        part = one.most / max(1, one.most_run_ns)
        if one.measure == "io_ns" and 1 - one.median / one.most > share.value and part > least.value:
            waiting = round(one.most - one.median)
            evidence = TimeImbalanceEvidence((share, least), waiting, imbalance=one, most_share=part)
            yield Finding("warning", evidence, (ProcessRow(one.most_process),))

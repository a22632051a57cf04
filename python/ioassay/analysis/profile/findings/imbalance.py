"""Processes that do the same work but share it unequally: all wait for the process with the most.

Drishti's rules P21 and P22 for bytes and, for time, its limit for stragglers (P19), applied to the time in I/O of
whole processes and not only of a shared file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.finding import Finding, Message, ProcessRow
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, profile_finding
from ioassay.analysis.profile.peers import Imbalance
from ioassay.text import format


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
    """Share of the run time of the process or rank with the most; above 1 with several threads, or processes of a rank.
    """
    uneven: tuple[Imbalance, ...]
    """Imbalances of bytes of the same processes, if the process with the most time also moves the most."""


def size_imbalance(facts: ProfileFacts) -> Iterator[Finding]:
    """A notice for each direction and group of processes, unless it explains an imbalance of time."""
    limits = (facts.thresholds.size_imbalance_share, facts.thresholds.moved_bytes)
    explained = {
        (imbalance.peers, imbalance.measure) for evidence in _uneven_times(facts) for imbalance in evidence.uneven
    }
    for uneven_size in _uneven_sizes(facts):
        if (uneven_size.peers, uneven_size.measure) not in explained:
            evidence = SizeImbalanceEvidence(limits, spent_ns=None, saves_ns=None, imbalance=uneven_size)
            yield profile_finding("notice", evidence, (ProcessRow(uneven_size.most_process),), _size_imbalance_message)


def time_imbalance(facts: ProfileFacts) -> Iterator[Finding]:
    """A warning for each group of processes whose I/O takes a considerable part of their time."""
    for evidence in _uneven_times(facts):
        yield profile_finding(
            "warning", evidence, (ProcessRow(evidence.imbalance.most_process),), _time_imbalance_message
        )


def _uneven_sizes(facts: ProfileFacts) -> Iterator[Imbalance]:
    share, least = facts.thresholds.size_imbalance_share, facts.thresholds.moved_bytes
    for imbalance in facts.imbalances:
        if imbalance.measure != "io_ns" and imbalance.share > share.value and imbalance.most > least.value:
            yield imbalance


def _uneven_times(facts: ProfileFacts) -> Iterator[TimeImbalanceEvidence]:
    limits = (facts.thresholds.time_imbalance_share, facts.thresholds.io_share)
    startup_ns = facts.startup_total.spent_ns or 0
    own_ns = None if facts.totals.io_ns is None else facts.totals.io_ns - startup_ns
    for imbalance in facts.imbalances:
        part, waiting = imbalance.most / max(1, imbalance.most_run_ns), round(imbalance.most - imbalance.median)
        if (
            imbalance.measure != "io_ns"
            or 1 - imbalance.median / imbalance.most <= limits[0].value
            or part <= limits[1].value
        ):
            continue
        if own_ns is not None and waiting > own_ns:  # the first process reads libraries into the others' caches
            continue
        yield TimeImbalanceEvidence(
            limits,
            waiting,
            saves_ns=waiting,
            imbalance=imbalance,
            most_share=part,
            uneven=tuple(
                size
                for size in _uneven_sizes(facts)
                if (size.peers, size.most_process) == (imbalance.peers, imbalance.most_process)
            ),
        )


def _size_imbalance_message(evidence: SizeImbalanceEvidence) -> Message:
    imbalance = evidence.imbalance
    verb, past = ("read", "read") if imbalance.measure == "read_bytes" else ("write", "wrote")
    doers = {"read": "readers", "write": "writers"}[verb]
    most = format.size(imbalance.most)
    return Message(
        f"{_peers(imbalance)} do not {verb} equally much: {imbalance.most_name} {past} {most}, the median is "
        f"{format.size(imbalance.median)}, the least {format.size(imbalance.least)}.",
        f"Distribute the data evenly, or use more {doers} (MPI-IO hint cb_nodes) if a few are meant to {verb} for all.",
    )


def _time_imbalance_message(evidence: TimeImbalanceEvidence) -> Message:
    imbalance = evidence.imbalance
    moved = [
        f"{'read' if size.measure == 'read_bytes' else 'wrote'} most: {format.size(size.most)}, the median is "
        f"{format.size(size.median)}"
        for size in evidence.uneven
    ]
    most = format.duration(imbalance.most)
    return Message(
        f"{_peers(imbalance)} do not spend equally long in I/O: {imbalance.most_name} spent {most}, "
        f"{format.share(evidence.most_share)} of its run time; the median is {format.duration(imbalance.median)}.",
        "Distribute the data evenly."
        if moved
        else f"Check what {imbalance.most_name} reads and writes alone, and its node.",
        f"It also {' and '.join(moved)}." if moved else "",
    )


def _peers(imbalance: Imbalance) -> str:
    if imbalance.peers == "rank":
        return format.count(imbalance.count, "rank")
    return format.count(imbalance.count, "worker of one command", "workers of one command")

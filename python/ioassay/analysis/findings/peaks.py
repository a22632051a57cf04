"""Whether a sweep reaches its peak: by the Universal Scalability Law if it fits, otherwise by its highest point."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis import intervals
from ioassay.analysis.finding import Evidence, Finding, Message, Severity, sentences
from ioassay.analysis.findings.run_facts import RunFacts
from ioassay.analysis.scalability import Fit, Reach, Sweep
from ioassay.analysis.series import PREPARATION
from ioassay.text import format
from ioassay.text.units import format_count

FEWEST_FOR_A_PEAK = 3
"""The fewest points of a sweep whose missing peak is reported: two are not expected to show one."""


@dataclass(frozen=True)
class PeakEvidence(Evidence):
    """A sweep and whether it reaches its peak."""

    kind: ClassVar[str] = "peak"
    sweep: Sweep
    reach: Reach


def peaks(facts: RunFacts) -> Iterator[Finding]:
    """A finding for each sweep that stops before its peak, or that has enough points to fit the law."""
    for sweep in facts.sweeps:
        stops_early = sweep.reach == "not reached" and len(sweep.medians) >= FEWEST_FOR_A_PEAK
        if sweep.series.operation not in PREPARATION and (sweep.fit is not None or stops_early):
            severity: Severity = "warning" if sweep.reach == "not reached" else "notice"
            evidence = PeakEvidence(sweep, sweep.reach)
            yield Finding(severity, evidence, sweep.rests_on, _message(facts, evidence))


def _message(facts: RunFacts, evidence: PeakEvidence) -> Message:
    sweep = evidence.sweep
    series = facts.series_name(sweep.rests_on[0])
    if sweep.others:
        series = f"{series}, {facts.names.values(sweep.others)}"
    if sweep.files is not None:
        series = f"{series}, {format_count(sweep.files, 'file')}"
    fit = sweep.law
    message = _without_law(facts, evidence) if fit is None else _by_law(facts, evidence, fit)
    return message._replace(headline=f"{series}: {message.headline}")


def _without_law(facts: RunFacts, evidence: PeakEvidence) -> Message:
    sweep, first = evidence.sweep, evidence.sweep.rests_on[0]
    best_count, best = sweep.best
    last_count, last = sweep.medians[-1]
    highest = f"{facts.rate(sweep.column, first, best)} with {_count(sweep, best_count)}"
    law = ""
    if sweep.fit is not None:
        off = format.share(sweep.fit.error)
        law = f"The medians do not follow the Universal Scalability Law; they deviate by {off}."
    if evidence.reach == "not reached" and last_count == best_count:
        headline = f"the sweep does not reach its peak: the last point has the highest rate, {highest}."
        return Message(headline, _extend(sweep), law)
    if evidence.reach == "not reached":
        at_last = f"{facts.rate(sweep.column, first, last)} with {_count(sweep, last_count)}"
        headline = f"the sweep may not reach its peak: the rate rises again to the last point, {at_last}"
        return Message(f"{headline}; the highest is {highest}.", _extend(sweep), law)
    return Message(
        f"the highest median of the sweep is {highest}.",
        "Look for what differs between the points besides their number (nodes, caches, the network's ceiling), and "
        f"repeat each at least {intervals.SURE} times.",
        law,
    )


def _by_law(facts: RunFacts, evidence: PeakEvidence, fit: Fit) -> Message:
    sweep, first, terms = evidence.sweep, evidence.sweep.rests_on[0], _terms(fit)
    last, rate = sweep.medians[-1]
    at_last = f"with {_count(sweep, last)}, its last point"
    highest = "" if math.isinf(fit.law.highest) else facts.rate(sweep.column, first, fit.law.highest)
    match evidence.reach:
        case "not reached":
            if not highest:
                law = "finds no limit yet"
            elif math.isinf(fit.law.peak_at):
                law = f"predicts a limit of {highest} without a peak"
            else:
                law = f"predicts a peak of {highest} at {_peak_at(sweep, fit)}, beyond the sweep"
            low = fit.peak_at.low
            unsure = f"A peak at {_count(sweep, round(low))} cannot be ruled out." if low <= last else ""
            return Message(
                f"the sweep does not reach its peak: the rate still rises {at_last}, to "
                f"{facts.rate(sweep.column, first, rate)}.",
                _extend(sweep),
                sentences(f"The Universal Scalability Law {law} ({terms}).", unsure),
            )
        case "level":
            share = format.share(fit.law.rate(last) / fit.law.highest)
            return Message(
                f"the rate has levelled off: {at_last}, it reaches {share} of {highest}, the limit that the "
                "Universal Scalability Law predicts.",
                f"More {sweep.axis} bring no more. To raise the limit, find what all share: the network (ioassay net "
                "measures its ceiling), a server, a lock, a metadata server.",
                f"The law: {terms}.",
            )
        case "uncertain":
            return Message(
                f"the peak may lie beyond the sweep: the Universal Scalability Law predicts {highest} at "
                f"{_peak_at(sweep, fit)}.",
                "Use more repetitions, or extend the sweep.",
                f"The law: {terms}.",
            )
        case "reached" if fit.law.peak_at < 1:
            best_count, best = sweep.best
            return Message(
                f"the rate does not scale: {facts.rate(sweep.column, first, best)} with {_count(sweep, best_count)}, "
                f"{facts.rate(sweep.column, first, rate)} {at_last}.",
                f"Find what the {sweep.axis} wait for: compare files of their own (layout: N-N) with a shared one, "
                "directories of their own with one, and the rate with the network's ceiling.",
                f"The Universal Scalability Law finds no gain beyond {_count(sweep, 1)} ({terms}).",
            )
        case "reached":
            return Message(
                f"the rate peaks at {_peak_at(sweep, fit)} with {highest}, by the Universal Scalability Law.",
                f"Beyond its peak, {sweep.axis} slow one another down: use no more of them for such I/O, or separate "
                "what they share (files, directories, locks).",
                f"The law: {terms}.",
            )


def _extend(sweep: Sweep) -> str:
    last, _ = sweep.medians[-1]
    return f"Extend the sweep beyond {_count(sweep, last)}, until the rate no longer rises."


def _count(sweep: Sweep, count: int) -> str:
    return format_count(count, sweep.axis.removesuffix("s"))


def _peak_at(sweep: Sweep, fit: Fit) -> str:
    """`about 25 clients (20 to 31 with 95 % confidence)`, of a law that has a peak."""
    peak = fit.peak_at
    about, sure = _count(sweep, max(1, round(peak.estimate))), format.share(peak.confidence)
    if math.isinf(peak.high):
        return f"about {about} ({max(1, round(peak.low))} or more with {sure} confidence; the fit gives no upper bound)"
    return f"about {about} ({max(1, round(peak.low))} to {max(1, round(peak.high))} with {sure} confidence)"


def _terms(fit: Fit) -> str:
    """`contention 3.1 % (2.0 to 4.2 %), coherency 0.00021 (0 to 0.00043); …`."""
    contention, coherency = fit.contention, fit.coherency
    return (
        f"contention σ {format.share(contention.estimate)}, {format.share(contention.low)} to "
        f"{format.share(contention.high)}; coherency κ {format.significant(coherency.estimate)}, "
        f"{format.significant(coherency.low)} to {format.significant(coherency.high)}; medians off it by "
        f"{format.share(fit.error)}"
    )

"""What each finding says, in a sentence or two, and what it rests on. Numbers come with the evidence; here they get
their units.

A kind of finding has one function here, registered for the type of its evidence. Its first sentence stands alone where
there is no room for more, as in an abstract.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import singledispatch, singledispatchmethod
from pathlib import Path
from typing import NamedTuple

from ioassay.analysis import intervals
from ioassay.analysis.drift import Drift
from ioassay.analysis.finding import FileLine, Reference
from ioassay.analysis.findings import Evidence
from ioassay.analysis.findings.amplification import AmplificationEvidence
from ioassay.analysis.findings.changes import ChangeEvidence
from ioassay.analysis.findings.counted_bytes import CountedBytesEvidence
from ioassay.analysis.findings.counter_clock import CounterClockEvidence
from ioassay.analysis.findings.fluctuations import FluctuationEvidence
from ioassay.analysis.findings.full_links import FullLinkEvidence
from ioassay.analysis.findings.late_writes import LateWriteEvidence
from ioassay.analysis.findings.outliers import OutlierEvidence
from ioassay.analysis.findings.peaks import PeakEvidence
from ioassay.analysis.findings.printed_scores import PrintedEvidence
from ioassay.analysis.findings.server_memory import ServerMemoryEvidence
from ioassay.analysis.findings.slow_nodes import SlowNodeEvidence
from ioassay.analysis.findings.stalls import StallEvidence
from ioassay.analysis.findings.stragglers import StragglerEvidence
from ioassay.analysis.findings.trends import TrendEvidence
from ioassay.analysis.findings.uneven_servers import UnevenServerEvidence
from ioassay.analysis.findings.wide_intervals import WideIntervalEvidence
from ioassay.analysis.names import NOUNS, Names
from ioassay.analysis.run_units import RunUnits
from ioassay.analysis.scalability import Fit, Sweep
from ioassay.analysis.stragglers import Rank
from ioassay.reports.document import Span
from ioassay.store.document import Operation
from ioassay.store.measurement import Measurement
from ioassay.text import format
from ioassay.text.rate_units import RateColumn
from ioassay.text.units import format_count, format_link_rate


class Message(NamedTuple):
    """What a finding says: what was found, in one sentence, and what else is to be known of it."""

    headline: str
    details: str = ""

    @property
    def text(self) -> str:
        """Both."""
        return " ".join(filter(None, self))


class Sentences:
    """The sentences about the findings of one run."""

    def __init__(self, names: Names, units: RunUnits) -> None:
        self._names = names
        self._units = units

    @singledispatchmethod
    def of(self, evidence: Evidence, first: Measurement) -> Message:
        """What a finding says whose first measurement is `first`."""
        raise TypeError(f"no sentence for {type(evidence).__name__}")

    @of.register
    def _(self, evidence: PrintedEvidence, first: Measurement) -> Message:
        unit = f" {evidence.unit}" if evidence.unit else ""
        extended = "extended " if evidence.list == "extended" else ""
        what = f"The {extended}{'score' if evidence.name == 'total' else evidence.name} that was printed"
        said = f"{what}, {evidence.printed:,.2f}{unit}, "
        if evidence.is_product:
            said += (
                f"is the product of both means; their geometric mean, which the score is, is {evidence.follows:,.2f}."
            )
        elif evidence.is_what_follows:
            said += "follows from the printed phases."
        else:
            said += f"does not follow from the printed phases, which give {evidence.follows:,.2f}{unit}."
        left_out = missing = ""
        if evidence.left_out:
            left_out = f"It leaves out failed phases ({', '.join(evidence.left_out)}); with them, it is 0."
        if evidence.missing:
            missing = f"Required phases are missing: {', '.join(evidence.missing)}."
        return _message(said, left_out, missing)

    @of.register
    def _(self, evidence: PeakEvidence, first: Measurement) -> Message:
        sweep, what = evidence.sweep, self._series(first)
        if sweep.others:
            what = f"{what}, {self._names.values(sweep.others)}"
        if sweep.files is not None:
            what = f"{what}, {format_count(sweep.files, 'file')}"
        fit = sweep.law
        said = self._without_law(evidence, first) if fit is None else self._by_law(evidence, fit, first)
        return said._replace(headline=f"{what}: {said.headline}")

    @of.register
    def _(self, evidence: StragglerEvidence, first: Measurement) -> Message:
        worst = evidence.worst
        headline = (
            f"{self._place(first)}: at the stonewall, after {format.duration(worst.stonewall_ns)}, the rate was "
            f"{self._rate(worst.column, first, worst.stonewall_rate)}; at the finish, after "
            f"{format.significant(worst.stretch)} times that time, "
            f"{self._rate(worst.column, first, worst.finish_rate)}."
        )
        apart = ""
        if worst.imbalance == math.inf:
            apart = "A rank had done nothing when it came"
        elif worst.imbalance is not None and worst.imbalance >= 2:
            apart = f"One rank had done {format.significant(worst.imbalance)} times the work of another when it came"
        if apart:
            apart += f" (least: {_ranks(worst.behind)})." if worst.behind else "."
        last = f"Last to finish: {_ranks(worst.last)}." if worst.last else ""
        return _message(headline, apart, last, _also(evidence.measurements, evidence.of, "measurement"))

    @of.register
    def _(self, evidence: SlowNodeEvidence, first: Measurement) -> Message:
        phases = f" in {' and '.join(evidence.operations)} phases" if evidence.operations else ""
        return Message(
            f"Node {evidence.node} is slow{phases}: it was the slowest in {evidence.slowest_in} of "
            f"{format_count(evidence.of, 'phase')} whose nodes were not equally fast; among identical nodes, that "
            f"would happen in {format.significant(evidence.by_chance)}."
        )

    @of.register
    def _(self, evidence: TrendEvidence, first: Measurement) -> Message:
        change = evidence.trend.change
        went = "declined" if change.estimate < 0 else "rose"
        ends = sorted((abs(change.low), abs(change.high)))
        sure = f"{format.share(ends[0])} to {format.share(ends[1])} with {format.share(change.confidence)} confidence"
        return _message(
            f"{self._place(first)}: the rate {went} by {format.share(abs(change.estimate))} within "
            f"{_seconds(evidence.drift.end_s - evidence.drift.start_s)} ({sure}).",
            _also(evidence.phases, evidence.of, "phase"),
        )

    @of.register
    def _(self, evidence: ChangeEvidence, first: Measurement) -> Message:
        change, column = evidence.change, _column(evidence.drift)
        went = "fell" if change.after < change.before else "rose"
        others = len(evidence.drift.changes) - 1
        more = f", and changed {'once' if others == 1 else f'{others} times'} more" if others else ""
        return _message(
            f"{self._place(first)}: after {_seconds(change.at_s)} the rate {went} from "
            f"{self._rate(column, first, change.before)} to {self._rate(column, first, change.after)}{more}.",
            _also(evidence.phases, evidence.of, "phase"),
        )

    @of.register
    def _(self, evidence: StallEvidence, first: Measurement) -> Message:
        count = len(evidence.drift.stalls)
        longest = f"for {_seconds(evidence.longest.length_s)}, {_seconds(evidence.longest.start_s)} after its start"
        several = f"{count} times, {_seconds(evidence.stalled_s)} together, the longest {longest}"
        return _message(
            f"{self._place(first)}: I/O stalled {longest if count == 1 else several}.",
            _also(evidence.phases, evidence.of, "phase"),
        )

    @of.register
    def _(self, evidence: FluctuationEvidence, first: Measurement) -> Message:
        drift = evidence.drift
        low, high = (self._rate(_column(drift), first, rate) for rate in (drift.low, drift.high))
        return _message(
            f"{self._place(first)}: the rate fluctuated: a tenth of the time it was below {low}, a tenth above {high}.",
            _also(evidence.phases, evidence.of, "phase"),
        )

    @of.register
    def _(self, evidence: OutlierEvidence, first: Measurement) -> Message:
        one = evidence.outliers[0]
        away = "below" if one.difference < 0 else "above"
        others = len(evidence.outliers) - 1
        more = f"{format_count(others, 'more outlier')} in the same series." if others else ""
        return _message(
            f"{self._place(first)}: an outlier: {self._rate(evidence.column, first, one.rate)}, "
            f"{format.share(abs(one.difference))} {away} the median of {one.repetitions} repetitions.",
            "It is included in the median.",
            more,
        )

    @of.register
    def _(self, evidence: WideIntervalEvidence, first: Measurement) -> Message:
        widest = evidence.widest
        low, high = (self._rate(evidence.column, first, end) for end in (widest.low, widest.high))
        return _message(
            f"{self._series(first)}, {self._names.point(first.case)}: the median of "
            f"{self._rate(evidence.column, first, widest.estimate)} is uncertain: {widest.name} "
            f"{format.span(low, high)}; repeat {_enough(evidence.repetitions)}.",
            _also(evidence.points, evidence.of, "point"),
        )

    @of.register
    def _(self, evidence: AmplificationEvidence, first: Measurement) -> Message:
        low, high = (f"{ratio:.2f}" for ratio in (evidence.lowest, evidence.highest))
        times = f"{low} times" if low == high else f"{low} to {high} times"
        wrote = "wrote" if evidence.way == "write" else "read"
        why = "Copies, parity and journals" if evidence.way == "write" else "Read-ahead and larger blocks"
        return Message(
            f"{self._series(first)}: the servers' disks {wrote} {times} what the clients {wrote}.",
            f"{why} cost that, unless others used the servers at the same time.",
        )

    @of.register
    def _(self, evidence: CountedBytesEvidence, first: Measurement) -> Message:
        whose = "servers" if evidence.role == "server" else "clients"
        moved = "wrote" if evidence.way == "write" else "read"
        more = "Other jobs used the file system at the same time, or requests were repeated."
        less = (
            "The rest stayed in, or came from, the clients' page cache, or not all servers were imported."
            if whose == "servers"
            else "Not all clients were imported, or the rest did not go through this file system."
        )
        return _message(
            f"{self._place(first)}: the file system's {whose} counted {evidence.ratio:.2f} times what the run {moved}.",
            more if evidence.ratio > 1 else less,
            f"{format_count(evidence.phases, 'phase')} of this series differ so." if evidence.phases > 1 else "",
        )

    @of.register
    def _(self, evidence: CounterClockEvidence, first: Measurement) -> Message:
        side = "ahead of" if evidence.lag_s > 0 else "behind"
        return Message(
            f"The clock of the imported counters seems to be {abs(evidence.lag_s)} s {side} that of the run: "
            "shifted by that they fit the phases.",
            f"Import them again with --clock-ahead {evidence.lag_s}; until then their bytes are not compared.",
        )

    @of.register
    def _(self, evidence: ServerMemoryEvidence, first: Measurement) -> Message:
        return _message(
            f"{self._place(first)}: the servers' disks read {format.share(evidence.share)} of what the clients read; "
            "memory served the rest.",
            "Read more than servers and clients can cache, or clear the servers' caches with a hook.",
            _also(evidence.phases, evidence.of, "phase"),
        )

    @of.register
    def _(self, evidence: LateWriteEvidence, first: Measurement) -> Message:
        return _message(
            f"{self._place(first)}: the disks were still writing {_seconds(evidence.late_s)} after the phase: "
            f"{format.size(evidence.late_bytes)}, {format.share(evidence.share)} of what the clients wrote.",
            "That part was in memory when the rate was measured; use fsync, or write more than memory holds.",
            _also(evidence.phases, evidence.of, "phase"),
        )

    @of.register
    def _(self, evidence: UnevenServerEvidence, first: Measurement) -> Message:
        wrote = "wrote" if evidence.way == "write" else "read"
        return Message(
            f"{self._series(first)}: the disks of {evidence.server} {wrote} at least "
            f"{format.significant(evidence.factor)} times what those of the other servers did, in all "
            f"{format_count(evidence.phases, 'phase')}.",
            "Check how files are placed on servers.",
        )

    @of.register
    def _(self, evidence: FullLinkEvidence, first: Measurement) -> Message:
        carried = "sent" if evidence.is_sending else "received"
        return _message(
            f"{self._place(first)}: {evidence.host} {carried} {format.share(evidence.share)} of what its link of "
            f"{format_link_rate(evidence.link_bits_per_s)} carries.",
            _also(evidence.phases, evidence.of, "phase"),
        )

    def _without_law(self, evidence: PeakEvidence, first: Measurement) -> Message:
        sweep = evidence.sweep
        where, best = sweep.best
        highest = f"{self._rate(sweep.column, first, best)} with {_count(sweep, where)}"
        law = ""
        if sweep.fit is not None:
            off = format.share(sweep.fit.error)
            law = f"The medians do not follow the Universal Scalability Law; they deviate by {off}."
        last, rate = sweep.medians[-1]
        if evidence.reach == "not reached" and last == where:
            return Message(f"the sweep does not reach its peak: the last point has the highest rate, {highest}.", law)
        if evidence.reach == "not reached":
            at_last = f"{self._rate(sweep.column, first, rate)} with {_count(sweep, last)}"
            headline = f"the sweep may not reach its peak: the rate rises again to the last point, {at_last}"
            return Message(f"{headline}; the highest is {highest}.", law)
        return Message(f"the highest median of the sweep is {highest}.", law)

    def _by_law(self, evidence: PeakEvidence, fit: Fit, first: Measurement) -> Message:
        sweep, terms = evidence.sweep, _terms(fit)
        last, rate = sweep.medians[-1]
        at_last = f"with {_count(sweep, last)}, its last point"
        highest = "" if math.isinf(fit.law.highest) else self._rate(sweep.column, first, fit.law.highest)
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
                return _message(
                    f"the sweep does not reach its peak: the rate still rises {at_last}, to "
                    f"{self._rate(sweep.column, first, rate)}.",
                    f"The Universal Scalability Law {law} ({terms}).",
                    unsure,
                )
            case "level":
                share = format.share(fit.law.rate(last) / fit.law.highest)
                return Message(
                    f"the rate has levelled off: {at_last}, it reaches {share} of {highest}, the limit that the "
                    "Universal Scalability Law predicts.",
                    f"The law: {terms}.",
                )
            case "uncertain":
                return _message(
                    f"the peak may lie beyond the sweep: the Universal Scalability Law predicts {highest} at "
                    f"{_peak_at(sweep, fit)}.",
                    f"The law: {terms}.",
                    "Use more repetitions, or extend the sweep.",
                )
            case "reached" if fit.law.peak_at < 1:
                where, best = sweep.best
                return Message(
                    f"the rate does not scale: {self._rate(sweep.column, first, best)} with {_count(sweep, where)}, "
                    f"{self._rate(sweep.column, first, rate)} {at_last}.",
                    f"The Universal Scalability Law finds no gain beyond {_count(sweep, 1)} ({terms}).",
                )
            case "reached":
                return Message(
                    f"the rate peaks at {_peak_at(sweep, fit)} with {highest}, by the Universal Scalability Law.",
                    f"The law: {terms}.",
                )

    def _series(self, place: Measurement) -> str:
        """`Sequential N-N, write`."""
        case, *measured = place
        return f"{self._names.workload(self._names.entry(case).workload)}, {self._names.measurement(*measured)}"

    def _place(self, place: Measurement) -> str:
        return self._names.place(place)

    def _rate(self, column: RateColumn, place: Measurement, rate: float) -> str:
        """A rate in the unit of the run."""
        operation = _operation(place)
        return format.rate_in(self._units.of(column, operation).name, rate, NOUNS[operation])


def _operation(place: Measurement) -> Operation:
    return next(known for known in NOUNS if known == place[3])


def _column(drift: Drift) -> RateColumn:
    return "rate_bytes_per_s" if drift.counts == "bytes" else "rate_operations_per_s"


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


def _seconds(seconds: float) -> str:
    return format.duration(seconds * 1e9)


def _ranks(ranks: Iterable[Rank]) -> str:
    return ", ".join(f"rank {one.rank}" + (f" on {one.node}" if one.node else "") for one in ranks)


def _enough(repetitions: int) -> str:
    """How often to repeat what was repeated so often."""
    return f"at least {intervals.SURE} times" if repetitions < intervals.SURE else "more often"


def _also(found: int, of: int, noun: str) -> str:
    """How many of the series are affected, or nothing where it is one."""
    if found == 1:
        return ""
    affected = (
        f"{found} of {of} {noun}s are" if found < of else f"Both {noun}s are" if of == 2 else f"All {of} {noun}s are"
    )
    return f"{affected} affected; this is the worst."


def _message(headline: str, *details: str) -> Message:
    return Message(headline, " ".join(filter(None, details)))


@singledispatch
def shown(reference: Reference, names: Names, anchors: Mapping[Measurement, str]) -> Span | None:
    """How a reference is shown, with a link to its row in the document; `None` for a measurement without a row."""
    raise TypeError(f"nothing shows {type(reference).__name__}")


@shown.register
def _(reference: Measurement, names: Names, anchors: Mapping[Measurement, str]) -> Span | None:
    return Span(names.place(reference), anchor=anchors[reference]) if reference in anchors else None


@shown.register
def _(reference: FileLine, names: Names, anchors: Mapping[Measurement, str]) -> Span | None:
    return Span(f"{Path(reference.file).name}, line {reference.line}")

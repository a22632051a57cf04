"""Medians with a wide confidence interval."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis import intervals, rates
from ioassay.analysis.finding import Evidence, Finding, Message
from ioassay.analysis.findings.run_facts import RunFacts, affected
from ioassay.analysis.intervals import Interval
from ioassay.store.measurement import POINT, Measurement
from ioassay.text import format
from ioassay.text.rate_units import RateColumn

WIDE = 0.1
"""Half width of an interval above which its median is uncertain, as a share of the median."""


@dataclass(frozen=True)
class WideIntervalEvidence(Evidence):
    """Points of a series whose median is uncertain."""

    kind: ClassVar[str] = "wide-interval"
    column: RateColumn
    widest: Interval
    repetitions: int
    """Valid repetitions of the point with the widest interval."""
    points: int
    """The number of such points."""
    of: int
    """Points of the series with enough repetitions for an interval."""


def wide_intervals(facts: RunFacts) -> Iterator[Finding]:
    """A notice for each series with such points."""
    for points, column in facts.by_series():
        known = [
            (interval, rates.places(same))
            for same in points.filter("valid").partition_by(*POINT, maintain_order=True)
            if (interval := intervals.of_median(same[column].drop_nulls().to_list())) is not None
        ]
        wide = sorted((pair for pair in known if pair[0].reach >= WIDE), key=lambda pair: -pair[0].reach)
        if wide:
            widest, measurements = wide[0]
            evidence = WideIntervalEvidence(column, widest, len(measurements), len(wide), len(known))
            message = _message(facts, evidence, measurements[0])
            yield Finding("notice", evidence, tuple(place for _, places in wide for place in places), message)


def _message(facts: RunFacts, evidence: WideIntervalEvidence, first: Measurement) -> Message:
    widest = evidence.widest
    low, high = (facts.rate(evidence.column, first, end) for end in (widest.low, widest.high))
    enough = f"at least {intervals.SURE} times" if evidence.repetitions < intervals.SURE else "more often"
    return Message(
        f"{facts.series_name(first)}, {facts.names.point(first.case)}: the median of "
        f"{facts.rate(evidence.column, first, widest.estimate)} is uncertain: {widest.name} {format.span(low, high)}.",
        f"Repeat {enough}, or let the study decide (repetitions: until {format.share(WIDE)}, at most 20).",
        affected(evidence.points, evidence.of, "point"),
    )

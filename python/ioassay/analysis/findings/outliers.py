"""Outliers among the repetitions of a sweep point. They count in the medians nevertheless.

The distance of a repetition is its modified z-score, 0.6745 |x - median| / MAD, on the logarithm of the rate (Iglewicz
and Hoaglin, *How to Detect and Handle Outliers*, 1993). Their limit of 3.5 is made for many values: of 5 repetitions
without any outlier one lies beyond it in 21 % of all points, of 10 in 13 %. So the limit depends on the number of
repetitions, such that a point without an outlier gets one in at most 1 % of all cases (the rule of Davies and Gather,
*The identification of multiple outliers*, 1993; the limits are from a simulation, which `test_outliers.py` repeats).

With 3 or 4 repetitions, outliers cannot be distinguished from scatter, and none are reported. Neither are repetitions
that differ by less than `LEAST` from the median, however little the others scatter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

import polars as pl

from ioassay.analysis import rates
from ioassay.analysis.finding import Evidence, Finding, Message, sentences
from ioassay.analysis.findings.run_facts import RunFacts
from ioassay.store.measurement import POINT, Measurement
from ioassay.text import format
from ioassay.text.rate_units import RateColumn
from ioassay.text.units import format_count

LIMITS = ((30, 4.8), (20, 5.3), (15, 5.9), (12, 6.5), (10, 7.2), (8, 8.3), (6, 10.8), (5, 18.5))
"""(repetitions, modified z-score): the limit for at least so many repetitions."""

FEWEST = LIMITS[-1][0]
"""The fewest repetitions of a point among which outliers are detected."""

LEAST = 0.1
"""The smallest difference of an outlier, as a share of the median."""

NORMAL = 0.6745
"""The median absolute deviation of a standard normal distribution."""

_CALMEST = 1e-3
"""Lower bound of the scatter. Imported rates are rounded, so most repetitions may be equal."""


@dataclass(frozen=True)
class Outlier:
    """An outlying repetition. `rate` and `median` are in the unit of the examined column."""

    place: Measurement
    repetition: int
    rate: float
    median: float
    repetitions: int
    """Valid repetitions of its sweep point, including itself."""

    @property
    def difference(self) -> float:
        """Its difference from the median, as a share of the median: negative if it is slower."""
        return self.rate / self.median - 1


@dataclass(frozen=True)
class OutlierEvidence(Evidence):
    """The outliers of a series, the farthest first."""

    kind: ClassVar[str] = "outliers"
    column: RateColumn
    outliers: tuple[Outlier, ...]


def outliers(facts: RunFacts) -> Iterator[Finding]:
    """A notice for each series with outliers."""
    for points, column in facts.by_series():
        series_outliers = sorted(find_outliers(points, column), key=lambda outlier: -abs(outlier.difference))
        if series_outliers:
            evidence = OutlierEvidence(column, tuple(series_outliers))
            yield Finding(
                "notice", evidence, tuple(outlier.place for outlier in series_outliers), _message(facts, evidence)
            )


def find_outliers(points: pl.DataFrame, column: RateColumn) -> list[Outlier]:
    """The outliers among the valid repetitions of each sweep point; `points` as from `rates.points`, order kept."""
    usable = points.filter("valid", pl.col(column) > 0)
    return [
        outlier
        for same in usable.partition_by(*POINT, maintain_order=True)
        if same.height >= FEWEST
        for outlier in _of_point(same, column)
    ]


def limit(repetitions: int) -> float:
    """The modified z-score above which a repetition is an outlier; needs at least `FEWEST` repetitions."""
    return next(score for least, score in LIMITS if repetitions >= least)


def _of_point(point: pl.DataFrame, column: RateColumn) -> list[Outlier]:
    logs = [math.log(rate) for rate in point[column]]
    middle = median(logs)
    scatter = max(_CALMEST, median(abs(value - middle) for value in logs))
    far = [abs(value - middle) * NORMAL / scatter > limit(point.height) for value in logs]
    beyond = point.filter(far)
    candidates = [
        Outlier(place, repetition, rate, median(point[column]), point.height)
        for place, repetition, rate in zip(rates.places(beyond), beyond["repetition"], beyond[column], strict=True)
    ]
    return [outlier for outlier in candidates if abs(outlier.difference) >= LEAST]


def _message(facts: RunFacts, evidence: OutlierEvidence) -> Message:
    outlier = evidence.outliers[0]
    away = "below" if outlier.difference < 0 else "above"
    others = len(evidence.outliers) - 1
    return Message(
        f"{facts.names.place(outlier.place)}: an outlier: {facts.rate(evidence.column, outlier.place, outlier.rate)}, "
        f"{format.share(abs(outlier.difference))} {away} the median of {outlier.repetitions} repetitions.",
        "Compare its doubts, time line and nodes with those of the other repetitions, and repeat the point: one "
        "outlier hardly moves the median of more repetitions.",
        sentences(
            "It is included in the median.",
            f"{format_count(others, 'more outlier')} in the same series." if others else "",
        ),
    )

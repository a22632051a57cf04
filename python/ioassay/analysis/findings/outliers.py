"""Repetitions of a sweep point that lie too far from the others to be their scatter. They count in the medians
nevertheless.

The distance of a repetition is its modified z-score, 0.6745 |x - median| / MAD, on the logarithm of the rate (Iglewicz
and Hoaglin, *How to Detect and Handle Outliers*, 1993). Their limit of 3.5 is made for many values: of 5 repetitions
without any outlier one lies beyond it in 21 % of all points, of 10 in 13 %. So the limit depends on the number of
repetitions, such that a point without an outlier gets one in at most 1 % of all cases (the rule of Davies and Gather,
*The identification of multiple outliers*, 1993; the limits are from a simulation, which `test_outliers.py` repeats).

With 3 or 4 repetitions nothing can be told apart from scatter, and nothing is. What differs by less than `LEAST` from
its median is not worth a word, however calm the others are.
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
"""(repetitions, modified z-score): the limit from so many repetitions on."""

FEWEST = LIMITS[-1][0]
"""Repetitions of which one can be told to be an outlier."""

LEAST = 0.1
"""The share of the median by which an outlier differs from it at least."""

NORMAL = 0.6745
"""The median absolute deviation of a standard normal distribution."""

_CALMEST = 1e-3
"""The least scatter that is reckoned with. Imported rates are rounded, so that most repetitions may be equal."""


@dataclass(frozen=True)
class Outlier:
    """A repetition far from the others. `rate` and `median` in the unit of the column that was looked at."""

    place: Measurement
    repetition: int
    rate: float
    median: float
    repetitions: int
    """The valid ones of its sweep point, itself included."""

    @property
    def difference(self) -> float:
        """How far it lies from the median, as a share of that: negative where it is slower."""
        return self.rate / self.median - 1


@dataclass(frozen=True)
class OutlierEvidence(Evidence):
    """The outliers of a series, the farthest first."""

    kind: ClassVar[str] = "outliers"
    column: RateColumn
    outliers: tuple[Outlier, ...]


def outliers(facts: RunFacts) -> Iterator[Finding]:
    """One for each series that has any."""
    for own, column in facts.by_series():
        found = sorted(find_outliers(own, column), key=lambda outlier: -abs(outlier.difference))
        if found:
            evidence = OutlierEvidence(column, tuple(found))
            yield Finding("notice", evidence, tuple(one.place for one in found), _message(facts, evidence))


def find_outliers(points: pl.DataFrame, column: RateColumn) -> list[Outlier]:
    """The outliers among the valid repetitions of each sweep point, from `rates.points`; in its order."""
    usable = points.filter("valid", pl.col(column) > 0)
    return [
        found
        for same in usable.partition_by(*POINT, maintain_order=True)
        if same.height >= FEWEST
        for found in _of_point(same, column)
    ]


def limit(repetitions: int) -> float:
    """The modified z-score beyond which a repetition is an outlier; at least `FEWEST` repetitions."""
    return next(score for least, score in LIMITS if repetitions >= least)


def _of_point(same: pl.DataFrame, column: RateColumn) -> list[Outlier]:
    logs = [math.log(rate) for rate in same[column]]
    middle = median(logs)
    scatter = max(_CALMEST, median(abs(value - middle) for value in logs))
    far = [abs(value - middle) * NORMAL / scatter > limit(same.height) for value in logs]
    beyond = same.filter(far)
    found = [
        Outlier(place, repetition, rate, median(same[column]), same.height)
        for place, repetition, rate in zip(rates.places(beyond), beyond["repetition"], beyond[column], strict=True)
    ]
    return [one for one in found if abs(one.difference) >= LEAST]


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

"""Repetitions that lie too far from the others. They count in the medians nevertheless."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis import outliers as analysis
from ioassay.analysis.finding import Evidence, Finding
from ioassay.analysis.findings.facts import RunFacts
from ioassay.analysis.outliers import Outlier
from ioassay.analysis.rate_units import RateColumn


@dataclass(frozen=True)
class OutlierEvidence(Evidence):
    """The outliers of a series, the farthest first."""

    kind: ClassVar[str] = "outliers"
    column: RateColumn
    outliers: tuple[Outlier, ...]


def outliers(facts: RunFacts) -> Iterator[Finding]:
    """One for each series that has any."""
    for own, column in facts.by_series():
        found = sorted(analysis.outliers(own, column), key=lambda one: -abs(one.difference))
        if found:
            yield Finding("notice", OutlierEvidence(column, tuple(found)), tuple(one.place for one in found))

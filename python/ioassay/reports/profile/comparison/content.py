"""The content of a comparison of two profiles. Not: its looks (`document`), sentences (`wording`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ioassay.analysis.profile import comparison
from ioassay.analysis.profile.comparison import Comparison
from ioassay.analysis.profile.condition_differences import ConditionDifference, condition_differences
from ioassay.analysis.profile.file_changes import FileChanges, file_changes
from ioassay.analysis.profile.finding_changes import FindingChange, finding_changes
from ioassay.analysis.profile.patterns import Pattern, pattern
from ioassay.analysis.profile.peers import MEASURES, Imbalance
from ioassay.profiles.model import Direction, Profile
from ioassay.reports.profile import content as of_one

TRANSFERS: tuple[Direction, ...] = ("read", "write")
"""Directions whose requests have an order."""


@dataclass(frozen=True)
class Side:
    """A profile, as its own report has it, and what it is called here."""

    name: str
    content: of_one.Content

    @property
    def profile(self) -> Profile:
        return self.content.profile

    def imbalance(self, measure: str) -> Imbalance | None:
        """The imbalance of the largest group of processes that do the same work."""
        imbalances = [imbalance for imbalance in self.content.imbalances if imbalance.measure == measure]
        return max(imbalances, key=lambda imbalance: imbalance.count, default=None)


@dataclass(frozen=True)
class Content:
    """Everything that the comparison says. Ratios are other / reference."""

    reference: Side
    other: Side
    comparison: Comparison
    conditions: tuple[ConditionDifference, ...]
    patterns: Mapping[str, tuple[Pattern, Pattern]]
    """By direction."""
    findings: tuple[FindingChange, ...]
    files: FileChanges

    @property
    def sides(self) -> tuple[Side, Side]:
        """The reference, and the other."""
        return self.reference, self.other

    @property
    def measures(self) -> list[str]:
        """The `MEASURES` in which either has processes that do the same work."""
        return [name for name in MEASURES if any(side.imbalance(name) for side in self.sides)]


def assemble(reference: Side, other: Side) -> Content:
    """The comparison of a profile with the reference, which is called so where both have one name."""
    if reference.name == other.name:
        reference = replace(reference, name=f"{reference.name} (reference)")
    before, after = reference.profile, other.profile
    return Content(
        reference=reference,
        other=other,
        comparison=comparison.compare(before, after),
        conditions=condition_differences(before, after),
        patterns={name: (pattern(before, name), pattern(after, name)) for name in TRANSFERS},
        findings=finding_changes(
            before,
            [line.finding for line in reference.content.findings],
            after,
            [line.finding for line in other.content.findings],
        ),
        files=file_changes(before, after),
    )

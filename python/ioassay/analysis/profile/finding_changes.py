"""Findings of two profiles that are new, gone, or in both.

Two findings are the same if their kind and subject (a direction, an operation, a measure) are. A finding of one profile
that is a symptom of another finding in the other is in both. A finding that one profile lacks is new or gone only if
its source knows the figures that the finding rests on; otherwise it is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from ioassay.analysis.finding import Finding
from ioassay.analysis.profile import totals
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence
from ioassay.analysis.profile.totals import REQUESTS
from ioassay.profiles.model import MPI_TRANSFERS, Profile

Change = Literal["new", "gone", "in both", "unknown"]
"""Change of a finding from the reference to the other. `unknown`: the source without it could not know."""

_ABOUT = ("direction", "operation", "measure")
"""Fields of evidence that distinguish findings of a kind."""

_OF_OPERATION = ("stalled-calls",)
"""Kinds that `operation` distinguishes; for others it is a detail."""


_OF_READS = ("redundant-reads", "same-data")
"""Kinds about read requests, which have no direction; others without a direction are about writes."""


@dataclass(frozen=True)
class FindingChange:
    """A finding of either profile, or of both."""

    change: Change
    reference: Finding | None
    other: Finding | None

    @property
    def kind(self) -> str:
        finding = self.other or self.reference
        assert finding is not None
        return finding.kind


def finding_changes(
    reference: Profile, reference_findings: Sequence[Finding], other: Profile, other_findings: Sequence[Finding]
) -> tuple[FindingChange, ...]:
    """New findings first, then those that are gone, in both, and unknown; each in the order of their profile."""
    before, after = ({_key(finding): finding for finding in side} for side in (reference_findings, other_findings))
    all_before, all_after = _with_symptoms(before), _with_symptoms(after)
    new = [
        FindingChange(_lacking("new", reference, finding), None, finding)
        for key, finding in after.items()
        if key not in all_before
    ]
    gone = [
        FindingChange(_lacking("gone", other, finding), finding, None)
        for key, finding in before.items()
        if key not in all_after
    ]
    both = [FindingChange("in both", all_before[key], finding) for key, finding in after.items() if key in all_before]
    both += [
        FindingChange("in both", finding, all_after[key])
        for key, finding in before.items()
        if key in all_after and key not in after
    ]
    changes = [*new, *gone, *both]
    return tuple(sorted(changes, key=lambda change: change.change == "unknown"))


def _with_symptoms(findings_by_key: Mapping[tuple[object, ...], Finding]) -> dict[tuple[object, ...], Finding]:
    """The findings by key, also by the keys of their symptoms."""
    every = dict(findings_by_key)
    for finding in findings_by_key.values():
        evidence = finding.evidence
        assert isinstance(evidence, ProfileEvidence)
        direction = getattr(evidence, "direction", "read" if finding.kind in _OF_READS else "write")
        for symptom in evidence.symptoms:
            every.setdefault((symptom.kind, None if symptom.kind in _OF_READS else direction, None), finding)
    return every


def _key(finding: Finding) -> tuple[object, ...]:
    evidence: object = getattr(finding.evidence, "imbalance", finding.evidence)
    about = [name for name in _ABOUT if name != "operation" or finding.kind in _OF_OPERATION]
    return finding.kind, *(getattr(evidence, name, None) for name in about)


def _lacking(change: Change, profile: Profile, finding: Finding) -> Change:
    """`change` if the profile without the finding could have it, otherwise `unknown`."""
    can_know = _CAN_KNOW.get(finding.kind)
    return change if can_know is None or can_know(profile, finding) else "unknown"


def _requests(column: str) -> Callable[[Profile, Finding], bool]:
    """A check whether a column is known for any requests of the finding's direction, or there are none."""

    def can_know(profile: Profile, finding: Finding) -> bool:
        names = REQUESTS[getattr(finding.evidence, "direction", "read")]
        return _knows(_called(profile, names), column)

    return can_know


def _has_sizes(profile: Profile, finding: Finding) -> bool:
    names = REQUESTS[getattr(finding.evidence, "direction", "read")]
    sized = profile.file_sizes.filter(pl.col("operation").is_in(names))
    return not sized.is_empty() or _called(profile, names).is_empty()


def _counts(*operations: str) -> Callable[[Profile, Finding], bool]:
    return lambda profile, _: not profile.uncounted & set(operations)


def _knows_failed(profile: Profile, _: Finding) -> bool:
    return _knows(_called(profile, ("open", "stat", "list")), "failed")


def _knows_latencies(profile: Profile, finding: Finding) -> bool:
    operation = getattr(finding.evidence, "operation", "")
    called = profile.process_operations.filter(pl.col("operation") == operation, pl.col("calls") > 0)
    return called.is_empty() or operation in set(profile.latencies["operation"])


def _knows_measure(profile: Profile, finding: Finding) -> bool:
    measure = finding.evidence.imbalance.measure  # type: ignore[attr-defined]
    return not profile.processes[measure].has_nulls()


def _knows_time_of_each(profile: Profile, _: Finding) -> bool:
    return not any(profile.processes[name].has_nulls() for name in ("read_ns", "write_ns", "metadata_ns"))


def _knows_metadata_time(profile: Profile, _: Finding) -> bool:
    return totals.totals(profile).of("metadata").spent_ns is not None


def _counts_non_blocking(profile: Profile, finding: Finding) -> bool:
    kinds = MPI_TRANSFERS["write" if getattr(finding.evidence, "direction", "") == "write" else "read"]
    return kinds.non_blocking[0] not in profile.uncounted


def _knows_nodes(profile: Profile, _: Finding) -> bool:
    return not profile.processes["node"].has_nulls()


def _sees_libraries(profile: Profile, _: Finding) -> bool:
    return profile.source == "record"  # Darshan leaves out /usr, /etc and other system directories


def _knows_flags(profile: Profile, _: Finding) -> bool:
    return profile.files.is_empty() or profile.files["open_flags"].count() > 0


def _has_heat(profile: Profile, _: Finding) -> bool:
    return not profile.heat.is_empty()


def _called(profile: Profile, operations: Sequence[str]) -> pl.DataFrame:
    return totals.on_storage(profile).filter(pl.col("operation").is_in(list(operations)), pl.col("calls") > 0)


def _knows(rows: pl.DataFrame, column: str) -> bool:
    return rows.is_empty() or rows[column].count() > 0


_CAN_KNOW: Mapping[str, Callable[[Profile, Finding], bool]] = {
    "small-requests": _has_sizes,
    "small-files": _has_sizes,
    "synchronous-writes": _knows_flags,
    "random-access": _requests("consecutive"),
    "misaligned": _requests("misaligned"),
    "cached-reads": _requests("duration_ns"),
    "failed-lookups": _knows_failed,
    "program-startup": _sees_libraries,
    "stalled-calls": _knows_latencies,
    "time-imbalance": _knows_time_of_each,
    "size-imbalance": _knows_measure,
    "metadata-time": _knows_metadata_time,
    "phase-tails": _has_heat,
    "blocking-mpi-io": _counts_non_blocking,
    "aggregators": _knows_nodes,
    "stat-storm": _counts("stat"),
    "reopened-files": _counts("open"),
    "sync-storm": _counts("sync"),
}
"""Checks whether a profile could have a finding of each kind; kinds without a check are always possible."""

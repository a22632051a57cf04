"""Findings of a profile: causes of slow I/O of an application, each with evidence and the files, processes or steps
that it rests on.

How to add one: docs/development/adding-a-finding.md.

Not: the estimates themselves (the other files of `ioassay.analysis.profile`), gaps of a profile
(`coverage`), how documents show findings (`ioassay.reports.findings`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ioassay.analysis.finding import SEVERITIES, Finding
from ioassay.analysis.profile.findings.aggregators import aggregators
from ioassay.analysis.profile.findings.blocking_mpi_io import blocking_mpi_io
from ioassay.analysis.profile.findings.cached_reads import cached_reads
from ioassay.analysis.profile.findings.files_between_steps import deleted_unread, hand_overs, idle_files
from ioassay.analysis.profile.findings.imbalance import size_imbalance, time_imbalance
from ioassay.analysis.profile.findings.mapped_reads import mapped_reads
from ioassay.analysis.profile.findings.metadata import metadata_time
from ioassay.analysis.profile.findings.misaligned import misaligned
from ioassay.analysis.profile.findings.no_collectives import no_collectives
from ioassay.analysis.profile.findings.phase_tails import phase_tails
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts
from ioassay.analysis.profile.findings.program_startup import program_startup
from ioassay.analysis.profile.findings.random_access import random_access
from ioassay.analysis.profile.findings.repeated_lookups import reopened_files, stat_storm
from ioassay.analysis.profile.findings.repeated_reads import redundant_reads, same_data
from ioassay.analysis.profile.findings.search_paths import failed_lookups
from ioassay.analysis.profile.findings.small_files import small_files
from ioassay.analysis.profile.findings.small_requests import small_requests
from ioassay.analysis.profile.findings.stalls import stalls
from ioassay.analysis.profile.findings.streams import streams
from ioassay.analysis.profile.findings.sync_storm import sync_storm
from ioassay.analysis.profile.findings.synchronous_writes import synchronous_writes

__all__ = ["FINDERS", "ProfileEvidence", "ProfileFacts", "findings"]

FINDERS: tuple[Callable[[ProfileFacts], Iterable[Finding]], ...] = (
    stalls,
    sync_storm,
    synchronous_writes,
    metadata_time,
    small_requests,
    small_files,
    random_access,
    mapped_reads,
    redundant_reads,
    same_data,
    deleted_unread,
    hand_overs,
    idle_files,
    time_imbalance,
    phase_tails,
    no_collectives,
    aggregators,
    blocking_mpi_io,
    reopened_files,
    stat_storm,
    failed_lookups,
    program_startup,
    misaligned,
    size_imbalance,
    streams,
    cached_reads,
)
"""Every kind of finding, in the order in which findings with equal savings are reported."""


def findings(facts: ProfileFacts) -> list[Finding]:
    """The findings of a profile: warnings first, then those that save the most time."""
    all_findings = [_capped(finding, facts.totals.io_ns) for find in FINDERS for finding in find(facts)]
    return sorted(all_findings, key=_order)


def _capped(finding: Finding, io_ns: int | None) -> Finding:
    """The finding with its savings limited to the time in I/O."""
    evidence = _evidence(finding)
    if evidence.saves_ns is None or io_ns is None or evidence.saves_ns <= io_ns:
        return finding
    return replace(finding, evidence=replace(evidence, saves_ns=io_ns))


def _order(finding: Finding) -> tuple[int, int, int]:
    evidence = _evidence(finding)
    return SEVERITIES.index(finding.severity), -(evidence.saves_ns or 0), -(evidence.spent_ns or 0)


def _evidence(finding: Finding) -> ProfileEvidence:
    assert isinstance(finding.evidence, ProfileEvidence)
    return finding.evidence

"""The content of a profile's report, before any format. Not: how it looks (`document`), sentences (`wording`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from ioassay.analysis.finding import FileRow, Finding
from ioassay.analysis.profile import coverage, phases, totals
from ioassay.analysis.profile.callers import CallSite
from ioassay.analysis.profile.coverage import Coverage
from ioassay.analysis.profile.findings import ProfileEvidence, ProfileFacts, findings
from ioassay.analysis.profile.maps import Maps
from ioassay.analysis.profile.measured_limits import MeasuredLimits
from ioassay.analysis.profile.peers import Imbalance
from ioassay.analysis.profile.phases import Phase
from ioassay.analysis.profile.regions import Region, regions
from ioassay.analysis.profile.startup import StartupTotal
from ioassay.analysis.profile.thresholds import Threshold, Thresholds
from ioassay.analysis.profile.totals import Totals
from ioassay.analysis.profile.workflow import Workflow
from ioassay.profiles.model import DIRECTION, DIRECTIONS, STORED_FILES, Direction, Profile
from ioassay.reports.document import Span
from ioassay.reports.findings import references_of_profile
from ioassay.text import format

MOST_REFERENCES = 100
"""Files, processes or steps of the time line that are shown of those that a finding rests on."""

MOST_FILES = 25
"""Files and directories that are shown, the weightiest first; beyond these, what findings rest on first."""

MOST_MAPPED = 10
"""Mapped files that are shown, those first that may have moved most."""

MOST_SHARED = 10
"""Files of several processes that are shown."""


@dataclass(frozen=True)
class FindingLine:
    """A finding with what it rests on."""

    finding: Finding
    references: tuple[Span, ...]
    savings: str
    """The most time that the remedy saves; empty: none."""
    callers: tuple[CallSite, ...]
    """The origins of its calls, those with most calls first; none without sampled stacks."""

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        """The limits that it exceeds."""
        assert isinstance(self.finding.evidence, ProfileEvidence)
        evidence = self.finding.evidence
        return (*evidence.thresholds, *(limit for symptom in evidence.symptoms for limit in symptom.thresholds))


@dataclass(frozen=True)
class Content:
    """Everything that the report says."""

    profile: Profile
    totals: Totals
    startup: StartupTotal
    """The share of start-up."""
    findings: tuple[FindingLine, ...]
    coverage: Coverage
    maps: Maps
    phases: tuple[Phase, ...]
    """All phases, those in which only maps may have moved bytes included."""
    periods_s: Mapping[Direction, float]
    """The time from one phase to the next, of directions that recur regularly."""
    imbalances: tuple[Imbalance, ...]
    regions: tuple[Region, ...]
    call_sites: tuple[CallSite, ...]
    """The origins of calls on storage, those with most time first; none without sampled stacks."""
    operations: pl.DataFrame
    stored: pl.DataFrame
    """`totals.on_storage`."""
    every_file: pl.DataFrame
    """`totals.by_file`, in the order of `totals.by_weight`."""
    files: pl.DataFrame
    """The files that are shown."""
    shared: pl.DataFrame
    """Files that several processes read or write, the weightiest first."""
    directories: pl.DataFrame
    workflow: Workflow
    thresholds: Thresholds
    limits: MeasuredLimits | None
    """Limits measured on the storage, where runs were named."""


def assemble(profile: Profile, limits: MeasuredLimits | None = None) -> Content:
    """The content of a profile's report."""
    thresholds = Thresholds() if limits is None else limits.thresholds
    facts = ProfileFacts(profile, thresholds)
    all_findings = findings(facts)
    every = totals.by_file(profile, facts.on_storage)
    first = {row.file for finding in all_findings for row in finding.rests_on[:1] if isinstance(row, FileRow)}
    every = totals.by_weight(every.join(facts.maps.of_files, on="file", how="left"))
    most_mapped = facts.maps.bounds["file"].unique(maintain_order=True).head(MOST_MAPPED)
    shown = {*every["file"].head(MOST_FILES), *first, *most_mapped}
    paths = dict(profile.files.select("file", "path").iter_rows())
    processes = dict(_names(profile))
    return Content(
        profile=profile,
        totals=facts.totals,
        startup=facts.startup_total,
        findings=tuple(
            FindingLine(
                finding,
                references_of_profile(finding.rests_on[:MOST_REFERENCES], paths, processes, shown),
                _savings(finding, facts.totals.io_ns),
                _callers(facts, finding),
            )
            for finding in all_findings
        ),
        coverage=coverage.coverage(profile, facts.maps),
        maps=facts.maps,
        phases=tuple(phases.with_maps(profile, facts.phases, facts.maps.bounds)),
        periods_s={
            direction: period
            for direction in DIRECTIONS
            if (period := phases.period_s(facts.phases, direction)) is not None
        },
        imbalances=tuple(facts.imbalances),
        regions=regions(profile),
        call_sites=facts.callers.of(DIRECTION),
        operations=facts.operations,
        stored=facts.on_storage,
        every_file=every,
        files=every.filter(pl.col("file").is_in(list(shown))),
        shared=every.filter(
            pl.col("kind").is_in(STORED_FILES),
            pl.col("processes") > 1,
            pl.col("read_bytes") + pl.col("written_bytes") > 0,
        ).head(MOST_SHARED),
        directories=totals.by_directory(every).head(MOST_FILES),
        workflow=facts.workflow,
        thresholds=thresholds,
        limits=limits,
    )


def _savings(finding: Finding, io_ns: int | None) -> str:
    """The time that the remedy of a finding saves, of `io_ns` in I/O; empty if none."""
    evidence = finding.evidence
    assert isinstance(evidence, ProfileEvidence)
    if evidence.saves_ns is None:
        return "How much that saves is unknown."
    if not evidence.saves_ns:
        return ""
    of_io = "" if io_ns is None else f" of {format.duration(io_ns)} in I/O"
    return f"Saves at most {format.duration(evidence.saves_ns)}{of_io}."


def _callers(facts: ProfileFacts, finding: Finding) -> tuple[CallSite, ...]:
    """The origins of the calls of a finding, those with most calls first."""
    assert isinstance(finding.evidence, ProfileEvidence)
    files = {row.file for row in finding.rests_on if isinstance(row, FileRow)}
    if not finding.evidence.called_operations or facts.callers.rows.is_empty():
        return ()
    sites = facts.callers.of(finding.evidence.called_operations, files or None)
    return tuple(sorted(sites, key=lambda site: -site.calls))


def _names(profile: Profile) -> Iterator[tuple[int, str]]:
    """Processes by number, as findings call them: `rank 3, process 1003 on node1`. A source may not know all three."""
    for process, pid, rank, node in profile.processes.select("process", "pid", "rank", "node").iter_rows():
        known = [f"rank {rank}"] if rank is not None else []
        if pid is not None or not known:
            known.append(f"process {process if pid is None else pid}")
        yield process, ", ".join(known) + (f" on {node}" if node else "")

"""The inputs of findings of a profile: the profile, the thresholds, and shared intermediate results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import polars as pl

from ioassay.analysis.finding import Evidence, FileRow, Finding, Message, Reference, Severity, sentences
from ioassay.analysis.profile import callers, maps, startup, totals
from ioassay.analysis.profile.callers import Callers
from ioassay.analysis.profile.findings import causes
from ioassay.analysis.profile.findings.causes import Causes, Symptom
from ioassay.analysis.profile.maps import Maps
from ioassay.analysis.profile.peers import Imbalance, imbalances
from ioassay.analysis.profile.phases import Phase, phases
from ioassay.analysis.profile.programs import REMEDIES, FileTool, file_tool
from ioassay.analysis.profile.startup import StartupTotal
from ioassay.analysis.profile.thresholds import Threshold, Thresholds
from ioassay.analysis.profile.totals import REQUESTS, Totals, known_total
from ioassay.analysis.profile.workflow import Workflow, workflow
from ioassay.profiles.model import OPERATIONS_OF, STORED_FILES, Direction, Profile
from ioassay.text import format

COPIED_BYTES_PER_S = 10e9
"""Memory to memory: no remedy makes a transfer faster."""


@dataclass(frozen=True)
class ProfileEvidence(Evidence):
    """Common fields of the evidence of all findings of a profile."""

    thresholds: tuple[Threshold, ...]
    """The thresholds that were exceeded."""
    spent_ns: int | None
    """Time in the affected calls, summed over processes; `None`: unknown."""
    saves_ns: int | None = field(kw_only=True)
    """The most of that time that the remedy saves, without the time that it still needs; `None`: unknown. Never more
    than the time in I/O.
    """
    symptoms: tuple[Symptom, ...] = field(default=(), kw_only=True)
    """Other properties of these calls."""
    tool: FileTool | None = field(default=None, kw_only=True)
    """The kind of program for trees of files that made these calls, which has another remedy."""

    @property
    def called_operations(self) -> Collection[str]:
        """The affected operations, whose callers are named with the finding; empty: none in particular."""
        return ()


@dataclass(frozen=True)
class DirectionEvidence(ProfileEvidence):
    """Common fields of the evidence of findings about reads or writes."""

    direction: Direction

    @property
    def called_operations(self) -> Collection[str]:
        """All operations that move bytes in this direction."""
        return OPERATIONS_OF[self.direction]


@dataclass(frozen=True)
class ProfileFacts:
    """A profile and the limits of its rules."""

    profile: Profile
    thresholds: Thresholds

    @cached_property
    def totals(self) -> Totals:
        return totals.totals(self.profile, self.on_storage)

    @cached_property
    def on_storage(self) -> pl.DataFrame:
        """Operations on storage, for sums: `totals.on_storage`."""
        return totals.on_storage(self.profile)

    @cached_property
    def stored(self) -> pl.DataFrame:
        """`on_storage` without rows of many files: the input of rules about files."""
        return self.on_storage.filter(pl.col("kind").is_in(STORED_FILES))

    @cached_property
    def callers(self) -> Callers:
        """The code that makes the calls: `callers.callers`."""
        return callers.callers(self.profile)

    @cached_property
    def maps(self) -> Maps:
        """I/O through maps: `maps.maps`."""
        return maps.maps(self.profile, self.stored)

    @cached_property
    def startup(self) -> pl.DataFrame:
        """The files of start-up: `startup.startup_files`."""
        return startup.startup_files(self.profile)

    @cached_property
    def startup_total(self) -> StartupTotal:
        """Calls and time of start-up."""
        return startup.startup_total(self.profile, self.stored, self.startup)

    @cached_property
    def tool(self) -> FileTool | None:
        """The kind of programs for trees of files that did nearly all of the I/O: `programs.file_tool`."""
        return file_tool(self.profile)

    @cached_property
    def data(self) -> pl.DataFrame:
        """`stored` without the files of start-up: the files of the application."""
        return self.stored.join(self.startup, on="file", how="anti", maintain_order="left")

    @cached_property
    def reads(self) -> pl.DataFrame:
        """The files that the application read: `causes.reads`."""
        return causes.reads(self)

    @cached_property
    def opens(self) -> pl.DataFrame:
        """Opens of each of the application's files: file, opens."""
        return self._calls("open", "opens")

    @cached_property
    def syncs(self) -> pl.DataFrame:
        """Syncs of each of the application's files: file, syncs."""
        return self._calls("sync", "syncs")

    def _calls(self, operation: str, column: str) -> pl.DataFrame:
        operation_rows = self.data.filter(pl.col("operation") == operation)
        return operation_rows.group_by("file").agg(pl.col("calls").sum().alias(column))

    @cached_property
    def causes(self) -> Causes:
        """The finding that the requests on each file belong to: `causes.causes`."""
        return causes.causes(self)

    @cached_property
    def operations(self) -> pl.DataFrame:
        """Every operation with its latency: `totals.operations`."""
        return totals.operations(self.profile, self.on_storage)

    @cached_property
    def phases(self) -> list[Phase]:
        return phases(self.profile)

    @cached_property
    def imbalances(self) -> list[Imbalance]:
        """Imbalances between processes that do the same work."""
        return imbalances(self.profile)

    @cached_property
    def workflow(self) -> Workflow:
        """The steps and the files between them."""
        return workflow(self.profile, self.maps)

    def requests(self, direction: Direction) -> pl.DataFrame:
        """The application's requests by file: `causes.requests`."""
        return self._requests[direction]

    @cached_property
    def _requests(self) -> dict[str, pl.DataFrame]:
        return {direction: causes.requests(self, direction) for direction in REQUESTS}

    @cached_property
    def synced(self) -> pl.DataFrame:
        """Files that are synced after little data, most syncs first: `syncs`, and the bytes `written` to them."""
        written = pl.col("bytes").filter(pl.col("direction") == "write").sum()
        return (
            self.stored.group_by("file")
            .agg(syncs=pl.col("calls").filter(pl.col("operation") == "sync").sum(), written=written)
            .filter(pl.col("syncs") > 0, pl.col("written") < self.thresholds.sync_bytes.value * pl.col("syncs"))
            .sort("syncs", "file", descending=[True, False])
        )

    def metadata_ns(self, numbers: pl.Series) -> int | None:
        """Time in calls that move no bytes, on these files. `None`: unknown."""
        return known_total(self.profile.files.filter(pl.col("file").is_in(numbers.implode()))["metadata_ns"])

    def mean_ns(self, operation: str) -> float | None:
        """Mean time of a call of an operation on storage. `None`: unknown."""
        calls = int(self.profile.process_operations.filter(pl.col("operation") == operation)["calls"].sum())
        spent = self.spent_ns(operation)
        return spent / calls if spent is not None and calls else None

    def spent_ns(self, operation: str, calls: int | None = None) -> int | None:
        """Time in all calls of an operation on storage, or the mean time of `calls` of them. `None`: unknown."""
        rows = self.profile.process_operations.filter(pl.col("operation") == operation)
        every, spent = int(rows["calls"].sum()), known_total(rows["duration_ns"])
        return spent if calls is None or spent is None else round(spent * min(1, calls / max(1, every)))


def less(spent_ns: int | None, needed: float, calls: float) -> int | None:
    """The time saved if only `needed` of `calls` are still made."""
    return None if spent_ns is None else round(spent_ns * (1 - min(1.0, needed / max(1, calls))))


def beyond_copying(spent_ns: int | None, moved_bytes: float | None) -> int | None:
    """Time in transfers beyond that of copying their bytes in memory."""
    return None if spent_ns is None else max(0, round(spent_ns - (moved_bytes or 0) * 1e9 / COPIED_BYTES_PER_S))


def files(numbers: Iterable[int]) -> tuple[FileRow, ...]:
    """The files that a finding rests on, the most important first."""
    return tuple(map(FileRow, numbers))


_Evidence = TypeVar("_Evidence", bound=ProfileEvidence)


def profile_finding(
    severity: Severity,
    evidence: _Evidence,
    rests_on: tuple[Reference, ...],
    message: Callable[[_Evidence], Message],
) -> Finding:
    """A finding with the message of its evidence and the sentences of its symptoms. Its remedy is that of the tool that
    made the calls, if any, because users will not change the code of a tool.
    """
    words = message(evidence)
    details = sentences(words.details, *(symptom.sentence for symptom in evidence.symptoms))
    remedy = REMEDIES[evidence.tool] if evidence.tool else words.remedy
    return Finding(severity, evidence, rests_on, Message(words.headline, remedy, details))


def part_of(part: int, every: int, noun: str) -> str:
    """`3 of 7 files are`, `The file is`, `All 7 files are`."""
    if part == every:
        return f"The {noun} is" if every == 1 else f"All {format.count(every)} {noun}s are"
    return f"{format.count(part)} of {format.count(every)} {noun}s {'is' if part == 1 else 'are'}"

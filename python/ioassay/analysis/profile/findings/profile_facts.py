"""What findings of a profile look at: the profile, the limits, and what several of them need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from ioassay.analysis.finding import Evidence, FileRow
from ioassay.analysis.profile import maps, totals
from ioassay.analysis.profile.maps import Maps
from ioassay.analysis.profile.peers import Imbalance, imbalances
from ioassay.analysis.profile.phases import Phase, phases
from ioassay.analysis.profile.thresholds import Threshold, Thresholds
from ioassay.analysis.profile.totals import Totals, known_total
from ioassay.analysis.profile.workflow import Workflow, workflow
from ioassay.results.profile_model import STORED_FILES, Profile

MOST_REFERENCES = 100
"""Files, processes or steps of the time line that a finding rests on at most, the weightiest first."""


@dataclass(frozen=True)
class ProfileEvidence(Evidence):
    """What the evidence of all findings of a profile has."""

    thresholds: tuple[Threshold, ...]
    """Those that were exceeded."""
    spent_ns: int | None
    """Time in the calls that it is about, added over processes; `None`: unknown."""


@dataclass(frozen=True)
class ProfileFacts:
    """A profile and the limits of its rules."""

    profile: Profile
    thresholds: Thresholds

    @cached_property
    def totals(self) -> Totals:
        """The sums."""
        return totals.totals(self.profile, self.on_storage)

    @cached_property
    def on_storage(self) -> pl.DataFrame:
        """Operations on storage, for sums: `totals.on_storage`."""
        return totals.on_storage(self.profile)

    @cached_property
    def stored(self) -> pl.DataFrame:
        """The same without rows of many files: what rules on files look at."""
        return self.on_storage.filter(pl.col("kind").is_in(STORED_FILES))

    @cached_property
    def maps(self) -> Maps:
        """What went through maps: `maps.maps`."""
        return maps.maps(self.profile, self.stored)

    @cached_property
    def sizes(self) -> pl.DataFrame:
        """`FILE_SIZES` of files on storage, without transfers that moved nothing: they found the end of the file."""
        users = self.profile.files.select("file", "processes")
        moved = self.profile.file_sizes.filter(pl.col("end_bytes").is_null() | (pl.col("end_bytes") > 1))
        return moved.join(self.stored.select("file").unique(), on="file", how="semi").join(users, on="file")

    @cached_property
    def operations(self) -> pl.DataFrame:
        """Every operation with its latency: `totals.operations`."""
        return totals.operations(self.profile)

    @cached_property
    def phases(self) -> list[Phase]:
        """Bursts of I/O."""
        return phases(self.profile)

    @cached_property
    def imbalances(self) -> list[Imbalance]:
        """How unequal processes are that do the same work."""
        return imbalances(self.profile)

    @cached_property
    def workflow(self) -> Workflow:
        """Which step feeds which."""
        return workflow(self.profile)

    def spent_ns(self, operation: str, calls: int | None = None) -> int | None:
        """Time in all calls of an operation on storage; of some of them, what so many take on average.
        `None`: unknown.
        """
        rows = self.profile.process_operations.filter(pl.col("operation") == operation)
        every, spent = int(rows["calls"].sum()), known_total(rows["duration_ns"])
        return spent if calls is None or spent is None else round(spent * min(1, calls / max(1, every)))


def files(numbers: Iterable[int]) -> tuple[FileRow, ...]:
    """The files that a finding rests on."""
    return tuple(FileRow(number) for number in list(numbers)[:MOST_REFERENCES])

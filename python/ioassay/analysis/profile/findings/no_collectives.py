"""Many independent operations of MPI-IO and no collective one. Drishti's rules M02 and M03."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding, Message
from ioassay.analysis.profile.findings.causes import symptoms
from ioassay.analysis.profile.findings.profile_facts import (
    DirectionEvidence,
    ProfileFacts,
    beyond_copying,
    files,
    profile_finding,
)
from ioassay.analysis.profile.totals import known_total
from ioassay.profiles.model import MPI_TRANSFERS
from ioassay.text import format


@dataclass(frozen=True)
class NoCollectiveEvidence(DirectionEvidence):
    """Independent operations of MPI-IO in one direction."""

    kind: ClassVar[str] = "no-collectives"
    independent: int
    files: int

    @property
    def called_operations(self) -> Collection[str]:
        """The independent operations of MPI-IO in this direction."""
        return MPI_TRANSFERS[self.direction].independent


def no_collectives(facts: ProfileFacts) -> Iterator[Finding]:
    """A warning for each direction."""
    least = facts.thresholds.independent_calls
    for direction, kinds in MPI_TRANSFERS.items():
        independent = pl.col("operation").is_in(kinds.independent)
        rows = facts.stored.filter(independent).sort("calls", "file", descending=[True, False])
        count = int(rows["calls"].sum())
        if count > least.value and not set(kinds.collective) & set(facts.on_storage["operation"]):
            spent, cause_rows = known_total(rows["duration_ns"]), facts.causes.get(("no-collectives", direction))
            evidence = NoCollectiveEvidence(
                (least,),
                spent,
                saves_ns=beyond_copying(spent, known_total(rows["bytes"])),
                symptoms=() if cause_rows is None else symptoms(facts, "no-collectives", direction, cause_rows),
                direction=direction,
                independent=count,
                files=rows["file"].n_unique(),
            )
            yield profile_finding("warning", evidence, files(rows["file"].unique(maintain_order=True)), _message)


def _message(evidence: NoCollectiveEvidence) -> Message:
    return Message(
        f"All {format.count(evidence.independent)} {evidence.direction}s of MPI-IO are independent, none is "
        "collective.",
        f"Use MPI_File_{evidence.direction}_all and its like where all ranks take part.",
    )

"""Transfers that go back in their file: read-ahead fetches what nobody wants, and disks seek.

Drishti's rules P11 and P13. A transfer is random where it begins neither at the end of the last one of its thread nor
beyond it; the first one of each process is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, files
from ioassay.analysis.profile.totals import REQUESTS, known_total


@dataclass(frozen=True)
class RandomEvidence(ProfileEvidence):
    """Random transfers in one direction."""

    kind: ClassVar[str] = "random-access"
    direction: str
    random: int
    requests: int
    files: int


def random_access(facts: ProfileFacts) -> Iterator[Finding]:
    """One for each direction."""
    least = facts.thresholds.random_requests
    for direction, operations in REQUESTS.items():
        share = facts.thresholds.limit("random_share", direction)
        in_order = pl.col("consecutive") + pl.col("forward")
        back = pl.col("calls") - pl.col("failed").fill_null(0) - in_order - pl.col("processes").fill_null(1)
        rows = (
            facts.stored.filter(pl.col("operation").is_in(operations), in_order.is_not_null())
            .with_columns(random=back.clip(0))
            .sort("random", "file", descending=[True, False])
        )
        count, requests = int(rows["random"].sum()), int(rows["calls"].sum())
        if count <= share.value * requests or count <= least.value:
            continue
        found = rows.filter(pl.col("random") > share.value * pl.col("calls"))
        yield Finding(
            "warning",
            RandomEvidence(
                thresholds=(share, least),
                spent_ns=known_total(found["duration_ns"]),
                direction=direction,
                random=count,
                requests=requests,
                files=found["file"].n_unique(),
            ),
            files(found["file"].unique(maintain_order=True)),
        )

"""Much time in calls that move no bytes: opening, looking up, creating, removing.

Drishti's rule P17 has a limit for each rank; a large share of all time in I/O is the same for short runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, files
from ioassay.results.profile_model import STORED_FILES


@dataclass(frozen=True)
class MetadataEvidence(ProfileEvidence):
    """Time in metadata operations."""

    kind: ClassVar[str] = "metadata-time"
    share: float
    """Of the time in I/O."""
    processes: int
    """That spent more than the limit of a rank."""
    most_ns: int | None
    """Of the process that spent most; `None` where the source knows it of no process."""
    operation: str
    """That took most of it; empty: unknown."""
    calls: int
    """Of all metadata operations."""


def metadata_time(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    limit, share, part = facts.thresholds.metadata_s, facts.thresholds.metadata_share, facts.thresholds.io_share
    spent, of_io = facts.totals.of("metadata").spent_ns, facts.totals.metadata_share
    if spent is None or of_io is None:
        return
    own: list[int] = facts.profile.processes["metadata_ns"].drop_nulls().to_list()
    beyond = sum(one > limit.value * 1e9 for one in own)
    is_large = of_io > share.value and spent > part.value * facts.totals.run_ns
    if not beyond and not is_large:
        return
    metadata = facts.on_storage.filter(pl.col("direction") == "metadata")
    times = {name: facts.spent_ns(name) or 0 for name in metadata["operation"].unique(maintain_order=True)}
    slowest = max(times, key=times.__getitem__, default="")
    found = facts.profile.files.filter(pl.col("kind").is_in(STORED_FILES), pl.col("metadata_ns") > 0)
    yield Finding(
        "warning",
        MetadataEvidence(
            thresholds=((limit,) if beyond else ()) + ((share, part) if is_large else ()),
            spent_ns=spent,
            share=of_io,
            processes=beyond,
            most_ns=max(own, default=None),
            operation=slowest if times.get(slowest) else "",
            calls=int(metadata["calls"].sum()),
        ),
        files(found.sort("metadata_ns", "file", descending=[True, False])["file"]),
    )

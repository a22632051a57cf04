"""Files that are looked for where they are not: each failed open or stat is a question to the metadata server.

Most come from search paths: of programs (`PATH`), libraries (`LD_LIBRARY_PATH`), Python modules.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence, ProfileFacts, files
from ioassay.analysis.profile.totals import directory_of, known_total

_LOOKUPS = ("open", "stat", "list")

MOST_DIRECTORIES = 5
"""That the evidence names."""


@dataclass(frozen=True)
class SearchEvidence(ProfileEvidence):
    """Lookups that failed."""

    kind: ClassVar[str] = "failed-lookups"
    failed: int
    lookups: int
    directories: tuple[tuple[str, int], ...]
    """Those with most, and how many failed in each."""
    names: int
    """Different file names that were looked for in vain."""
    searched: int
    """Of these, such as were looked for in several directories."""


def failed_lookups(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    least, share = facts.thresholds.failed_calls, facts.thresholds.failed_share
    lookups = facts.stored.filter(pl.col("operation").is_in(_LOOKUPS), pl.col("failed").is_not_null())
    failed, every = int(lookups["failed"].sum()), int(lookups["calls"].sum())
    if failed <= least.value or failed <= share.value * every:
        return
    rows = lookups.filter(pl.col("failed") > 0).group_by("file", "path").agg(pl.col("failed").sum())
    paths = rows.sort("failed", "path", descending=[True, False])
    named = paths.with_columns(
        directory=pl.col("path").map_elements(directory_of, return_dtype=pl.String),
        name=pl.col("path").map_elements(posixpath.basename, return_dtype=pl.String),
    )
    directories = named.group_by("directory").agg(pl.col("failed").sum())
    top = directories.sort("failed", "directory", descending=[True, False]).head(MOST_DIRECTORIES)
    searched = named.group_by("name").agg(pl.col("directory").n_unique())
    yield Finding(
        "notice",
        SearchEvidence(
            thresholds=(least, share),
            spent_ns=known_total(
                [
                    facts.spent_ns(operation, failed)
                    for operation, failed in lookups.group_by("operation").agg(pl.col("failed").sum()).iter_rows()
                ]
            ),
            failed=failed,
            lookups=every,
            directories=tuple(top.iter_rows()),
            names=searched.height,
            searched=int((searched["directory"] > 1).sum()),
        ),
        files(paths["file"]),
    )

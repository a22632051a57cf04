"""Many small requests: each costs a round trip to the servers, or a call for bytes that the page cache has.

Drishti's rules P05 and P06, of shared files P15 and P16, where small writes also contend for locks.
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
class SmallRequestEvidence(ProfileEvidence):
    """Requests below a size, in one direction."""

    kind: ClassVar[str] = "small-requests"
    direction: str
    shared_only: bool
    """Of files that several processes use."""
    small: int
    requests: int
    common_bytes: int | None
    """The size of most of the small ones, where it is known."""
    consecutive_share: float | None
    """Of the requests on these files, those that began where the last one ended; `None`: unknown."""
    files: int
    small_files: int
    """Of these, such as are smaller than the limit themselves: nothing larger can be asked of them."""

    @property
    def share(self) -> float:
        """Of all requests."""
        return self.small / self.requests


def small_requests(facts: ProfileFacts) -> Iterator[Finding]:
    """One for each direction: of shared files, or else of all."""
    for direction in REQUESTS:
        shared = _small(facts, direction, shared_only=True)
        every = _small(facts, direction, shared_only=False)
        yield from filter(None, [shared or every])


def _small(facts: ProfileFacts, direction: str, *, shared_only: bool) -> Finding | None:
    limit, share, least = (
        facts.thresholds.limit("small_request_bytes", direction),
        facts.thresholds.small_requests_share,
        facts.thresholds.small_requests,
    )
    of_direction = pl.col("operation").is_in(REQUESTS[direction])
    sizes = facts.sizes.filter(of_direction, (pl.col("processes") > 1) | (not shared_only))
    # Sizes of other sources may end with the limit itself.
    small = sizes.filter(pl.col("begin_bytes") < limit.value, pl.col("end_bytes") <= limit.value + 1)
    by_file = small.group_by("file").agg(pl.col("calls").sum()).sort("calls", "file", descending=[True, False])
    count, requests = int(small["calls"].sum()), int(sizes["calls"].sum())
    if count <= least.value or count <= share.value * requests:
        return None
    own = facts.stored.filter(of_direction).join(by_file.select("file", small="calls"), on="file")
    consecutive = own["consecutive"].drop_nulls()
    common = (
        facts.profile.common_sizes.filter(of_direction, pl.col("bytes") > 0, pl.col("bytes") < limit.value)
        .join(by_file.select("file"), on="file", how="semi")
        .group_by("bytes")
        .agg(pl.col("calls").sum())
        .sort("calls", "bytes", descending=True)
    )
    mostly_small = own.filter(2 * pl.col("small") >= pl.col("calls"))
    return Finding(
        "warning",
        SmallRequestEvidence(
            thresholds=(limit, share, least),
            spent_ns=known_total(mostly_small["duration_ns"]),
            direction=direction,
            shared_only=shared_only,
            small=count,
            requests=requests,
            common_bytes=common["bytes"][0] if common.height else None,
            consecutive_share=int(consecutive.sum()) / max(1, int(own["calls"].sum())) if len(consecutive) else None,
            files=by_file.height,
            small_files=own.filter(pl.col("end_bytes") <= limit.value)["file"].n_unique(),
        ),
        files(by_file["file"]),
    )

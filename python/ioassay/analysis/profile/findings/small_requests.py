"""Many small requests: each costs a round trip to the servers, or a system call for cached bytes.

Drishti's rules P05 and P06; for shared files P15 and P16, where small writes also contend for locks.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    less,
    profile_finding,
)
from ioassay.analysis.profile.totals import REQUESTS, known_total
from ioassay.profiles.model import Direction
from ioassay.text import format


@dataclass(frozen=True)
class SmallRequestEvidence(DirectionEvidence):
    """Requests below a size, in one direction."""

    kind: ClassVar[str] = "small-requests"
    shared_only: bool
    """True if they are on files that several processes use."""
    by_ranks: bool
    """True if the processes are ranks of an MPI job."""
    small: int
    requests: int
    common_bytes: int | None
    """The most frequent size of the small ones, if known."""
    consecutive_share: float | None
    """Share of the requests on these files that began at the end of the previous one; `None`: unknown."""
    files: int
    small_files: int
    """Files among them that are smaller than the limit, so larger requests are impossible."""

    @property
    def share(self) -> float:
        """Share of all requests."""
        return self.small / self.requests


def small_requests(facts: ProfileFacts) -> Iterator[Finding]:
    """For each direction, a warning about shared files and one about others if both exceed the limits by themselves;
    otherwise one about all of them.
    """
    for direction in REQUESTS:
        rows = facts.causes.get(("small-requests", direction))
        if rows is None:
            continue
        every = facts.requests(direction)
        is_shared = pl.col("processes").fill_null(1) > 1
        shared = rows.filter(is_shared)
        requests, of_shared = int(every["calls"].sum()), int(every.filter(is_shared)["calls"].sum())
        if not _exceeds(facts, shared, of_shared):
            yield _finding(facts, direction, rows, requests, shared_only=False)
            continue
        yield _finding(facts, direction, shared, of_shared, shared_only=True)
        alone = rows.filter(~is_shared)
        if _exceeds(facts, alone, requests):
            yield _finding(facts, direction, alone, requests - of_shared, shared_only=False)


def _exceeds(facts: ProfileFacts, rows: pl.DataFrame, requests: int) -> bool:
    share, least = facts.thresholds.small_requests_share.value, facts.thresholds.small_requests.value
    return bool(rows["small"].sum() > max(share * requests, least))


def _finding(
    facts: ProfileFacts, direction: Direction, rows: pl.DataFrame, requests: int, *, shared_only: bool
) -> Finding:
    limits = facts.thresholds
    limit = limits.limit("small_request_bytes", direction)
    small, calls, moved = (int(rows[name].sum()) for name in ("small", "calls", "bytes"))
    in_small = pl.col("duration_ns") * (pl.col("small") / pl.col("calls").clip(1)).clip(0, 1)
    spent = known_total(rows.select(in_small.round(0))["duration_ns"])
    known = rows["consecutive"].drop_nulls()
    common = (
        facts.profile.common_sizes.filter(pl.col("bytes") > 0, pl.col("bytes") < limit.value)
        .filter(pl.col("operation").is_in(REQUESTS[direction]))
        .join(rows.select("file"), on="file", how="semi")
        .group_by("bytes")
        .agg(pl.col("calls").sum())
        .sort("calls", "bytes", descending=True)
    )
    return profile_finding(
        "warning",
        SmallRequestEvidence(
            thresholds=(limit, limits.small_requests_share, limits.small_requests),
            spent_ns=spent,
            saves_ns=_saves(spent, max(rows.height, moved / limit.value), small, moved),
            symptoms=symptoms(facts, "small-requests", direction, rows),
            direction=direction,
            shared_only=shared_only,
            by_ranks=facts.profile.processes["rank"].drop_nulls().n_unique() > 1,
            small=small,
            requests=requests,
            common_bytes=common["bytes"][0] if common.height else None,
            consecutive_share=min(1.0, int(known.sum()) / max(1, calls)) if len(known) else None,
            files=rows.height,
            small_files=rows.filter(pl.col("size_bytes") <= limit.value).height,
        ),
        files(rows.sort("small", "file", descending=[True, False])["file"]),
        _message,
    )


def _saves(spent_ns: int | None, needed: float, small: int, moved_bytes: int) -> int | None:
    """Savings if a large request takes as long as a small one, but not less than copying its bytes."""
    fewer, copied = less(spent_ns, needed, small), beyond_copying(spent_ns, moved_bytes)
    return None if fewer is None or copied is None else min(fewer, copied)


def _message(evidence: SmallRequestEvidence) -> Message:
    of_shared = " of shared files" if evidence.shared_only else ""
    limit = format.size(evidence.thresholds[0].value)
    usual = "" if evidence.common_bytes is None else f", most often {format.size(evidence.common_bytes)}"
    details = ""
    is_in_order = evidence.consecutive_share is None or evidence.consecutive_share >= _IN_ORDER
    if evidence.consecutive_share is not None:
        details = f"{format.share(evidence.consecutive_share)} of them begin where the last one ended."
    if evidence.shared_only and evidence.by_ranks:
        remedy = "Use collective MPI-IO, or gather requests in the application, so that each covers whole stripes."
    elif evidence.shared_only and evidence.direction == "write":
        remedy = f"Gather requests in a buffer of {limit} or more, or have one process write for all."
    elif not is_in_order and evidence.direction == "read":
        remedy = f"Read {limit} or more at once and pick out of it, or store together what is read together."
    elif not is_in_order:
        remedy = f"Sort records and write {limit} or more at once, or store together what is written together."
    else:
        remedy = f"Gather requests in a buffer of {limit} or more."
    return Message(
        f"{format.share(evidence.share)} of the {evidence.direction} requests{of_shared} are smaller than {limit} "
        f"({format.count(evidence.small)} of {format.count(evidence.requests)}{usual}).",
        remedy,
        details,
    )


_IN_ORDER = 0.5
"""Share of consecutive requests above which a buffer gathers them."""

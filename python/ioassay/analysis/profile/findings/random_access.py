"""Transfers that go back in their file: read-ahead fetches unneeded data, and disks seek.

Drishti's rules P11 and P13. A transfer is random if it begins before the end of the previous one of its thread; the
first one after each open is not. Files no larger than a small request are not judged, because they have hardly any
order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ioassay.analysis.finding import Finding, Message
from ioassay.analysis.profile.findings.causes import symptoms
from ioassay.analysis.profile.findings.profile_facts import (
    DirectionEvidence,
    ProfileFacts,
    beyond_copying,
    files,
    profile_finding,
)
from ioassay.analysis.profile.totals import REQUESTS, known_total
from ioassay.text import format

_BACKWARD = 0.9
"""Share of requests that go back above which a file is read backward; in random order, half of them do."""


@dataclass(frozen=True)
class RandomEvidence(DirectionEvidence):
    """Random transfers in one direction."""

    kind: ClassVar[str] = "random-access"
    random: int
    requests: int
    files: int
    is_backward: bool
    """True if nearly all go back: the files are read from their end to their beginning."""


def random_access(facts: ProfileFacts) -> Iterator[Finding]:
    """A warning for each direction."""
    least = facts.thresholds.random_requests
    for direction in REQUESTS:
        rows = facts.causes.get(("random-access", direction))
        if rows is None:
            continue
        share, spent = facts.thresholds.limit("random_share", direction), known_total(rows["duration_ns"])
        count, calls = int(rows["random"].sum()), int(rows["calls"].sum())
        yield profile_finding(
            "warning",
            RandomEvidence(
                thresholds=(share, least),
                spent_ns=spent,
                saves_ns=beyond_copying(spent, known_total(rows["bytes"])),
                symptoms=symptoms(facts, "random-access", direction, rows),
                direction=direction,
                random=count,
                requests=int(facts.requests(direction)["calls"].sum()),
                files=rows.height,
                is_backward=count >= _BACKWARD * calls,
            ),
            files(rows.sort("random", "file", descending=[True, False])["file"]),
            _message,
        )


def _message(evidence: RandomEvidence) -> Message:
    share = format.share(evidence.random / evidence.requests)
    return Message(
        f"{share} of the {evidence.direction} requests go back in their file "
        f"({format.count(evidence.random)} of {format.count(evidence.requests)}, "
        f"{format.count(evidence.files, 'file')}).",
        _random_remedy(evidence),
        "Nearly all go back: the file is processed from its end." if evidence.is_backward else "",
    )


def _random_remedy(evidence: RandomEvidence) -> str:
    if evidence.is_backward:
        verb = "Read" if evidence.direction == "read" else "Write"
        return f"{verb} in ascending order and in large blocks; reverse them in memory."
    if evidence.direction == "read":
        return "Sort requests by offset, or keep such files on flash; turn read-ahead off for them (POSIX_FADV_RANDOM)."
    return "Sort requests by offset, or write to a node-local disk first."

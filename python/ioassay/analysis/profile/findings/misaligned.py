"""Transfers that begin within a block of the file system, which must read the block before it writes it, locks two
blocks, or refuses direct I/O.

Drishti's rule P08. The block is that of the file system (`st_blksize`). A read at the end of its file does not count.
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
from ioassay.analysis.profile.thresholds import Threshold
from ioassay.analysis.profile.totals import REQUESTS, known_total
from ioassay.text import format


@dataclass(frozen=True)
class MisalignedEvidence(DirectionEvidence):
    """Misaligned transfers in one direction."""

    kind: ClassVar[str] = "misaligned"
    misaligned: int
    requests: int
    block_bytes: int
    """Block of the file system with most of them."""
    files: int
    has_whole_blocks: bool
    """True if most of them are whole blocks long, so only their begins are wrong."""


def misaligned(facts: ProfileFacts) -> Iterator[Finding]:
    """A finding for each direction."""
    share, least = facts.thresholds.misaligned_share, facts.thresholds.small_requests
    for direction in REQUESTS:
        cause_rows = facts.causes.get(("misaligned", direction))
        if cause_rows is None:
            continue
        rows = cause_rows.sort("misaligned", "file", descending=[True, False])
        block, spent = int(rows["block_bytes"][0]), known_total(rows["duration_ns"])
        also = symptoms(facts, "misaligned", direction, rows)
        yield profile_finding(
            "warning" if any(symptom.kind == "small-requests" for symptom in also) else "notice",
            MisalignedEvidence(
                thresholds=(share, least, Threshold("block_bytes", block, "file system", "st_blksize")),
                spent_ns=spent,
                saves_ns=beyond_copying(spent, known_total(rows["bytes"])),
                symptoms=also,
                direction=direction,
                misaligned=int(rows["misaligned"].sum()),
                requests=int(facts.requests(direction)["calls"].sum()),
                block_bytes=block,
                files=rows.height,
                has_whole_blocks=2 * rows["whole_blocks"].sum() >= rows["calls"].sum(),
            ),
            files(rows["file"]),
            _message,
        )


def _message(evidence: MisalignedEvidence) -> Message:
    block, share = format.size(evidence.block_bytes), format.share(evidence.misaligned / evidence.requests)
    return Message(
        f"{share} of the {evidence.direction} requests do not begin at a "
        f"multiple of the file system's block, {block} ({format.count(evidence.misaligned)} of "
        f"{format.count(evidence.requests)}).",
        f"Align records and headers to {block}; with HDF5, use H5Pset_alignment.",
        "Most are whole blocks long: what stands before them shifts them." if evidence.has_whole_blocks else "",
    )

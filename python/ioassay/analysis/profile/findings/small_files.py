"""Files that are smaller than a request should be: opening each takes longer than moving its bytes. They are many, or a
few that are reopened again and again, such as a log to which many processes append lines.

Drishti's rules P05 and P06 count their requests as small ones, but no buffer can make them larger.
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
    files,
    less,
    profile_finding,
)
from ioassay.analysis.profile.programs import file_tool
from ioassay.analysis.profile.totals import REQUESTS, known_total
from ioassay.text import format

_OF_SMALL_FILES = ("redundant-reads", "same-data")
"""Symptoms that are meaningful if a request is a whole file."""

_OFTEN = 10
"""Requests on a small file above which packing it with others is no remedy, because it is used again and again."""


@dataclass(frozen=True)
class SmallFileEvidence(DirectionEvidence):
    """Small files that are read or written whole."""

    kind: ClassVar[str] = "small-files"
    small: int
    """Requests on the small files."""
    requests: int
    """Requests on all files of the application."""
    moved_bytes: int
    files: int
    opens: int
    processes: int
    """The most processes that use one of the files."""
    is_again: bool
    """True if most requests are on files that are used again and again."""


def small_files(facts: ProfileFacts) -> Iterator[Finding]:
    """A warning for each direction. The time includes all calls on these files, also those that open them."""
    share, least = facts.thresholds.small_requests_share, facts.thresholds.small_requests
    for direction in REQUESTS:
        rows = facts.causes.get(("small-files", direction))
        if rows is None:
            continue
        limit = facts.thresholds.limit("small_request_bytes", direction)
        small, moved, opens = (int(rows[name].sum()) for name in ("small", "bytes", "opens"))
        moving, opening = known_total(rows["duration_ns"]), known_total(rows["metadata_ns"])
        packed = max(1.0, moved / limit.value)
        again = int(rows.filter(pl.col("calls") >= _OFTEN)["small"].sum())
        yield profile_finding(
            "warning",
            SmallFileEvidence(
                thresholds=(limit, share, least),
                spent_ns=known_total([moving, opening]),
                saves_ns=known_total([less(moving, packed, small), less(opening, packed, max(opens, rows.height))]),
                symptoms=tuple(
                    symptom
                    for symptom in symptoms(facts, "small-files", direction, rows)
                    if symptom.kind in _OF_SMALL_FILES
                ),
                tool=file_tool(facts.profile, rows["file"]),
                direction=direction,
                small=small,
                requests=int(facts.requests(direction)["calls"].sum()),
                moved_bytes=moved,
                files=rows.height,
                opens=opens,
                processes=int(rows["processes"].fill_null(1).max()),  # type: ignore[arg-type]
                is_again=2 * again >= small,
            ),
            files(rows["file"]),
            _message,
        )


def _message(evidence: SmallFileEvidence) -> Message:
    limit = format.size(evidence.thresholds[0].value)
    verb = "read" if evidence.direction == "read" else "written"
    opened = f", opened {format.count(evidence.opens, 'time')}" if evidence.opens > evidence.files else ""
    if evidence.is_again and evidence.processes > 1:
        opened += f" by {format.count(evidence.processes, 'process', 'processes')}"
    return Message(
        f"{format.count(evidence.files, 'file')} smaller than {limit} {'is' if evidence.files == 1 else 'are'} {verb} "
        f"with {format.count(evidence.small, 'request')} for {format.size(evidence.moved_bytes)}{opened}: "
        f"{format.share(evidence.small / evidence.requests)} of the {evidence.direction} requests.",
        _small_file_remedy(evidence),
        "" if evidence.spent_ns is None else f"All calls on them take {format.duration(evidence.spent_ns)}.",
    )


def _small_file_remedy(evidence: SmallFileEvidence) -> str:
    if not evidence.is_again:
        return "Pack small files into few large ones (HDF5, tar, a database), or stage them on a node-local disk."
    match evidence.direction, evidence.processes > 1:
        case "write", True:
            return "Have one process gather what the others write (pipe, socket, MPI_Gather), and write it at once."
        case "write", False:
            return "Keep the file open, gather what is written in memory, and write it at once."
        case _, True:
            return "Read it once and pass it on (MPI_Bcast, arguments, environment), or stage it on each node."
    return "Read it once and keep it in memory."

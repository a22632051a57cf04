"""Much time, or very many calls, before the application starts its work: many processes search and read the same
modules and libraries. On a parallel file system, the metadata server answers each process separately.

Files of start-up are those of `startup`; rules about data leave them out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from ioassay.analysis.finding import Finding, Message
from ioassay.analysis.profile.findings.profile_facts import (
    ProfileEvidence,
    ProfileFacts,
    beyond_copying,
    files,
    profile_finding,
)
from ioassay.analysis.profile.findings.search_paths import (
    LOOKUPS,
    FailedLookups,
    failed_among,
    named_directories,
    searched_names,
)
from ioassay.text import format


@dataclass(frozen=True)
class StartupEvidence(ProfileEvidence):
    """Calls on files of interpreters, libraries and search paths."""

    kind: ClassVar[str] = "program-startup"
    share: float | None
    """Share of the time in I/O."""
    processes: int
    """Processes that use the most widely used file."""
    calls: int
    files: int
    runtimes: tuple[str, ...]
    """The runtimes of these files (Python, shared libraries, …), those with most calls first."""
    lookups: int
    """Opens, stats and listings."""
    failed_lookups: FailedLookups


def program_startup(facts: ProfileFacts) -> Iterator[Finding]:
    """At most one."""
    limits = facts.thresholds
    total = facts.startup_total
    rows = facts.stored.join(facts.startup, on="file")
    users = facts.profile.files.join(facts.startup, on="file").sort(
        "processes", "metadata_ns", "file", descending=[True, True, False], nulls_last=True
    )
    if rows.is_empty():
        return
    processes, spent = int(users["processes"].max() or 1), total.spent_ns  # type: ignore[arg-type]
    are_many = processes >= limits.reading_processes.value
    is_frequent = are_many and total.calls > limits.startup_calls.value
    is_slow = spent is not None and spent > max(
        limits.startup_s.value * 1e9, limits.io_share.value * facts.totals.run_ns
    )
    if not is_frequent and not is_slow:
        return
    exceeded = ((limits.reading_processes, limits.startup_calls) if is_frequent else ()) + (
        (limits.startup_s, limits.io_share) if is_slow else ()
    )
    io_ns = facts.totals.io_ns
    yield profile_finding(
        "warning" if are_many and is_slow else "notice",
        StartupEvidence(
            exceeded,
            spent,
            saves_ns=beyond_copying(spent, total.read_bytes),
            share=None if spent is None or not io_ns else min(1.0, spent / io_ns),
            processes=processes,
            calls=total.calls,
            files=total.files,
            runtimes=total.runtimes,
            lookups=int(rows.filter(pl.col("operation").is_in(LOOKUPS))["calls"].sum()),
            failed_lookups=failed_among(rows),
        ),
        files(users["file"]),
        _message,
    )


def _message(evidence: StartupEvidence) -> Message:
    spent = "" if evidence.spent_ns is None else f" and {format.duration(evidence.spent_ns)}"
    part = "" if evidence.share is None else f", {format.share(evidence.share)} of the time in I/O"
    failed = evidence.failed_lookups
    details = ""
    if failed.count:
        searched = searched_names(failed.searched, failed.names)
        details = (
            f"{format.count(failed.count)} of {format.count(evidence.lookups, 'lookup')} fail, most in "
            f"{named_directories(failed.directories)}. {searched}"
        )
    search = "shorten search paths (PATH, PYTHONPATH, LD_LIBRARY_PATH; python -I)"
    images = (
        "Keep the software in one file that each node mounts (container, squashfs), or copy it to a node-local disk"
    )
    is_searching = 2 * failed.count >= evidence.lookups
    remedy = f"{search[0].upper()}{search[1:]}. {images}" if is_searching else f"{images}; {search}"
    return Message(
        f"Programs spend {format.count(evidence.calls, 'call')}{spent}{part} on starting up "
        f"({', '.join(evidence.runtimes[:_MOST_RUNTIMES])}): {format.count(evidence.files, 'file')}, which up to "
        f"{format.count(evidence.processes, 'process uses', 'processes use')}.",
        f"{remedy}{'; with many processes, use Spindle' if evidence.processes > 1 else ''}.",
        details.strip(),
    )


_MOST_RUNTIMES = 3
"""The most runtimes in a sentence."""

"""What Darshan's logs do not say, in sentences for the reader of a report.

Every column that is null for a reason of the source has its sentence here. Not: what a damaged log lost (`Loss`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ioassay.profiles.darshan.log import TRACED, Log

UNCOUNTED = frozenset(
    {"close", "list", "create", "remove", "truncate", "attribute", "lock", "advise"}
    | {"copy from", "copy to", "submit read", "submit write"}
    | {"MPI non-blocking collective read", "MPI non-blocking collective write"}
)
"""Operations for which Darshan has no counter."""

_ALWAYS = (
    "Darshan counts only calls that succeeded; failed calls and their errors are unknown.",
    "Darshan does not count close, unlink, mkdir, truncate, directory listings, locks, copy_file_range, sendfile, "
    "splice and io_uring, nor the bytes that these move.",
    "Darshan counts calls of mmap, not what maps move, and keeps nothing of what the kernel counts of a process.",
    "Darshan does not count non-blocking collective calls of MPI-IO (MPI_File_iread_all and its like).",
    "Darshan 3.5 and older do not count stat and fstat of programs built against glibc 2.33 or newer.",
    "Darshan does not record pipes, sockets, and, unless it is configured to, files below /etc, /dev, /usr, /bin, "
    "/boot, /lib, /opt, /sbin, /sys, /proc and /var.",
    "Darshan adds up the calls of all threads of a process, and counts time once in which several were in calls on one "
    "file.",
    "Darshan adds the time of fsync and fdatasync to that of writes.",
    "Darshan has times of the first open and the last close of each file, of no other metadata call.",
    "Darshan does not record the size of a file when it was opened, the flags of opens, and strides of reads apart "
    "from those of writes.",
)

_USED = ("POSIX", "STDIO", "MPI-IO", *TRACED, "HEATMAP", "LUSTRE")


@dataclass(frozen=True)
class Gaps:
    """What is missing in a profile, as was seen while it was made."""

    traced: frozenset[str]
    """The modules all of whose calls DXT traced in every log."""
    timed: frozenset[str]
    """The modules of which every log says when bytes were moved."""
    has_shared: bool
    """Some records are of all processes together, and no trace has the calls of each."""
    has_mixed_common: bool
    has_mixed_alignment: bool
    has_mixed_collective: bool
    has_nodes: bool
    moved: frozenset[str]
    """The modules that moved bytes at all."""


def unknowns(logs: Sequence[Log], gaps: Gaps) -> tuple[str, ...]:
    """All sentences of a profile."""
    return tuple(_unknowns(logs, gaps))


def _unknowns(logs: Sequence[Log], gaps: Gaps) -> Iterator[str]:
    yield from _of_jobs(logs)
    if not any(rows.height for log in logs for rows in log.records.values()):
        yield "The logs have no record of any file: either the program used none, or none that Darshan records."
    yield from _ALWAYS
    if untraced := sorted(gaps.moved - gaps.traced):
        yield (
            f"Durations of single calls of {_and(untraced)}, and their calls and times over time, are unknown: DXT did "
            "not trace all of them."
        )
    if untimed := sorted(gaps.moved - gaps.timed):
        yield (
            f"When {_and(untimed)} moved bytes is unknown: not every log has HEATMAP (Darshan 3.4 or newer) or a "
            "complete DXT."
        )
    if gaps.has_shared:
        yield (
            "Darshan adds up all processes of an MPI job in a file that they share. Of these it names the fastest and "
            "the slowest: their bytes and times stand for the least and the most of a process. Sums of a process lack "
            "such files where these are less than 1 % of all, else they are unknown."
        )
    if gaps.has_mixed_common:
        yield "In files that were read and written, common sizes are those of reads and writes together."
    if gaps.has_mixed_alignment:
        yield "In files that were read and written, whether reads or writes were misaligned is unknown."
    if gaps.has_mixed_collective:
        yield (
            "In files with several kinds of calls of MPI-IO (independent, collective, non-blocking, split), bytes, "
            "sizes and times of each kind are unknown."
        )
    if not gaps.has_nodes:
        yield "The node of a process is unknown: only DXT records it."
    if others := sorted({name for log in logs for name in log.modules} - set(_USED)):
        yield f"ioassay does not read the modules {_and(others)} of these logs."
    if any(log.form == "text" for log in logs):
        yield from _of_texts(logs)


def _of_jobs(logs: Sequence[Log]) -> Iterator[str]:
    for log in logs:
        if log.is_merged:
            traced = ", and what DXT traced is left out" if set(log.modules) & set(TRACED) else ""
            yield (
                f"{log.path.name} was merged from logs of at least {log.job.processes} processes that were no ranks of "
                f"a job. It has the command of the first alone, from the first beginning to the last end; when each "
                f"ran, and which of them did what, is unknown{traced}. The logs that it was merged from say more."
            )
    jobs = sorted({log.job.job_id for log in logs})
    if len(jobs) > 1:
        shown = ", ".join(map(str, jobs[:5])) + (", …" if len(jobs) > 5 else "")
        yield (
            f"The logs name {len(jobs)} jobs ({shown}). They may be one: without a scheduler, Darshan writes the "
            "number of the process for that of the job."
        )


def _of_texts(logs: Sequence[Log]) -> Iterator[str]:
    yield "darshan-parser prints neither the fraction of the second in which a job began nor times below 1 µs."
    if traced := sorted({name for log in logs if log.form == "text" for name in log.modules if name in TRACED}):
        yield f"darshan-parser does not print the calls of {_and(traced)}: give the log itself."


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

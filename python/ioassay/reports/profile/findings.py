"""What each finding of a profile says: what was found, its numbers, and what to do. Numbers come with the evidence;
here they get their units.

A kind of finding has one function here, registered for the type of its evidence. Its first sentence stands alone where
there is no room for more.
"""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple

from ioassay.analysis.finding import Evidence, FileRow, ProcessRow, Reference, StepRow
from ioassay.analysis.profile.findings.aggregators import AggregatorEvidence
from ioassay.analysis.profile.findings.blocking_mpi_io import BlockingEvidence
from ioassay.analysis.profile.findings.cached_reads import CachedReadEvidence
from ioassay.analysis.profile.findings.files_between_steps import (
    DeletedUnreadEvidence,
    HandOverEvidence,
    IdleFilesEvidence,
)
from ioassay.analysis.profile.findings.imbalance import SizeImbalanceEvidence, TimeImbalanceEvidence
from ioassay.analysis.profile.findings.mapped_reads import MappedReadEvidence
from ioassay.analysis.profile.findings.metadata import MetadataEvidence
from ioassay.analysis.profile.findings.misaligned import MisalignedEvidence
from ioassay.analysis.profile.findings.no_collectives import NoCollectiveEvidence
from ioassay.analysis.profile.findings.phase_tails import TailEvidence
from ioassay.analysis.profile.findings.random_access import RandomEvidence
from ioassay.analysis.profile.findings.repeated_lookups import ReopenEvidence, RestatEvidence
from ioassay.analysis.profile.findings.repeated_reads import RedundantReadEvidence, SameDataEvidence
from ioassay.analysis.profile.findings.search_paths import SearchEvidence
from ioassay.analysis.profile.findings.small_requests import SmallRequestEvidence
from ioassay.analysis.profile.findings.stalls import StallEvidence
from ioassay.analysis.profile.findings.streams import StreamEvidence
from ioassay.analysis.profile.findings.sync_storm import SyncEvidence
from ioassay.analysis.profile.peers import Imbalance
from ioassay.reports import format
from ioassay.reports.document import Span


class Message(NamedTuple):
    """What a finding says."""

    headline: str
    remedy: str
    details: str = ""

    @property
    def text(self) -> str:
        """What was found."""
        return " ".join(filter(None, (self.headline, self.details)))


@singledispatch
def message(evidence: Evidence) -> Message:
    """The message of a finding."""
    raise TypeError(f"no sentence for {type(evidence).__name__}")


@message.register
def _(evidence: SmallRequestEvidence) -> Message:
    of = " of shared files" if evidence.shared_only else ""
    limit = format.size(evidence.thresholds[0].value)
    usual = "" if evidence.common_bytes is None else f", most often {format.size(evidence.common_bytes)}"
    details = []
    if evidence.consecutive_share is not None:
        details.append(f"{format.share(evidence.consecutive_share)} of them begin where the last one ended.")
    if evidence.small_files:
        details.append(f"{_of(evidence.small_files, evidence.files, 'file')} smaller than {limit} themselves.")
    mostly_small_files = 2 * evidence.small_files > evidence.files
    if mostly_small_files:
        remedy = "Pack small files into few large ones (HDF5, tar, a database), or stage them on a node-local disk."
    elif evidence.shared_only:
        remedy = "Use collective MPI-IO, or gather requests in the application, so that each covers whole stripes."
    else:
        remedy = f"Gather requests in a buffer of {limit} or more."
    return Message(
        f"{format.share(evidence.share)} of the {evidence.direction} requests{of} are smaller than {limit} "
        f"({format.count(evidence.small)} of {format.count(evidence.requests)}{usual}).",
        remedy,
        " ".join(details),
    )


@message.register
def _(evidence: MisalignedEvidence) -> Message:
    block = format.size(evidence.block_bytes)
    return Message(
        f"{_share(evidence.misaligned, evidence.requests)} of the {evidence.direction} requests do not begin at a "
        f"multiple of the file system's block, {block} ({format.count(evidence.misaligned)} of "
        f"{format.count(evidence.requests)}).",
        f"Align records and headers to {block}; with HDF5, use H5Pset_alignment.",
    )


@message.register
def _(evidence: RandomEvidence) -> Message:
    return Message(
        f"{_share(evidence.random, evidence.requests)} of the {evidence.direction} requests go back in their file "
        f"({format.count(evidence.random)} of {format.count(evidence.requests)}, "
        f"{format.count(evidence.files, 'file')}).",
        "Sort requests by offset, or keep such files on flash; turn read-ahead off for them (POSIX_FADV_RANDOM)."
        if evidence.direction == "read"
        else "Sort requests by offset, or write to a node-local disk first.",
    )


@message.register
def _(evidence: MappedReadEvidence) -> Message:
    came = (
        f"At least {format.size(evidence.fetched_bytes)} came from storage through maps "
        f"({format.count(evidence.files, 'file')})"
    )
    stage = "copy the file to memory or a node-local disk first"
    if evidence.cause == "network":
        return Message(
            f"{came} of a network file system: each fault on a page that is not in memory waits for the servers.",
            f"Read large blocks (read, pread) instead of mapping, or fetch before use (MAP_POPULATE, madvise with "
            f"MADV_WILLNEED); or {stage}.",
        )
    where = " of a network file system" if evidence.is_network else ""
    return Message(
        f"{came}{where} in scattered faults: most of the {format.size(evidence.extent_bytes)} that are mapped was not "
        "in memory at the end.",
        "Read the parts that are needed with pread, sorted by offset, several at a time; where the map stays, turn "
        f"read-ahead off for it (madvise with MADV_RANDOM); where most of it is used in the end, {stage}.",
    )


@message.register
def _(evidence: RedundantReadEvidence) -> Message:
    worst = "file" if evidence.files == 1 else f"worst of {format.count(evidence.files, 'file')}"
    return Message(
        f"{format.size(evidence.redundant_bytes)} of {format.size(evidence.read_bytes)} were read again by the process "
        "that had read them.",
        "Keep the data in memory, or read larger blocks so that their parts are used together.",
        f"The {worst} was read {format.significant(evidence.worst_times)} times.",
    )


@message.register
def _(evidence: SameDataEvidence) -> Message:
    files = "the same file" if evidence.files == 1 else f"the same {format.count(evidence.files, 'file')}"
    return Message(
        f"{format.count(evidence.readers, 'process', 'processes')} read {files} whole: "
        f"{format.size(evidence.read_bytes)} for {format.size(evidence.distinct_bytes)} of data.",
        "Read once and broadcast (MPI_Bcast), or stage the data on each node.",
    )


@message.register
def _(evidence: DeletedUnreadEvidence) -> Message:
    unrecorded = ""
    if evidence.unrecorded:
        processes = format.count(evidence.unrecorded, "process was", "processes were")
        unrecorded = f"{processes} not recorded and may have read them."
    return Message(
        f"{format.size(evidence.unread_bytes)} were written and deleted unread, of "
        f"{format.size(evidence.written_bytes)} written in all "
        f"({_files_with_time(evidence.files, evidence.spent_ns)}).",
        "Turn this output off, or write it to memory (tmpfs) or a node-local disk if a program insists on it.",
        unrecorded,
    )


@message.register
def _(evidence: HandOverEvidence) -> Message:
    often = "once" if evidence.handed_on == 1 else f"up to {evidence.handed_on} times, one step after another"
    place = "memory or a node-local disk" if evidence.same_node else "a burst buffer, or one node for both steps"
    removed = ""
    if evidence.removed_files:
        removed = f"{_of(evidence.removed_files, evidence.files, 'file')} removed in the end."
    return Message(
        f"Steps hand data on through files: {format.size(evidence.written_bytes)} were written and "
        f"{format.size(evidence.read_bytes)} of them read again by another step, {often} "
        f"({_files_with_time(evidence.files, evidence.spent_ns)}, {format.share(evidence.share)} of the steps' "
        "run time).",
        f"Pass it through a pipe, or keep the files in {place}.",
        removed,
    )


@message.register
def _(evidence: IdleFilesEvidence) -> Message:
    return Message(
        f"{format.size(evidence.idle_bytes)} between steps lay unused for up to "
        f"{format.duration(evidence.longest_s * 1e9)} before they were read ({format.count(evidence.files, 'file')}).",
        "Run the step that reads them right after the one that writes them: what is still in a cache costs no read.",
    )


@message.register
def _(evidence: CachedReadEvidence) -> Message:
    return Message(
        f"At least {_share(evidence.cached_bytes, evidence.read_bytes)} of the bytes read were in the page cache: a "
        f"read took {format.duration(evidence.mean_ns)} on average ({format.count(evidence.files, 'file')}).",
        "Drop the page cache before recording, if the reads of a first run are what matters.",
    )


@message.register
def _(evidence: TailEvidence) -> Message:
    worst = format.duration(evidence.longest_tail_s * 1e9)
    return Message(
        f"In {_of_phases(evidence)} few processes are left at the end: for {format.duration(evidence.tail_s * 1e9)} of "
        f"{format.duration(evidence.phases_s * 1e9)}.",
        "Check what these processes write last, and their nodes; distribute the data evenly.",
        f"The longest tail is {worst}, of the phase that begins at {format.duration(evidence.longest_start_s * 1e9)} "
        f"with {format.count(evidence.participants, 'process', 'processes')}.",
    )


@message.register
def _(evidence: SizeImbalanceEvidence) -> Message:
    one = evidence.imbalance
    verb, did = ("read", "read") if one.measure == "read_bytes" else ("write", "wrote")
    doers = {"read": "readers", "write": "writers"}[verb]
    return Message(
        f"{_peers(one)} do not {verb} equally much: {one.most_name} {did} {format.size(one.most)}, the median is "
        f"{format.size(one.median)}, the least {format.size(one.least)}.",
        f"Distribute the data evenly, or use more {doers} (MPI-IO hint cb_nodes) if a few are meant to {verb} for all.",
    )


@message.register
def _(evidence: TimeImbalanceEvidence) -> Message:
    one = evidence.imbalance
    return Message(
        f"{_peers(one)} do not spend equally long in I/O: {one.most_name} spent {format.duration(one.most)}, "
        f"{format.share(evidence.most_share)} of its run time; the median is {format.duration(one.median)}.",
        f"Check what {one.most_name} reads and writes alone, and its node.",
    )


@message.register
def _(evidence: MetadataEvidence) -> Message:
    most = f", most in {evidence.operation}" if evidence.operation else ""
    beyond = ""
    if evidence.processes:
        limit = format.duration(evidence.thresholds[0].value * 1e9)
        processes = format.count(evidence.processes, "process", "processes")
        beyond = f"{processes} spent more than {limit} on them; the most is {format.duration(evidence.most_ns)}."
    return Message(
        f"Metadata operations take {format.share(evidence.share)} of the time in I/O: "
        f"{format.duration(evidence.spent_ns)} in {format.count(evidence.calls, 'call')}{most}.",
        "Use fewer and larger files, keep them open, and list directories instead of looking each file up.",
        beyond,
    )


@message.register
def _(evidence: StreamEvidence) -> Message:
    return Message(
        f"{format.share(evidence.stream_bytes / evidence.moved_bytes)} of the bytes pass through streams (fread, "
        f"fwrite): {format.size(evidence.stream_bytes)}.",
        "Enlarge their buffer (setvbuf), or use read and write with large blocks.",
    )


@message.register
def _(evidence: NoCollectiveEvidence) -> Message:
    return Message(
        f"All {format.count(evidence.independent)} {evidence.direction}s of MPI-IO are independent, none is "
        "collective.",
        f"Use MPI_File_{evidence.direction}_all and its like where all ranks take part.",
    )


@message.register
def _(evidence: BlockingEvidence) -> Message:
    call = f"MPI_File_i{evidence.direction}"
    return Message(
        headline=f"All {evidence.calls:,} {evidence.direction}s of MPI-IO block: the ranks spend "
        f"{format.duration(evidence.spent_ns)} in them, {format.share(evidence.share)} of their run time.",
        details=f"This source does not count: {', '.join(evidence.uncounted)}." if evidence.uncounted else "",
        remedy=f"Begin the {evidence.direction}, compute, and wait for it later ({call}, {call}_all, MPI_Wait); with "
        "HDF5, use its asynchronous VOL connector.",
    )


@message.register
def _(evidence: AggregatorEvidence) -> Message:
    did = "read" if evidence.direction == "read" else "written"
    through = format.count(evidence.aggregators, "process", "processes")
    callers = format.count(evidence.participants, "process", "processes")
    return Message(
        headline=f"Collective {evidence.direction}s of {callers} on {evidence.nodes:,} nodes "
        f"go through {through}: {'fewer' if evidence.is_few else 'more'} than nodes.",
        details=f"{format.size(evidence.moved_bytes)} {did} so ({format.count(evidence.files, 'file')}).",
        remedy=f"Set the MPI-IO hint cb_nodes to {evidence.nodes}, one aggregator for each node; on Lustre, also try "
        "the number of the file's stripes.",
    )


@message.register
def _(evidence: SyncEvidence) -> Message:
    spent = "" if evidence.spent_ns is None else f", {format.duration(evidence.spent_ns)} in these calls"
    return Message(
        f"{format.count(evidence.syncs, 'call')} of fsync and its like, on average after "
        f"{format.size(evidence.written_bytes / evidence.syncs)} of writes "
        f"({format.count(evidence.files, 'file')}{spent}).",
        "Sync once after many writes; check whether each result has to survive a crash by itself.",
    )


@message.register
def _(evidence: ReopenEvidence) -> Message:
    return Message(
        f"{format.count(evidence.files, 'file is', 'files are')} opened again and again: "
        f"{format.count(evidence.calls, 'open')}, up to {format.significant(evidence.most_of_a_process)} of one file "
        "by each process.",
        "Keep files open between uses.",
    )


@message.register
def _(evidence: RestatEvidence) -> Message:
    return Message(
        f"{format.count(evidence.files, 'file is', 'files are')} looked up again and again: "
        f"{format.count(evidence.calls, 'stat')}, up to {format.significant(evidence.most_of_a_process)} of one file "
        "by each process.",
        "Keep what stat said, or wait for files with inotify or a message instead of asking for them.",
    )


@message.register
def _(evidence: SearchEvidence) -> Message:
    where = ", ".join(f"{directory} ({format.count(count)})" for directory, count in evidence.directories)
    searched = ""
    if evidence.searched:
        searched = f"{_of(evidence.searched, evidence.names, 'name')} looked for in several directories."
    return Message(
        f"{format.share(evidence.failed / evidence.lookups)} of the lookups fail: {format.count(evidence.failed)} of "
        f"{format.count(evidence.lookups)} opens, stats and listings, most in {where}.",
        "Shorten search paths (PATH, LD_LIBRARY_PATH, PYTHONPATH), or put the directories that answer first.",
        searched,
    )


@message.register
def _(evidence: StallEvidence) -> Message:
    return Message(
        f"I/O stalled: a call of {evidence.operation} took {format.duration(evidence.slowest_ns)}, where the median is "
        f"{format.duration(evidence.median_ns)}.",
        "Check what the storage, the network and other jobs did at that time.",
        f"Such calls are in {format.count(evidence.steps, 'step')} of the time line "
        f"({format.count(evidence.calls, 'call')} in all).",
    )


def reference(rests_on: Reference, paths: dict[int, str], processes: dict[int, str], shown: set[int]) -> Span:
    """How what a finding rests on is shown: files with a link to their row, where they have one."""
    match rests_on:
        case FileRow(file):
            return Span(paths[file], "code", anchor=f"file-{file}" if file in shown else "")
        case ProcessRow(process):
            return Span(processes[process])
        case StepRow(start_s, operation):
            return Span(f"{operation} at {format.duration(start_s * 1e9)}")
    raise TypeError(f"nothing shows {type(rests_on).__name__}")


def _of_phases(evidence: TailEvidence) -> str:
    if evidence.phases == 1:
        return "the phase of I/O"
    return f"{format.count(evidence.tails)} of {format.count(evidence.phases)} phases of I/O"


def _peers(one: Imbalance) -> str:
    if one.peers == "rank":
        return format.count(one.count, "rank")
    return format.count(one.count, "worker of one command", "workers of one command")


def _files_with_time(files: int, spent_ns: int | None) -> str:
    """`3 files, 1.2 s in these calls`."""
    return ", ".join(
        [format.count(files, "file"), *([f"{format.duration(spent_ns)} in these calls"] if spent_ns else [])]
    )


def _share(part: int, every: int) -> str:
    return format.share(part / every)


def _of(part: int, every: int, noun: str) -> str:
    """`3 of 7 files are`, `The file is`, `All 7 files are`."""
    if part == every:
        return f"The {noun} is" if every == 1 else f"All {format.count(every)} {noun}s are"
    return f"{format.count(part)} of {format.count(every)} {noun}s {'is' if part == 1 else 'are'}"

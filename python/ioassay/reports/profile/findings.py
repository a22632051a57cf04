"""What each finding of a profile says: what was found, its numbers, and what to do. Numbers come with the evidence;
here they get their units.

A kind of finding has one function here, registered for the type of its evidence. Its first sentence stands alone where
there is no room for more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import NamedTuple

from ioassay.analysis.finding import Evidence, FileRow, ProcessRow, Reference, StepRow
from ioassay.analysis.profile.findings.aggregators import AggregatorEvidence
from ioassay.analysis.profile.findings.blocking_mpi_io import BlockingEvidence
from ioassay.analysis.profile.findings.cached_reads import CachedReadEvidence
from ioassay.analysis.profile.findings.causes import Symptom
from ioassay.analysis.profile.findings.files_between_steps import (
    DeletedUnreadEvidence,
    HandOverEvidence,
    IdleFilesEvidence,
)
from ioassay.analysis.profile.findings.imbalance import SizeImbalanceEvidence, TimeImbalanceEvidence
from ioassay.analysis.profile.findings.mapped_reads import MappedReadEvidence
from ioassay.analysis.profile.findings.metadata import MetadataEvidence, MetadataGroup
from ioassay.analysis.profile.findings.misaligned import MisalignedEvidence
from ioassay.analysis.profile.findings.no_collectives import NoCollectiveEvidence
from ioassay.analysis.profile.findings.phase_tails import TailEvidence
from ioassay.analysis.profile.findings.profile_facts import ProfileEvidence
from ioassay.analysis.profile.findings.program_startup import StartupEvidence
from ioassay.analysis.profile.findings.random_access import RandomEvidence
from ioassay.analysis.profile.findings.repeated_lookups import ReopenEvidence, RestatEvidence
from ioassay.analysis.profile.findings.repeated_reads import RedundantReadEvidence, SameDataEvidence
from ioassay.analysis.profile.findings.search_paths import SearchEvidence
from ioassay.analysis.profile.findings.small_files import SmallFileEvidence
from ioassay.analysis.profile.findings.small_requests import SmallRequestEvidence
from ioassay.analysis.profile.findings.stalls import StallEvidence
from ioassay.analysis.profile.findings.streams import StreamEvidence
from ioassay.analysis.profile.findings.sync_storm import SyncEvidence
from ioassay.analysis.profile.findings.synchronous_writes import SynchronousWriteEvidence
from ioassay.analysis.profile.peers import Imbalance
from ioassay.analysis.profile.programs import FileTool
from ioassay.reports.document import Span
from ioassay.text import format
from ioassay.text.control_characters import escaped


class Message(NamedTuple):
    """What a finding says."""

    headline: str
    remedy: str
    details: str = ""

    @property
    def text(self) -> str:
        """What was found."""
        return " ".join(filter(None, (self.headline, self.details)))


def message(evidence: Evidence) -> Message:
    """The message of a finding."""
    own = _message(evidence)
    assert isinstance(evidence, ProfileEvidence)
    remedy = _TREE_REMEDIES[evidence.tool] if evidence.tool else own.remedy
    return own._replace(details=" ".join(filter(None, (own.details, *map(symptom, evidence.symptoms)))), remedy=remedy)


_TREE_REMEDIES: Mapping[FileTool, str] = {
    "copy": "Pack the tree into one file and copy that (tar, squashfs), or copy parts of it at the same time (dcp of "
    "mpiFileUtils, fpsync).",
    "archive": "Keep the tree as this one file: read from it where it lies (squashfs, ratarmount), or unpack it on a "
    "node-local disk; pack and unpack parts at the same time (dtar of mpiFileUtils).",
    "remove": "Remove parts of the tree at the same time (drm of mpiFileUtils, find with xargs -P), or keep such trees "
    "as one packed file (tar, squashfs).",
    "list": "Ask the file system's own catalogue instead of walking the tree (lfs find, mmapplypolicy, Robinhood, "
    "quotas), list names alone (ls without -l, find without tests of size and time), or walk parts of the tree at the "
    "same time (dwalk of mpiFileUtils).",
    "search": "Pack the tree into one file (tar, squashfs) and work on that, or copy that to a node-local disk; or "
    "work on parts of the tree at the same time (xargs -P).",
    "version control": "Keep the work tree on a node-local disk, or have fewer files in it (git clone --depth 1, git "
    "sparse-checkout, git gc); let git remember what it saw (core.untrackedCache, core.fsmonitor).",
}
"""For programs whose way with files nobody will change."""


def savings(evidence: Evidence, io_ns: int | None) -> str:
    """What mending it saves, of the time in I/O; empty where there is nothing to mend."""
    assert isinstance(evidence, ProfileEvidence)
    if evidence.saves_ns is None:
        return "How much that saves is unknown."
    if not evidence.saves_ns:
        return ""
    of_io = "" if io_ns is None else f" of {format.duration(io_ns)} in I/O"
    return f"Saves at most {format.duration(evidence.saves_ns)}{of_io}."


def symptom(one: Symptom) -> str:
    """What else the requests of a finding are."""
    limit = format.size(one.limit_bytes)
    match one.kind:
        case "small-requests":
            return f"{_share(one.count, one.of)} of these requests are smaller than {limit}."
        case "random-access":
            return f"{_share(one.count, one.of)} of these requests go back in their file."
        case "misaligned":
            return f"{_share(one.count, one.of)} of these requests do not begin at a multiple of {limit}."
        case "redundant-reads":
            return (
                f"{format.size(one.count)} of {format.size(one.of)} were read again by the process that had read them."
            )
        case "same-data":
            processes = format.count(one.count, "process", "processes")
            return f"{processes} read {'the file' if one.of == 1 else format.count(one.of, 'file')} whole."
    raise TypeError(f"no sentence for the symptom {one.kind}")


@singledispatch
def _message(evidence: Evidence) -> Message:
    raise TypeError(f"no sentence for {type(evidence).__name__}")


@_message.register
def _(evidence: SmallRequestEvidence) -> Message:
    of = " of shared files" if evidence.shared_only else ""
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
        f"{format.share(evidence.share)} of the {evidence.direction} requests{of} are smaller than {limit} "
        f"({format.count(evidence.small)} of {format.count(evidence.requests)}{usual}).",
        remedy,
        details,
    )


@_message.register
def _(evidence: SmallFileEvidence) -> Message:
    limit = format.size(evidence.thresholds[0].value)
    did = "read" if evidence.direction == "read" else "written"
    opened = f", opened {format.count(evidence.opens, 'time')}" if evidence.opens > evidence.files else ""
    if evidence.is_again and evidence.processes > 1:
        opened += f" by {format.count(evidence.processes, 'process', 'processes')}"
    return Message(
        f"{format.count(evidence.files, 'file')} smaller than {limit} {'is' if evidence.files == 1 else 'are'} {did} "
        f"with {format.count(evidence.small, 'request')} for {format.size(evidence.moved_bytes)}{opened}: "
        f"{_share(evidence.small, evidence.requests)} of the {evidence.direction} requests.",
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


@_message.register
def _(evidence: MisalignedEvidence) -> Message:
    block = format.size(evidence.block_bytes)
    return Message(
        f"{_share(evidence.misaligned, evidence.requests)} of the {evidence.direction} requests do not begin at a "
        f"multiple of the file system's block, {block} ({format.count(evidence.misaligned)} of "
        f"{format.count(evidence.requests)}).",
        f"Align records and headers to {block}; with HDF5, use H5Pset_alignment.",
        "Most are whole blocks long: what stands before them shifts them." if evidence.has_whole_blocks else "",
    )


@_message.register
def _(evidence: RandomEvidence) -> Message:
    return Message(
        f"{_share(evidence.random, evidence.requests)} of the {evidence.direction} requests go back in their file "
        f"({format.count(evidence.random)} of {format.count(evidence.requests)}, "
        f"{format.count(evidence.files, 'file')}).",
        _random_remedy(evidence),
        "Nearly all go back: the file is processed from its end." if evidence.is_backward else "",
    )


@_message.register
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
        f"{came}{where}, a part of the {format.size(evidence.extent_bytes)} that are mapped: most was not in memory at "
        "the end.",
        "Read the parts that are needed in large blocks (pread), or fetch them before use (madvise with "
        "MADV_WILLNEED). Where they are scattered, read them sorted by offset, several at a time, or turn read-ahead "
        f"off for the map (MADV_RANDOM); where most of it is used in the end, {stage}.",
        "Whether that part is in one piece or scattered is unknown.",
    )


def _random_remedy(evidence: RandomEvidence) -> str:
    if evidence.is_backward:
        verb = "Read" if evidence.direction == "read" else "Write"
        return f"{verb} in ascending order and in large blocks; reverse them in memory."
    if evidence.direction == "read":
        return "Sort requests by offset, or keep such files on flash; turn read-ahead off for them (POSIX_FADV_RANDOM)."
    return "Sort requests by offset, or write to a node-local disk first."


@_message.register
def _(evidence: RedundantReadEvidence) -> Message:
    worst = "file" if evidence.files == 1 else f"worst of {format.count(evidence.files, 'file')}"
    return Message(
        f"{format.size(evidence.redundant_bytes)} of {format.size(evidence.read_bytes)} were read again by the process "
        "that had read them.",
        "Keep the data in memory, or read larger blocks so that their parts are used together.",
        f"The {worst} was read {format.significant(evidence.worst_times)} times.",
    )


@_message.register
def _(evidence: SameDataEvidence) -> Message:
    files = "the same file" if evidence.files == 1 else f"the same {format.count(evidence.files, 'file')}"
    return Message(
        f"{format.count(evidence.readers, 'process', 'processes')} read {files} whole: "
        f"{format.size(evidence.read_bytes)} for {format.size(evidence.distinct_bytes)} of data.",
        "Read once and broadcast (MPI_Bcast), or stage the data on each node.",
    )


@_message.register
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


@_message.register
def _(evidence: HandOverEvidence) -> Message:
    often = "once" if evidence.handed_on == 1 else f"up to {evidence.handed_on} times, one step after another"
    place = "memory or a node-local disk" if evidence.same_node else "a burst buffer, or one node for both steps"
    details = []
    if evidence.mapped.most:
        ends = format.size(evidence.mapped.least), format.size(evidence.mapped.most)
        details.append(f"Maps read {format.span(*ends)} of them, which is in none of these times.")
    if evidence.removed_files:
        details.append(f"{_of(evidence.removed_files, evidence.files, 'file')} removed in the end.")
    return Message(
        f"Steps hand data on through files: {format.size(evidence.written_bytes)} were written and "
        f"{format.size(evidence.read_bytes)} of them read again by another step, {often} "
        f"({_files_with_time(evidence.files, evidence.spent_ns)}, {format.share(evidence.share)} of the steps' "
        "run time).",
        f"Pass it through a pipe, or keep the files in {place}.",
        " ".join(details),
    )


@_message.register
def _(evidence: IdleFilesEvidence) -> Message:
    return Message(
        f"{format.size(evidence.idle_bytes)} between steps lay unused for up to "
        f"{format.duration(evidence.longest_s * 1e9)} before they were read ({format.count(evidence.files, 'file')}).",
        "Run the step that reads them right after the one that writes them: what is still in a cache costs no read.",
    )


@_message.register
def _(evidence: CachedReadEvidence) -> Message:
    share = _share(evidence.cached_bytes, evidence.read_bytes)
    amount = "Nearly all" if share == format.share(1.0) else f"At least {share}"
    return Message(
        f"{amount} of the bytes read were in the page cache: a read took "
        f"{format.duration(evidence.mean_ns)} on average ({format.count(evidence.files, 'file')}).",
        "Drop the page cache before recording, if the reads of a first run are what matters.",
    )


@_message.register
def _(evidence: TailEvidence) -> Message:
    worst = format.duration(evidence.longest_tail_s * 1e9)
    return Message(
        f"In {_of_phases(evidence)} few processes are left at the end: for {format.duration(evidence.tail_s * 1e9)} of "
        f"{format.duration(evidence.phases_s * 1e9)}.",
        "Check what these processes write last, and their nodes; distribute the data evenly.",
        f"The longest tail is {worst}, of the phase that begins at {format.duration(evidence.longest_start_s * 1e9)} "
        f"with {format.count(evidence.participants, 'process', 'processes')}.",
    )


@_message.register
def _(evidence: SizeImbalanceEvidence) -> Message:
    one = evidence.imbalance
    verb, did = ("read", "read") if one.measure == "read_bytes" else ("write", "wrote")
    doers = {"read": "readers", "write": "writers"}[verb]
    return Message(
        f"{_peers(one)} do not {verb} equally much: {one.most_name} {did} {format.size(one.most)}, the median is "
        f"{format.size(one.median)}, the least {format.size(one.least)}.",
        f"Distribute the data evenly, or use more {doers} (MPI-IO hint cb_nodes) if a few are meant to {verb} for all.",
    )


@_message.register
def _(evidence: TimeImbalanceEvidence) -> Message:
    one = evidence.imbalance
    moved = [
        f"{'read' if size.measure == 'read_bytes' else 'wrote'} most: {format.size(size.most)}, the median is "
        f"{format.size(size.median)}"
        for size in evidence.uneven
    ]
    return Message(
        f"{_peers(one)} do not spend equally long in I/O: {one.most_name} spent {format.duration(one.most)}, "
        f"{format.share(evidence.most_share)} of its run time; the median is {format.duration(one.median)}.",
        "Distribute the data evenly." if moved else f"Check what {one.most_name} reads and writes alone, and its node.",
        f"It also {' and '.join(moved)}." if moved else "",
    )


@_message.register
def _(evidence: MetadataEvidence) -> Message:
    most = ""
    if evidence.group is not None and evidence.group_share is not None:
        named = ", ".join(
            f"{name} {format.duration(ns)} in {format.count(calls, 'call')}" for name, calls, ns in evidence.operations
        )
        most = f", {format.share(evidence.group_share)} of it to {_GROUPS[evidence.group]} ({named})"
    beyond = ""
    if evidence.processes:
        limit = format.duration(evidence.thresholds[0].value * 1e9)
        processes = format.count(evidence.processes, "process", "processes")
        beyond = f"{processes} spent more than {limit} on them; the most is {format.duration(evidence.most_ns)}."
    remedy = _METADATA_REMEDIES[evidence.group or "open"]
    if evidence.lock_files:
        lock_files = format.count(evidence.lock_files, "file")
        of_mpi = (
            f"Among them are {lock_files} called NAME.locktest.RANK, which Open MPI's own MPI-IO creates and removes "
        )
        beyond = " ".join(filter(None, (beyond, f"{of_mpi}at each open by each rank.")))
        remedy += " Try ROMIO (OMPI_MCA_io=^ompio), which has no such files."
    return Message(
        f"Metadata operations take {format.share(evidence.share)} of the time in I/O: "
        f"{format.duration(evidence.spent_ns)} in {format.count(evidence.calls, 'call')}{most}.",
        remedy,
        beyond,
    )


_GROUPS: Mapping[MetadataGroup, str] = {
    "open": "open and close files",
    "look up": "look files up (stat)",
    "list": "list directories",
    "create and remove": "create, rename and remove files",
    "sync": "wait for the storage (fsync)",
    "seek": "seek",
    "lock": "wait for locks",
    "change": "change sizes and attributes",
}

_METADATA_REMEDIES: Mapping[MetadataGroup, str] = {
    "open": "Use fewer and larger files, and keep them open.",
    "look up": "Keep what stat said, and take types of files from listings (d_type) instead of looking each file up.",
    "list": "Keep an index of the files instead of walking directories again, and split very large directories.",
    "create and remove": "Use fewer and larger files, each process in its own directory; keep temporary files on a "
    "node-local disk.",
    "sync": "Sync once after many writes; check whether each result has to survive a crash by itself.",
    "seek": "Use calls that name the offset (pread, pwrite), or read whole blocks in order.",
    "lock": "Lock larger ranges less often, or give each process a file of its own.",
    "change": "Set sizes and attributes once, when the file is complete.",
}


@_message.register
def _(evidence: StreamEvidence) -> Message:
    return Message(
        f"{format.share(evidence.stream_bytes / evidence.moved_bytes)} of the bytes pass through streams (fread, "
        f"fwrite): {format.size(evidence.stream_bytes)}.",
        "Enlarge their buffer (setvbuf), or use read and write with large blocks.",
    )


@_message.register
def _(evidence: NoCollectiveEvidence) -> Message:
    return Message(
        f"All {format.count(evidence.independent)} {evidence.direction}s of MPI-IO are independent, none is "
        "collective.",
        f"Use MPI_File_{evidence.direction}_all and its like where all ranks take part.",
    )


@_message.register
def _(evidence: BlockingEvidence) -> Message:
    call = f"MPI_File_i{evidence.direction}"
    return Message(
        headline=f"All {evidence.calls:,} {evidence.direction}s of MPI-IO block: the ranks spend "
        f"{format.duration(evidence.spent_ns)} in them, {format.share(evidence.share)} of their run time.",
        details=f"This source does not count: {', '.join(evidence.uncounted)}." if evidence.uncounted else "",
        remedy=f"Begin the {evidence.direction}, compute, and wait for it later ({call}, {call}_all, MPI_Wait); with "
        "HDF5, use its asynchronous VOL connector.",
    )


@_message.register
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


@_message.register
def _(evidence: SyncEvidence) -> Message:
    spent = "" if evidence.spent_ns is None else f", {format.duration(evidence.spent_ns)} in these calls"
    return Message(
        f"{format.count(evidence.syncs, 'call')} of fsync and its like, on average after "
        f"{format.size(evidence.written_bytes / evidence.syncs)} of writes "
        f"({format.count(evidence.files, 'file')}{spent}).",
        "Sync once after many writes; check whether each result has to survive a crash by itself.",
    )


@_message.register
def _(evidence: SynchronousWriteEvidence) -> Message:
    spent = "" if evidence.spent_ns is None else f", {format.duration(evidence.spent_ns)} in these calls"
    part = "" if evidence.share is None else f", {format.share(evidence.share)} of the time in I/O"
    return Message(
        f"{format.count(evidence.writes, 'write')} to files opened with O_SYNC or O_DSYNC wait for the storage, each "
        f"for {format.size(evidence.written_bytes / evidence.writes)} on average "
        f"({format.count(evidence.files, 'file')}{spent}{part}).",
        "Write without O_SYNC, and sync once after many writes; check whether each result has to survive a crash by "
        "itself.",
    )


@_message.register
def _(evidence: ReopenEvidence) -> Message:
    return Message(
        f"{format.count(evidence.files, 'file is', 'files are')} opened again and again: "
        f"{format.count(evidence.calls, 'open')}, up to {format.significant(evidence.most_of_a_process)} of one file "
        "by each process.",
        "Keep files open between uses.",
    )


@_message.register
def _(evidence: RestatEvidence) -> Message:
    return Message(
        f"{format.count(evidence.files, 'file is', 'files are')} looked up again and again: "
        f"{format.count(evidence.calls, 'stat')}, up to {format.significant(evidence.most_of_a_process)} of one file "
        "by each process.",
        "Keep what stat said, or wait for files with inotify or a message instead of asking for them.",
    )


@_message.register
def _(evidence: SearchEvidence) -> Message:
    if evidence.is_search_path:
        remedy = (
            "Shorten search paths (PATH, LD_LIBRARY_PATH, include paths), or put the directories that answer first."
        )
    elif evidence.is_polling:
        remedy = (
            "Wait for files with inotify or a message instead of asking again and again, or remember what is not there."
        )
    else:
        remedy = "List these directories once instead of asking for each file, and remember what is not there."
    return Message(
        f"{format.share(evidence.failed / evidence.lookups)} of the lookups fail: {format.count(evidence.failed)} of "
        f"{format.count(evidence.lookups)} opens, stats and listings, most in {_directories(evidence.directories)}.",
        remedy,
        _searched(evidence.searched, evidence.names) if evidence.is_search_path else "They come from no search path.",
    )


@_message.register
def _(evidence: StartupEvidence) -> Message:
    spent = "" if evidence.spent_ns is None else f" and {format.duration(evidence.spent_ns)}"
    part = "" if evidence.share is None else f", {format.share(evidence.share)} of the time in I/O"
    failed = evidence.failed_lookups
    details = ""
    if failed.count:
        searched = _searched(failed.searched, failed.names)
        details = (
            f"{format.count(failed.count)} of {format.count(evidence.lookups, 'lookup')} fail, most in "
            f"{_directories(failed.directories)}. {searched}"
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
"""That a sentence names."""

_IN_ORDER = 0.5
"""Requests of which so many begin where the last one ended are gathered by a buffer."""


def _directories(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{escaped(directory)} ({format.count(count)})" for directory, count in counts)


def _searched(searched: int, names: int) -> str:
    return f"{_of(searched, names, 'name')} looked for in several directories." if searched else ""


@_message.register
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

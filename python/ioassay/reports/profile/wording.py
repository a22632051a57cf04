"""The words of a profile's report: rows of its tables, sentences. Nothing is computed here."""

from __future__ import annotations

import errno as errors
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from ioassay.analysis.finding import FileRow, Finding, ProcessRow
from ioassay.analysis.profile.callers import OF_PYTHON, CallSite, CodePlace
from ioassay.analysis.profile.coverage import WAYS, Cause, Shortfall, Way
from ioassay.analysis.profile.maps import Range
from ioassay.analysis.profile.phases import Phase
from ioassay.analysis.profile.thresholds import Threshold
from ioassay.profiles.model import Direction, Loss, LossKind, Profile
from ioassay.reports.profile.content import MOST_REFERENCES, Content
from ioassay.store import moments
from ioassay.text import format, prose
from ioassay.text.control_characters import escaped

SOURCES = {"darshan": "Darshan", "dftracer": "DFTracer", "recorder": "Recorder"}
"""The names of sources that other programs write."""

_MOST_NAMED = 3
"""The most commands, losses and places that are named."""

_MOST_CHARACTERS = 300
"""Longest command in a title."""

ELSEWHERE = "pipes, sockets, terminals, /proc and memory (memfd)"
"""Files that are not storage."""

TIME_NOTE = (
    f"Time in calls is added over threads and processes. Calls on {ELSEWHERE} are operations of their own (elsewhere); "
    "totals, rates over time, files and findings are of storage alone."
)


def title(content: Content) -> str:
    """The command, or how many."""
    commands = content.profile.commands
    if len(commands) != 1:
        return format.count(len(commands), "command") if commands else "unknown command"
    return short(commands[0], 60)


def short(command: str, most: int) -> str:
    """The beginning of a command, on one line."""
    line = " ".join(command.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def opening(content: Content) -> list[tuple[str, str]]:
    """The facts of the profile: coverage first, then who, when, where, and how much: a table of two columns."""
    profile = content.profile
    processes, names = profile.processes, sorted(set(profile.processes["node"].drop_nulls()))
    ranks = processes["rank"].n_unique() - (processes["rank"].null_count() > 0)
    of_ranks = f", {format.count(ranks, 'rank')}" if ranks else ""
    more = ", …" * (len(names) > _MOST_NAMED)
    several = format.count(len(names), "node")
    where = names[0] if len(names) == 1 else f"{several}: {', '.join(names[:_MOST_NAMED])}{more}"
    source = SOURCES.get(profile.source, profile.source)
    states = processes.group_by("state").len().sort("state").rows()
    ended = ", ".join(format.count(count, state, state) for state, count in states if state != "ended")
    return [
        *head(content),
        ("Command", _named([short(command, _MOST_CHARACTERS) for command in profile.commands]) or "unknown"),
        ("Started", started(profile)),
        ("Duration", f"{format.duration(profile.duration_s * 1e9)}{', still running' * profile.is_running}"),
        ("Where", where if names else "unknown"),
        ("Processes", f"{_processes(processes.height)}{of_ranks}{f' ({ended})' if ended else ''}"),
        ("Read", _moved(content, "read")),
        ("Written", _moved(content, "write")),
        ("Metadata", _metadata(content)),
        ("Time in I/O", time_in_io(content)),
        *([("Start-up", _startup(content))] if content.startup.calls else []),
        (
            "Source",
            f"{source}: {', '.join(profile.names[:_MOST_NAMED])}{', …' * (len(profile.names) > _MOST_NAMED)}",
        ),
    ]


def head(content: Content) -> Iterator[tuple[str, str]]:
    """The coverage of the profile, and every kind of loss, briefly."""
    yield "Coverage", _coverage(content)
    unseen = list(_losses_in_head(content))
    if unseen:
        yield "Not seen", "; ".join(unseen)


def _coverage(content: Content) -> str:
    cover = content.coverage
    if content.profile.source == "darshan":
        return "unknown: Darshan does not keep what the kernel counted"
    if not cover.compared:
        return f"unknown: the kernel's counters of {_every(cover.unknown)} were not kept"
    every = cover.compared + cover.unknown
    ways = [
        f"{_DONE[direction]}: {_coverage_of(content, direction)}"
        for direction in WAYS
        if cover.of(direction).kernel_bytes
    ]
    some = f"; {format.count(cover.compared)} of {_processes(every)} compared" if cover.unknown else ""
    return f"{'; '.join(ways) or 'the kernel counted nothing'}{some}"


_DONE: Mapping[Way, str] = {"read": "read", "write": "written"}

_LITTLE = 0.05
"""Up to this share missing bytes are reported as `all but …`."""


def _coverage_of(content: Content, direction: Way) -> str:
    counted = content.coverage.of(direction)
    every, missing = f"{format.size(counted.kernel_bytes)} that the kernel counted", counted.missing_bytes
    excess = f" ({format.size(counted.excess_bytes)} more than it counted)" if counted.excess_bytes else ""
    if not missing:
        return f"all of {every}{excess}"
    sums: dict[Cause, int] = {}
    for short in content.coverage.shortfalls:
        if short.direction == direction:
            sums[short.cause] = sums.get(short.cause, 0) + short.missing_bytes
    parts = [cause if len(sums) == 1 else f"{format.size(amount)} {cause}" for cause, amount in sums.items()]
    why = f" ({', '.join(parts)})"
    if missing <= _LITTLE * counted.kernel_bytes:
        return f"all but {format.size(missing)} of {every}{why}{excess}"
    return f"{format.size(counted.kernel_bytes - missing)} of {every}, not {format.size(missing)}{why}{excess}"


def _every(count: int) -> str:
    return "its process" if count == 1 else f"all {_processes(count)}"


def _losses_in_head(content: Content) -> Iterator[str]:
    """Each kind of loss that is not in `Coverage`."""
    for kind, losses in _by_kind(content.coverage.losses):
        if kind not in _COVERED:
            yield _loss_text(_LOSSES[kind].short, losses)


def nothing_found(content: Content) -> str:
    """The sentence without findings, and what no rule could judge."""
    unseen = [*_losses_in_head(content)]
    if not unseen:
        return "No rule found anything to improve."
    return f"No rule found anything to improve in what was seen. Not seen, and not judged: {'; '.join(unseen)}."


def _moved(content: Content, direction: Way) -> str:
    total, mapped = content.totals.of(direction), content.coverage.mapped(direction)
    spent = "" if total.spent_ns is None else f", {format.duration(total.spent_ns)}"
    through_maps = f"; {size_range(mapped)} through maps" if mapped.most else ""
    return f"{format.size(total.bytes)} in {format.count(total.calls, 'call')}{spent}{through_maps}"


def size_range(bounds: Range) -> str:
    """`8 to 64 MiB`; one size where both ends are the same."""
    least, most = format.size(bounds.least), format.size(bounds.most)
    return most if least == most else format.span(least, most)


def _metadata(content: Content) -> str:
    total = content.totals.of("metadata")
    spent = "" if total.spent_ns is None else f", {format.duration(total.spent_ns)}"
    share = content.totals.metadata_share
    part = "" if share is None else f" ({format.share(share)} of the time in I/O)"
    return f"{format.count(total.calls, 'call')}{spent}{part}"


def _startup(content: Content) -> str:
    """The share of interpreters and libraries, which rules about data leave out."""
    startup, io_ns = content.startup, content.totals.io_ns
    spent = "" if startup.spent_ns is None else f", {format.duration(startup.spent_ns)}"
    part = (
        ""
        if startup.spent_ns is None or not io_ns
        else f" ({format.share(min(1.0, startup.spent_ns / io_ns))} of the time in I/O)"
    )
    return f"{format.count(startup.calls, 'call')}{spent}{part}: {', '.join(startup.runtimes[:_MOST_NAMED])}"


def time_in_io(content: Content) -> str:
    """Time in calls on storage, against the run time of all processes."""
    totals = content.totals
    if totals.io_ns is None:
        return "unknown"
    part = f" of {format.duration(totals.run_ns)} of run time" if totals.run_ns else ""
    share = "" if totals.io_share is None else f", {format.share(totals.io_share)}"
    elsewhere = ""
    if totals.elsewhere_ns:
        elsewhere = f"; {format.duration(totals.elsewhere_ns)} more on {ELSEWHERE}"
    return f"{format.duration(totals.io_ns)}{part}{share}{elsewhere}"


def trust(content: Content) -> Iterator[str]:
    """Possible gaps of the profile: the doubt `coverage`, supplements, and losses."""
    cover = content.coverage
    if cover.doubts:
        short = _processes(len({doubt.process for doubt in cover.doubts}))
        named = _named([_shortfall(doubt) for doubt in cover.doubts])
        yield (
            f"Doubt coverage: the kernel counted more I/O than was recorded in {short} of "
            f"{format.count(cover.compared)} ({named}). "
            "The rest bypassed the recorder: calls inside the C library, or direct system calls."
        )
    for supplement in content.profile.supplements:
        yield (
            f"{format.count(supplement.calls, 'transfer')} through io_uring ({format.size(supplement.bytes)}) are "
            f"from the engine's own events, because the record has none of them ({supplement.where})."
        )
    for kind, losses in _by_kind(cover.losses):
        if kind not in _COVERED and kind not in _MAPPED:
            yield loss(kind, losses)


def differences(content: Content) -> Iterator[str]:
    """Bytes that the kernel counted without a call, and bytes moved by maps: the rest of `trust`."""
    for kind, losses in _by_kind(content.coverage.losses):
        if kind in _COVERED or kind in _MAPPED:
            yield loss(kind, losses)
    storage = content.coverage.storage
    if storage is not None and (storage.read_bytes or storage.written_bytes):
        cancelled = storage.cancelled_bytes
        removed = f", of which {format.size(cancelled)} were removed before they went out" if cancelled else ""
        more = storage.unexplained_read_bytes
        beyond = (
            f" {format.size(more)} of those read are more than calls returned and maps cover: loading programs, "
            "read-ahead, directories."
            if more
            else ""
        )
        yield (
            f"Traffic with storage, as the kernel counts pages: {format.size(storage.read_bytes)} read, "
            f"{format.size(storage.written_bytes)} written{removed}; the recorder's tables are among those written."
            f"{beyond}"
        )


def unknown(content: Content) -> Iterator[str]:
    """Refers to the report for what the source does not record."""
    if content.profile.unknown:
        things = format.count(len(content.profile.unknown), "thing")
        yield f"Unknown is not 0: the report names {things} that this source does not record."


def _shortfall(shortfall: Shortfall) -> str:
    process = shortfall.process if shortfall.pid is None else shortfall.pid
    share = format.share(shortfall.missing_bytes / shortfall.kernel_bytes)
    return (
        f"process {process}: {format.size(shortfall.kernel_bytes)} {_DONE[shortfall.direction]}, {share} of it not "
        "recorded"
    )


class _LossWords(NamedTuple):
    """A kind of loss in the head of the profile, and as a sentence."""

    short: str
    sentence: str


_LOSSES: Mapping[LossKind, _LossWords] = {
    "damaged-bytes": _LossWords("{size} of damaged tables", "{size} could not be read: {reasons} ({where})."),
    "foreign-tables": _LossWords(
        "{tables} of another version", "{tables} of another version left out: {reasons} ({where})."
    ),
    "rows-outside": _LossWords(
        "{rows} of the time line", "{rows} of the time line outside the time of their process left out ({where})."
    ),
    "folded-calls": _LossWords(
        "files of {calls}", "{calls} on files that share a row, because the table was full ({where})."
    ),
    "lost-calls": _LossWords(
        "{calls} for which the table was full", "{calls} missing, because the table was full ({where})."
    ),
    "handler-calls": _LossWords("{calls} of signal handlers", "{calls} of signal handlers missing ({where})."),
    "untraced-calls": _LossWords("{calls} in the trace", "{calls} missing from the trace ({where})."),
    "lost-regions": _LossWords(
        "{entries} of regions",
        "{entries} of regions counted for those around them, because there were too many ({where}).",
    ),
    "stackless-calls": _LossWords(
        "the callers of {calls}", "The callers of {calls} are unknown, because the table was full ({where})."
    ),
    "unreadable-stacks": _LossWords(
        "the callers in {processes}", "The callers in {processes} are unknown: {reasons} ({where})."
    ),
    "unread-rings": _LossWords(
        "{requests} in rings of io_uring{counted}",
        "{requests} in io_uring rings could not be read, their files and bytes are unknown: {reasons} ({where}).",
    ),
    "held-back-ns": _LossWords(
        "{duration} for which rules held calls back",
        "Rules held calls back for {duration}, which is in none of their times ({where}).",
    ),
    "lost-tables": _LossWords(
        "{processes} whose tables were lost", "The tables of {processes} could not be kept ({where})."
    ),
    "escaped": _LossWords("{processes} not recorded ({causes})", "{processes} not recorded: {reasons} ({where})."),
    "still-running": _LossWords(
        "{processes} after the recording ended", "{processes} went on when the recording ended ({where})."
    ),
    "partial": _LossWords(
        "parts of an incomplete source: {reasons}", "The source says that it is incomplete: {reasons} ({where})."
    ),
    "unrecorded-read-bytes": _LossWords(
        "{size} read", "{size} that the kernel counted as read are in no call: {reasons} ({where})."
    ),
    "unrecorded-written-bytes": _LossWords(
        "{size} written", "{size} that the kernel counted as written are in no call: {reasons} ({where})."
    ),
    "mapped-read-bytes": _LossWords(
        "{range} read through maps", "{range} read through maps, which make no calls ({where})."
    ),
    "mapped-written-bytes": _LossWords(
        "{range} written through maps", "{range} written through maps, which make no calls ({where})."
    ),
    "unexplained-storage-bytes": _LossWords(
        "{size} that storage moved",
        "{size} that the kernel moved from or to storage are explained by no call and no map: {reasons} ({where}).",
    ),
    "uncompared": _LossWords(
        "what the kernel counted of {processes}",
        "The kernel's counters are unknown for {processes}: {reasons} ({where}).",
    ),
}

_COVERED = ("unrecorded-read-bytes", "unrecorded-written-bytes", "uncompared")
"""Kinds of loss that `Coverage` says in the head."""

_MAPPED = ("mapped-read-bytes", "mapped-written-bytes")

_UNSAID: Mapping[LossKind, str] = {"damaged-bytes": "the tables are damaged"}
"""The reason where the source gives none."""


CALLERS_NOTE = (
    "The recorder sampled the stacks of some calls, which share out what is known of all: calls, bytes and times are "
    "estimates, and files those of the sampled calls."
)

_MOST_CALLERS = 2
"""The most callers that a finding names."""


def place(place: CodePlace) -> str:
    """A place in code: function, file and line, as far as they are known."""
    if place == OF_PYTHON:
        return "Python itself"
    module = posixpath.basename(place.module or "unknown code")
    if place.function is None:
        return f"a function without a name ({module})"
    source = posixpath.basename(place.source or "")
    line = source if place.line is None else f"{source}:{place.line}"
    where = line or (module if place.module else "")
    return f"{place.function} ({where})" if where else place.function


def callers(functions: Iterable[CodePlace]) -> str:
    """Functions around a call, from the inside out; a run of such as have no name is one mark."""
    names = (
        function for function, _ in groupby(function.function or "\N{HORIZONTAL ELLIPSIS}" for function in functions)
    )
    return " \N{LEFTWARDS ARROW} ".join(names)


def called_from(sites: Sequence[CallSite]) -> str:
    """The origins of the calls of a finding."""
    calls, samples = sum(site.calls for site in sites), sum(site.samples for site in sites)
    named = [
        f"{place(site.place)}{f' through {prose.listed(site.through)}' if site.through else ''}"
        f"{f', {format.share(site.calls / max(1, calls))} of them' if len(sites) > 1 else ''}"
        for site in sites[:_MOST_CALLERS]
    ]
    more = len(sites) - len(named)
    others = f"; and from {format.count(more, 'other function')}" if more else ""
    return f"The calls come from {'; '.join(named)}{others} (by {format.count(samples, 'sample')})."


def loss(kind: LossKind, losses: list[Loss]) -> str:
    """Everything of a kind that is missing."""
    return _loss_text(_LOSSES[kind].sentence, losses)


def _by_kind(losses: Iterable[Loss]) -> Iterator[tuple[LossKind, list[Loss]]]:
    """Losses of a kind together, in the order of `_LOSSES`."""
    for kind in _LOSSES:
        if kind_losses := [loss for loss in losses if loss.kind == kind]:
            yield kind, kind_losses


def _loss_text(words: str, losses: list[Loss]) -> str:
    kind = losses[0].kind
    amount = sum(loss.amount for loss in losses)
    reasons = list(dict.fromkeys(loss.reason or _UNSAID.get(kind, "unknown reason") for loss in losses))
    return words.format(
        size=format.size(amount),
        range=size_range(Range(sum(loss.least or 0 for loss in losses), amount)),
        duration=format.duration(amount),
        counted=_counted([loss.storage_bytes for loss in losses if loss.storage_bytes is not None]),
        processes=_processes(amount),
        entries=format.count(amount, "entry", "entries"),
        **{f"{noun}s": format.count(amount, noun) for noun in ("table", "row", "call", "request")},
        where=_named(list(dict.fromkeys(escaped(loss.where) for loss in losses))),
        reasons=_named(reasons),
        # Without the programs that they are about.
        causes=_named(list(dict.fromkeys(reason.rpartition(": ")[2] for reason in reasons))),
    )


def _counted(moved: Sequence[tuple[int, int]]) -> str:
    """The kernel's counts between processes and storage: ` (the kernel counted 8 MiB read)`."""
    sums = zip((sum(sizes) for sizes in zip(*moved, strict=True)), _DONE.values(), strict=False)
    ways = [f"{format.size(every)} {done}" for every, done in sums if every]
    return f" (the kernel counted {' and '.join(ways)})" if ways else ""


def phase(number: int, phase: Phase, *, is_mapped: bool) -> list[str]:
    """The row of a phase of I/O."""
    seconds = max(phase.duration_s, 1e-9)
    return [
        str(number),
        format.duration(phase.start_s * 1e9),
        format.duration(phase.duration_s * 1e9),
        f"{phase.direction} through maps" if phase.is_mapped else phase.direction,
        format.size(phase.read_bytes),
        format.size(phase.written_bytes),
        format.rate((phase.read_bytes + phase.written_bytes) / seconds),
        format.count(phase.metadata_calls),
        *([format.ABSENT if phase.direction == "metadata" else format.size(phase.mapped_bytes)] if is_mapped else ()),
    ]


MAPS_NOTE = (
    "Maps move bytes without calls: ranges are pages that the process touched, or that were fetched because it did, "
    "each once. In memory: of what was mapped, by whichever process; about: samples of pages stand for all. When bytes "
    "moved between From and To is unknown."
)


def mapped(row: Mapping[str, Any]) -> list[str]:
    """A row of `maps.BOUNDS`, from its times on."""
    ends = {
        direction: (f"{row[f'{name}_least_by']}; {row[f'{name}_most_by']}" if row[f"{name}_most_bytes"] else "")
        for direction, name in (("read", "read"), ("written", "written"))
    }
    return [
        format.duration(row["first_map_s"] * 1e9),
        "end" if row["last_unmap_s"] is None else format.duration(row["last_unmap_s"] * 1e9),
        format.count(row["maps"]),
        format.size(row["extent_bytes"]),
        *(_resident(row[f"resident_{end}_bytes"], is_sampled=row["is_sampled"]) for end in ("begin", "end")),
        *file_maps(row),
        ", ".join(f"{direction}: {how}" for direction, how in ends.items() if how),
    ]


def files_shown(shown: int, every: int) -> list[str]:
    """The remark on which files the terminal shows, if there are more."""
    order = "those with the largest share of the time in I/O or of the bytes, also through maps"
    return [f"Files: {shown} of {format.count(every)}, {order}."] if every > shown else []


def _resident(size: int | None, *, is_sampled: bool) -> str:
    return f"about {format.size(size)}" if is_sampled and size is not None else format.size(size)


def file_maps(row: Mapping[str, Any]) -> list[str]:
    """The ranges of a row of `maps.BOUNDS`, or of the files that have their columns: read, and written."""
    return [
        size_range(Range(row[f"{name}_least_bytes"], most)) if (most := row[f"{name}_most_bytes"]) else format.ABSENT
        for name in ("read", "written")
    ]


_PHASES: Mapping[Direction, str] = {"read": "reads", "write": "writes", "metadata": "metadata operations"}


def periods(content: Content) -> list[str]:
    """Sentences on recurring phases."""
    return [
        f"Phases of {_PHASES[direction]} recur every {format.duration(period * 1e9)}."
        for direction, period in content.periods_s.items()
    ]


def errno_name(errno: int) -> str:
    """`ENOENT`, with its number where there is no name."""
    return errors.errorcode.get(errno, f"errno {errno}")


def rests_on(finding: Finding) -> str:
    """The number of references of a finding with their noun: `10 files`."""
    match finding.rests_on[0]:
        case FileRow():
            singular, several = "file", "files"
        case ProcessRow():
            singular, several = "process", "processes"
        case _:
            singular, several = "moment", "moments"
    count = len(finding.rests_on)
    return format.count(count, singular, several) if count < MOST_REFERENCES else f"{MOST_REFERENCES} or more {several}"


def threshold(limit: Threshold) -> str:
    """A limit and where it comes from: `small_request_bytes: 1 MiB (rule, Drishti)`."""
    *_, before, unit = limit.name.split("_")
    match unit:
        case "s" if before == "per":
            value = format.rate(limit.value)
        case "s":
            value = format.duration(limit.value * 1e9)
        case "ns":
            value = format.duration(limit.value)
        case "bytes":
            value = format.size(limit.value)
        case "share":
            value = format.share(limit.value)
        case _:
            value = format.count(limit.value)
    return f"{limit.name}: {value} ({limit.origin}, {limit.source})"


def started(profile: Profile) -> str:
    """The start: `2026-02-02 02:40:00 UTC`. Sources without it count from 1970."""
    return f"{moment(profile.begin_unix_ns)} UTC" if profile.origin_unix_ns else "unknown"


def moment(unix_ns: int) -> str:
    """The day and the time, UTC: `2026-02-02 02:40:00`."""
    return format.moment(moments.moment(unix_ns))


def _processes(count: int) -> str:
    return format.count(count, "process", "processes")


def _named(names: list[str]) -> str:
    shown = "; ".join(names[:_MOST_NAMED])
    return f"{shown}; and {format.count(len(names) - _MOST_NAMED)} more" if len(names) > _MOST_NAMED else shown

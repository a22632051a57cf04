"""The words of a profile's report: rows of its tables, sentences. Nothing is computed here."""

from __future__ import annotations

import errno as errors
from collections.abc import Iterator, Mapping
from itertools import groupby

from ioassay.analysis.finding import FileRow, Finding, ProcessRow
from ioassay.analysis.profile.coverage import Shortfall
from ioassay.analysis.profile.findings.profile_facts import MOST_REFERENCES
from ioassay.analysis.profile.phases import Phase
from ioassay.analysis.profile.thresholds import Threshold
from ioassay.reports import format
from ioassay.reports.profile.content import Content
from ioassay.results import document
from ioassay.results.profile_model import Direction, Loss, LossKind, Profile

_MOST_NAMED = 3
"""Of commands, of what is lost, and of where."""

_MOST_CHARACTERS = 300
"""Of a command."""

TIME_NOTE = (
    "Time in calls is added over threads and processes. Calls on pipes, sockets, terminals and /proc are operations "
    "of their own (elsewhere); totals, rates over time, files and findings are of storage alone."
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
    """Who, when, where, and how much: a table of two columns."""
    profile = content.profile
    processes, names = profile.processes, sorted(set(profile.processes["node"].drop_nulls()))
    ranks = processes["rank"].n_unique() - (processes["rank"].null_count() > 0)
    of_ranks = f", {format.count(ranks, 'rank')}" if ranks else ""
    more = ", …" * (len(names) > _MOST_NAMED)
    several = format.count(len(names), "node")
    where = names[0] if len(names) == 1 else f"{several}: {', '.join(names[:_MOST_NAMED])}{more}"
    source = "Darshan" if profile.source == "darshan" else profile.source
    states = processes.group_by("state").len().sort("state").rows()
    ended = ", ".join(format.count(count, state, state) for state, count in states if state != "ended")
    return [
        ("Command", _named([short(command, _MOST_CHARACTERS) for command in profile.commands]) or "unknown"),
        ("Started", f"{moment(profile.begin_unix_ns)} UTC"),
        ("Duration", f"{format.duration(profile.duration_s * 1e9)}{', still running' * profile.is_running}"),
        ("Where", where if names else "unknown"),
        ("Processes", f"{_processes(processes.height)}{of_ranks}{f' ({ended})' if ended else ''}"),
        ("Read", _moved(content, "read")),
        ("Written", _moved(content, "write")),
        ("Metadata", _metadata(content)),
        ("Time in I/O", time_in_io(content)),
        (
            "Source",
            f"{source}: {', '.join(profile.names[:_MOST_NAMED])}{', …' * (len(profile.names) > _MOST_NAMED)}",
        ),
    ]


def _moved(content: Content, direction: Direction) -> str:
    one = content.totals.of(direction)
    spent = "" if one.spent_ns is None else f", {format.duration(one.spent_ns)}"
    return f"{format.size(one.bytes)} in {format.count(one.calls, 'call')}{spent}"


def _metadata(content: Content) -> str:
    one = content.totals.of("metadata")
    spent = "" if one.spent_ns is None else f", {format.duration(one.spent_ns)}"
    share = content.totals.metadata_share
    part = "" if share is None else f" ({format.share(share)} of the time in I/O)"
    return f"{format.count(one.calls, 'call')}{spent}{part}"


def time_in_io(content: Content) -> str:
    """Time in calls on storage, against the run time of all processes."""
    totals = content.totals
    if totals.io_ns is None:
        return "unknown"
    part = f" of {format.duration(totals.run_ns)} of run time" if totals.run_ns else ""
    share = "" if totals.io_share is None else f", {format.share(totals.io_share)}"
    elsewhere = ""
    if totals.elsewhere_ns:
        elsewhere = f"; {format.duration(totals.elsewhere_ns)} more on pipes, sockets, terminals and /proc"
    return f"{format.duration(totals.io_ns)}{part}{share}{elsewhere}"


def trust(content: Content) -> Iterator[str]:
    """What the profile may lack, or has from elsewhere: the doubt `coverage`, supplements, and losses."""
    cover = content.coverage
    if cover.shortfalls:
        short = _processes(len({one.process for one in cover.shortfalls}))
        named = _named([_shortfall(content.profile, one) for one in cover.shortfalls])
        yield (
            f"Doubt coverage: the kernel counted more I/O than was recorded in {short} of "
            f"{format.count(cover.compared)} ({named}). "
            "The rest bypassed the recorder: calls inside the C library, or direct system calls."
        )
    if cover.unknown and content.profile.source == "record":
        were, run = ("was", "runs") if cover.unknown == 1 else ("were", "run")
        yield (
            f"Coverage is unknown for {_processes(cover.unknown)} that {were} killed, still {run}, or could not read "
            "the kernel's counters."
        )
    for one in content.profile.supplements:
        yield (
            f"{format.count(one.calls, 'transfer')} through io_uring ({format.size(one.bytes)}) are from the engine's "
            f"own events, because no recorder sees its rings ({one.where})."
        )
    for kind, losses in groupby(sorted(content.profile.losses, key=lambda loss: loss.kind), key=lambda loss: loss.kind):
        yield loss(kind, list(losses))


def unknown(content: Content) -> Iterator[str]:
    """That there is more to say of what the source does not record; the report says it."""
    if content.profile.unknown:
        things = format.count(len(content.profile.unknown), "thing")
        yield f"Unknown is not 0: the report names {things} that this source does not record."


def _shortfall(profile: Profile, one: Shortfall) -> str:
    pid = profile.processes.row(one.process, named=True)["pid"]
    did = "read" if one.direction == "read" else "written"
    return f"process {pid}: {format.size(one.kernel_bytes)} {did}, {format.share(one.share)} of it not recorded"


_LOSSES: Mapping[LossKind, str] = {
    "damaged-bytes": "{size} could not be read: {reasons} ({where}).",
    "foreign-tables": "{tables} of another version left out: {reasons} ({where}).",
    "rows-outside": "{rows} of the time line outside the time of their process left out ({where}).",
    "folded-calls": "{calls} on files that share a row, because the table was full ({where}).",
    "lost-calls": "{calls} missing, because the table was full ({where}).",
    "handler-calls": "{calls} of signal handlers missing ({where}).",
    "untraced-calls": "{calls} missing from the trace ({where}).",
    "lost-regions": "{entries} of regions counted for the regions around them, because there were too many ({where}).",
    "held-back-ns": "Rules held calls back for {duration}, which is in none of their times ({where}).",
    "lost-tables": "The tables of {processes} could not be kept ({where}).",
    "escaped": "{processes} not recorded: {reasons} ({where}).",
    "still-running": "{processes} went on when the recording ended ({where}).",
    "partial": "The source says that it is incomplete: {reasons} ({where}).",
}

_UNSAID: Mapping[LossKind, str] = {"damaged-bytes": "the tables are damaged"}
"""The reason where the source gives none."""


def loss(kind: LossKind, losses: list[Loss]) -> str:
    """Everything of a kind that is missing."""
    amount = sum(one.amount for one in losses)
    return _LOSSES[kind].format(
        size=format.size(amount),
        duration=format.duration(amount),
        processes=_processes(amount),
        entries=format.count(amount, "entry", "entries"),
        **{f"{noun}s": format.count(amount, noun) for noun in ("table", "row", "call")},
        where=_named(list(dict.fromkeys(one.where for one in losses))),
        reasons=_named(list(dict.fromkeys(one.reason or _UNSAID.get(kind, "unknown reason") for one in losses))),
    )


def phase(number: int, one: Phase) -> list[str]:
    """The row of a phase of I/O."""
    seconds = max(one.duration_s, 1e-9)
    return [
        str(number),
        format.duration(one.start_s * 1e9),
        format.duration(one.duration_s * 1e9),
        one.direction,
        format.size(one.read_bytes),
        format.size(one.written_bytes),
        format.rate((one.read_bytes + one.written_bytes) / seconds),
        format.count(one.metadata_calls),
    ]


_PHASES: Mapping[Direction, str] = {"read": "reads", "write": "writes", "metadata": "metadata operations"}


def periods(content: Content) -> list[str]:
    """Which phases recur."""
    return [
        f"Phases of {_PHASES[direction]} recur every {format.duration(period * 1e9)}."
        for direction, period in content.periods_s.items()
    ]


def errno_name(errno: int) -> str:
    """`ENOENT`, with its number where there is no name."""
    return errors.errorcode.get(errno, f"errno {errno}")


def rests_on(finding: Finding) -> str:
    """What the references of a finding are: `10 files`."""
    match finding.rests_on[0]:
        case FileRow():
            one, several = "file", "files"
        case ProcessRow():
            one, several = "process", "processes"
        case _:
            one, several = "moment", "moments"
    count = len(finding.rests_on)
    return format.count(count, one, several) if count < MOST_REFERENCES else f"{MOST_REFERENCES} or more {several}"


def threshold(one: Threshold) -> str:
    """A limit and where it comes from: `small_request_bytes: 1 MiB (rule, Drishti)`."""
    *_, before, unit = one.name.split("_")
    match unit:
        case "s" if before == "per":
            value = format.rate(one.value)
        case "s":
            value = format.duration(one.value * 1e9)
        case "ns":
            value = format.duration(one.value)
        case "bytes":
            value = format.size(one.value)
        case "share":
            value = format.share(one.value)
        case _:
            value = format.count(one.value)
    return f"{one.name}: {value} ({one.origin}, {one.source})"


def moment(unix_ns: int) -> str:
    """The day and the time, UTC: `2026-02-02 02:40:00`."""
    return format.moment(document.moment(unix_ns))


def _processes(count: int) -> str:
    return format.count(count, "process", "processes")


def _named(names: list[str]) -> str:
    shown = "; ".join(names[:_MOST_NAMED])
    return f"{shown}; and {format.count(len(names) - _MOST_NAMED)} more" if len(names) > _MOST_NAMED else shown

"""elbencho's phases as cases: consecutive phases of one configuration, until one of them repeats.

A phase that writes into a tree creates its files too: it measures both. Operations of writes and reads are I/Os of the
block size; elbencho prints their rate, and only 1.0 prints their number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from ioassay.importers import doubts, model
from ioassay.importers.elbencho.rows import Row, Totals
from ioassay.importers.model import Case, Doubt, FirstFinished, Measurement, Setting
from ioassay.importers.source import Refused
from ioassay.store.document import Operation
from ioassay.text.units import format_bytes, format_count

_NS_PER_MS = 1_000_000
_ENTRIES: Mapping[str, Operation] = {
    "MKDIRS": "create-tree",
    "MKBUCKETS": "create-tree",
    "RMDIRS": "remove-tree",
    "RMBUCKETS": "remove-tree",
    "RMFILES": "remove",
    "RMOBJECTS": "remove",
    "MULTIDEL": "remove",
    "STAT": "stat",
    "STATDIRS": "stat",
    "HEADOBJ": "stat",
    "LISTOBJ": "find",
    "LISTOBJ_P": "find",
}
"""Phases that count entries, and our names of them."""

_WRITES = re.compile(r"WRITE|RWMIX\d+|MIX-T\d+|NET")
_MIXES = re.compile(r"RWMIX\d+|MIX-T\d+")
_MEASURES_NOTHING = frozenset({"SYNC", "DROPCACHE"})
_LEFT_OUT = frozenset(
    {
        "PUTOBJACL",
        "GETOBJACL",
        "PUTBACL",
        "GETBACL",
        "MPUCOMPL",
        "GETOBJMD",
        "PUTOBJMD",
        "DELOBJMD",
        "GETBUCKETMD",
        "PUTBUCKETMD",
        "DELBUCKETMD",
    }
)
"""Phases of object stores that have no operation in our tables."""


def of(rows: Sequence[Row]) -> Iterator[Case]:
    """The cases. Raises `Refused` if no phase can be imported."""
    groups: list[list[Row]] = []
    for row in rows:
        if not groups or not _belongs(row, groups[-1]):
            groups.append([])
        groups[-1].append(row)
    cases = [case for group in groups if (case := _case(group)) is not None]
    if not cases:
        raise Refused(f"has no phase that ioassay knows, only {rows[0].phase}", rows[0].line)
    yield from cases


def _belongs(row: Row, group: Sequence[Row]) -> bool:
    first = group[0]
    same = (row.command, row.label, row.configuration) == (first.command, first.label, first.configuration)
    return same and all(row.phase != earlier.phase for earlier in group)


def _case(group: Sequence[Row]) -> Case | None:
    row = group[0]
    configuration = row.configuration
    clients = _number(configuration["hosts"])
    threads = _number(configuration["threads"])
    measured = [
        measurement for index, phase_row in enumerate(group) for measurement in _measured(phase_row, group[:index])
    ]
    if not measured:
        return None
    left_out = [phase_row.phase for phase_row in group if phase_row.phase in _LEFT_OUT]
    if left_out:
        measured[0] = replace(measured[0], doubts=[*measured[0].doubts, _not_imported(left_out)])
    return Case(
        tool_version=row.version,
        settings=_settings(row),
        amount=_amount(configuration) or _moved_in_all(group),
        clients=clients,
        ranks=clients * threads if clients and threads else None,
        measured=measured,
        command=row.command.strip(),
        started_unix_ns=measured[0].started_unix_ns,
    )


def _measured(row: Row, earlier_rows: Sequence[Row]) -> Iterator[Measurement]:
    """The measurements of a phase. Raises `Refused` for a phase of an unknown version."""
    name = row.phase.split("+")[0]  # +s and +r: the same phase stats and reads the files
    if name in _MEASURES_NOTHING or name in _LEFT_OUT:
        return
    if name in _ENTRIES:
        yield _of_entries(row, _ENTRIES[name])
    elif _WRITES.fullmatch(name):
        if _MIXES.fullmatch(name) and not row.last_mixed.has_io:
            raise Refused("has a mix of reads and writes in one number, as elbencho 1.9 and earlier print it", row.line)
        if row.last.has_io:
            yield _of_io(row, "write", row.first, row.last, earlier_rows)
        if row.last.entries_per_s is not None:
            yield _of_entries(row, "create")
        if row.last_mixed.has_io:
            yield _of_io(row, "read", row.first_mixed, row.last_mixed, earlier_rows)
    elif name == "READ":
        if row.last.has_io:
            yield _of_io(row, "read", row.first, row.last, earlier_rows)
        elif row.last.entries_per_s is not None:
            yield _of_entries(row, "read")  # empty files
    else:
        raise Refused(f"has a phase of an unknown version of elbencho: {row.phase!r}", row.line)


def _of_io(
    row: Row, operation: Operation, first: Totals | None, last: Totals, earlier_rows: Sequence[Row]
) -> Measurement:
    random = row.configuration["random"] == "1"
    return replace(
        _whole_phase(row, operation, last),
        order="random" if random else "sequential",
        transfer_bytes=_number(row.configuration["block size"]),
        bytes=last.bytes,
        operations=last.ios,
        rate_bytes_per_s=last.bytes_per_s,
        rate_operations_per_s=last.ios_per_s,
        first_finished=None
        if first is None
        else FirstFinished(
            at_ns=first.at_ms * _NS_PER_MS,
            bytes=first.bytes,
            operations=first.ios,
            rate_bytes_per_s=first.bytes_per_s,
            rate_operations_per_s=first.ios_per_s,
        ),
        samples=row.samples,
        latencies=last.io_latencies if last.longest_io_us != 0 else None,
        doubts=[*row.doubts, *_doubts(row, operation, earlier_rows), *_of_zero(last.longest_io_us, "I/O")],
    )


def _of_entries(row: Row, operation: Operation) -> Measurement:
    return replace(
        _whole_phase(row, operation, row.last),
        operations=row.last.entries,
        rate_operations_per_s=row.last.entries_per_s,
        matched=row.last.entries if operation == "find" else None,
        first_finished=None
        if row.first is None
        else FirstFinished(
            at_ns=row.first.at_ms * _NS_PER_MS,
            operations=row.first.entries,
            rate_operations_per_s=row.first.entries_per_s,
        ),
        latencies=row.last.entry_latencies if row.last.longest_entry_us != 0 else None,
        doubts=[
            *row.doubts,
            *doubts.short_phase(row.last.at_ms / 1000),
            *_of_zero(row.last.longest_entry_us, "operation"),
        ],
    )


def _whole_phase(row: Row, operation: Operation, last: Totals) -> Measurement:
    configuration = row.configuration
    files = _files(configuration)
    size = _number(configuration["file size"])
    return Measurement(
        file=row.file,
        line=row.line,
        phase=row.phase.lower(),
        operation=operation,
        layout=_layout(configuration),
        files=files,
        file_set_bytes=files * size if files is not None and size is not None else None,
        command=row.command.strip(),
        started_unix_ns=_moment_ns(row.began),
        duration_ns=last.at_ms * _NS_PER_MS or None,
    )


def _is_of_trees(configuration: Mapping[str, str]) -> bool:
    return configuration["path type"] in ("dir", "bucket", "hdfs")


def _layout(configuration: Mapping[str, str]) -> str:
    if not configuration["path type"]:
        return ""  # the console and live statistics do not print the type of paths
    if _is_of_trees(configuration):
        return "N-N"
    return "N-1" if configuration["paths"] == "1" else "N-M"


def _files(configuration: Mapping[str, str]) -> int | None:
    if not _is_of_trees(configuration):
        return _number(configuration["paths"])
    threads, hosts, dirs, files = (_number(configuration[name]) for name in ("threads", "hosts", "dirs", "files"))
    if threads is None or hosts is None or dirs is None or files is None:
        return None  # a tree that the user described
    return threads * hosts * max(1, dirs) * files  # without directories, each thread has its files in the path itself


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def _moment_ns(text: str) -> int | None:
    """When a phase began. Old versions print a time without milliseconds: that of the phase's end."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return round(moment.timestamp() * 1000) * _NS_PER_MS if "." in text and moment.tzinfo is not None else None


def _settings(row: Row) -> list[Setting]:
    configuration = row.configuration
    block, depth = _number(configuration["block size"]), configuration["IO depth"]
    settings = {
        "label": row.label,
        "paths": f"{configuration['path type']} {format_count(_number(configuration['paths']) or 0, 'path')}"
        if configuration["paths"]
        else "",
        "block": "" if block is None else f"blocks of {format_bytes(block)}",
        "order": "random" if configuration["random"] == "1" else "",
        "depth": f"I/O depth {depth}" if depth not in ("", "1") else "",
        "direct": "direct I/O" if configuration["direct IO"] == "1" else "",
        "shared": "paths not shared by hosts" if configuration["shared paths"] == "0" else "",
        "version": f"elbencho {row.version}" if row.version else "",
    }
    return model.nonempty_settings(settings)


def _amount(configuration: Mapping[str, str]) -> str:
    """The work of a thread, in words."""
    size = _number(configuration["file size"])
    size_text = f" of {format_bytes(size)}" if size else ""
    if not _is_of_trees(configuration):
        return f"files{size_text}" if size_text or configuration["path type"] else ""
    return f"{configuration['dirs'] or 'given'} directories with {configuration['files'] or 'given'} files{size_text}"


def _moved_in_all(group: Sequence[Row]) -> str:
    """The amount moved, in words: without a command line, executions on a console differ in nothing else."""
    if group[0].command:
        return ""
    bytes_ = max((row.last.bytes or 0 for row in group), default=0)
    entries = max((row.last.entries or 0 for row in group), default=0)
    amounts = (format_bytes(bytes_) if bytes_ else "", format_count(entries, "file") if entries else "")
    return ", ".join(filter(None, amounts))


def _doubts(row: Row, operation: Operation, earlier_rows: Sequence[Row]) -> Iterator[Doubt]:
    configuration = row.configuration
    through_the_cache = configuration["direct IO"] == "0" and configuration["path type"] in ("dir", "file", "blockdev")
    if operation == "write" and through_the_cache and not row.phase.startswith("NET"):
        # elbencho has no fsync: --sync is a phase of its own, after the time.
        yield replace(doubts.unsynced_write(""), remedy="measure again with --direct")
    phases = [earlier_row.phase for earlier_row in earlier_rows]
    cache_was_dropped = "DROPCACHE" in phases or "--dropcache" in row.command
    if operation == "read" and through_the_cache and "WRITE" in phases and not cache_was_dropped:
        yield doubts.may_be_cached("the same command wrote it before", "--direct")
    yield from doubts.short_phase(row.last.at_ms / 1000)


def _of_zero(longest_us: int | None, noun: str) -> Iterator[Doubt]:
    """Doubts latencies that are all 0: elbencho rounds down to microseconds, so it timed nothing."""
    if longest_us == 0:
        yield Doubt(
            kind="latencies-of-zero",
            message=f"elbencho says that no {noun} took longer than 0 µs, so it timed none of them; its rates are not "
            "concerned",
            remedy="do not use its latencies; measure again without --limitread and --limitwrite, or with --iodepth 1",
        )


def _not_imported(phases: Sequence[str]) -> Doubt:
    return Doubt(
        kind="not-imported",
        message=f"the command also did {', '.join(phases)}, which is left out: ioassay has no such operation",
        remedy="see elbencho's own output for it",
    )

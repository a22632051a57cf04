"""A document of fio: its jobs, with what each read and wrote. One entry may represent several processes.

With group_reporting it has the name of the first job of its group, the options of the last, and what all of them did:
the longest runtime, but the sum of the times that their processes took (`job_runtime`).

`io_bytes` counts KiB up to 2.20; from 2.21 on it counts bytes and `io_kbytes` stands beside it. Amount, time and rate
must agree, so that no unit is taken for another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ioassay.importers.fio.latencies import BeyondBins, Bins, beyond_bins, bins
from ioassay.importers.fio.options import Options
from ioassay.importers.json_text import Parsed, Repeated, lines_of
from ioassay.importers.source import Refused, Source
from ioassay.store.document import Operation

_OPERATIONS: tuple[Operation, ...] = ("read", "write")
_OTHERS = {"trim": "trimmed", "mixed": "read and wrote together (unified_rw_reporting)"}
"""Operations of fio that our tables do not have."""

_WRAPPED = 2**63
"""A counter from here on wrapped below 0: fio subtracts the reads of a verification from those it counted."""

_ALL = "All clients"
"""The entry with the sums of all clients."""

_UNKNOWN_ETA = 2**31 - 1
_EARLY_MS = 50
"""How much too early fio may end a job."""


@dataclass(frozen=True)
class IoTotals:
    """The reads or the writes of an entry. Up to 2.20, `bytes` are truncated to whole KiB."""

    line: int
    bytes: int
    operations: int | None
    operations_per_s: float
    runtime_ms: int
    short_ios: int
    bins: Bins
    beyond_bins: BeyondBins | None


@dataclass(frozen=True)
class Entry:
    """An entry of `jobs` or `client_stats`."""

    name: str
    group: int
    line: int
    error: int
    ignored_errors: int
    host: str | None
    options: Options
    moved: Mapping[Operation, IoTotals]
    runtime_ms: int
    """Reads and writes together: no process took longer."""
    processes_ms: int | None
    """The sum over its processes; `None` if not printed."""
    others: Sequence[str]
    """Other operations, in words."""
    impossible: Sequence[str]
    """Impossible counters that are left out, in words."""
    started_unix_ns: int | None


@dataclass(frozen=True)
class Execution:
    """One execution of fio."""

    line: int
    version: str
    entries: Sequence[Entry]
    hosts: int
    ended_unix_ns: int | None


def execution(source: Source, document: Parsed) -> Execution:
    """The execution of a document. Raises `Refused`."""
    is_of_clients = "client_stats" in document.values
    entries = document.parts("client_stats" if is_of_clients else "jobs")
    lines = _Lines(source, document, len(entries))
    parsed_entries = [
        _entry(entry_document, lines, index, _global(document, entry_document), is_of_clients)
        for index, entry_document in enumerate(entries)
        if not (is_of_clients and entry_document.values.get("jobname") == _ALL) and not _is_unused(entry_document)
    ]
    if not any(entry.moved for entry in parsed_entries):
        raise Refused(_nothing(parsed_entries), document.line)
    return Execution(
        document.line,
        document.text("fio version").removeprefix("fio-"),
        parsed_entries,
        len({entry.host for entry in parsed_entries}),
        _ended(document),
    )


def _is_unused(entry: Parsed) -> bool:
    """True for an entry that no job has filled: fio 3.33 prints one if only some jobs have `group_reporting`."""
    parts = [entry.part(name) for name in _OPERATIONS if name in entry.values]
    return "jobname" not in entry.values and bool(parts) and not any(part.integer("io_bytes") for part in parts)


def _nothing(entries: Sequence[Entry]) -> str:
    """Why there is no result."""
    failed = next((entry for entry in entries if entry.error), None)
    if failed is not None:
        return f"has no result: job {failed.name!r} ended with error {failed.error} before it moved any data"
    impossible = [description for entry in entries for description in entry.impossible]
    if impossible:
        return f"has no result: it has {impossible[0]}"
    stopped = next((entry for entry in entries if not entry.options.outlasts_ramp), None)
    if stopped is not None:
        ramp_s, runtime_s = stopped.options.ramp_ms / 1000, (stopped.options.most_runtime_ms or 0) / 1000
        return (
            f"has no result: job {stopped.name!r} ended within its ramp, as ramp_time ({ramp_s:g} s) is not shorter "
            f"than runtime ({runtime_s:g} s)"
        )
    others = [description for entry in entries for description in entry.others]
    return f"has no read and no write: its jobs {others[0]}" if others else "has no result: its jobs moved nothing"


def _entry(entry: Parsed, lines: _Lines, index: int, inherited: Mapping[str, str], is_of_clients: bool) -> Entry:
    job_options = entry.part("job options").values if entry.has("job options") else {}
    name = entry.text("jobname")
    options = Options(
        {key: _last(value) for key, value in {**inherited, **job_options}.items()}, bool(inherited or job_options)
    )
    parts: dict[Operation, Parsed] = {
        operation: entry.part(operation)
        for operation in _OPERATIONS
        if operation in entry.values or "mixed" not in entry.values
    }
    others = {name: entry.part(name) for name in _OTHERS if entry.has(name)}
    impossible = {
        operation: f"impossible counters for {operation} ({counter_text}), which is left out"
        for operation, part in (*parts.items(), *others.items())
        if (counter_text := _impossible(part))
    }
    moved = {
        operation: _moved(part, lines.of(index, operation))
        for operation, part in parts.items()
        if operation not in impossible and part.integer("io_bytes")
    }
    eta_s = entry.values.get("eta")
    if isinstance(eta_s, int) and _goes_on(eta_s, options, moved.values()):
        raise Refused(f"ends with a status before the end of job {name!r}: it was cut off", lines.of(index, "jobname"))
    possible = [part for operation, part in (*parts.items(), *others.items()) if operation not in impossible]
    return Entry(
        name=name,
        group=entry.integer("groupid"),
        line=lines.of(index, "jobname"),
        error=entry.integer("error"),
        ignored_errors=entry.integer("total_err") if entry.has("total_err") else 0,
        host=entry.text("hostname") if is_of_clients else None,
        options=options,
        moved=moved,
        runtime_ms=sum(part.integer("runtime") for part in possible),
        processes_ms=entry.integer("job_runtime") if entry.has("job_runtime") else None,
        others=[
            words
            for other, words in _OTHERS.items()
            if other in others
            and other not in impossible
            and others[other].integer("io_bytes")
            and not (other == "mixed" and parts)
        ],
        impossible=list(impossible.values()),
        started_unix_ns=entry.integer("job_start") * 1_000_000 if entry.has("job_start") else None,
    )


def _last(value: object) -> str:
    """Of an option that was set several times, fio uses the last."""
    return str(value[-1] if isinstance(value, Repeated) else value)


def _impossible(part: Parsed) -> str:
    """The first counter that went below 0, in words; empty if none did."""
    for name in ("io_bytes", "total_ios", "runtime"):
        value = part.values.get(name)
        if type(value) is int and value >= _WRAPPED:
            return f"{name} {value}"
    return ""


def _goes_on(eta_s: int, options: Options, moved: Collection[IoTotals]) -> bool:
    """True if fio expected the job to continue, or did not know and neither time nor amount was reached. At its end fio
    expects 0 s, or does not know if the job took less than about two seconds.
    """
    if 0 <= eta_s < _UNKNOWN_ETA:
        return eta_s > 0
    limit_ms, size = options.most_runtime_ms, options.size_bytes
    if limit_ms is None or not size or not sum(io.bytes for io in moved) % size:
        return False
    return all(io.runtime_ms < limit_ms - _EARLY_MS for io in moved)


def _moved(part: Parsed, line: int) -> IoTotals:
    parsed = Parsed(part.values, line, part.what)
    runtime_ms, kib_per_s, iops = parsed.integer("runtime"), parsed.integer("bw"), parsed.number("iops")
    is_exact = parsed.has("io_kbytes") or parsed.has("bw_bytes")
    moved = parsed.integer("io_bytes") * (1 if is_exact else 1024)
    operations = parsed.integer("total_ios") if parsed.has("total_ios") else None
    if runtime_ms:
        # fio truncates when it divides, and old versions truncate to KiB before.
        least, most = (amount * 1000 / runtime_ms / 1024 for amount in (moved, moved + (0 if is_exact else 1024)))
        fits = least - 1.01 <= kib_per_s <= most + 0.01
        if parsed.has("bw_bytes"):
            fits = fits and abs(parsed.integer("bw_bytes") - moved * 1000 / runtime_ms) <= 1.01
        if operations is not None:
            fits = fits and abs(operations * 1000 / runtime_ms - iops) <= 1.01
        if not fits:
            raise Refused(f"has amounts, times and rates in {part.what} that do not agree, as fio's do", line)
    return IoTotals(
        line,
        moved,
        operations,
        iops,
        runtime_ms,
        parsed.integer("short_ios") if parsed.has("short_ios") else 0,
        bins(parsed),
        beyond_bins(parsed),
    )


def _global(document: Parsed, entry: Parsed) -> dict[str, str]:
    """The global options; with several clients, those of the entry's client."""
    options = document.values.get("global options", {})
    if isinstance(options, list):
        same = [
            client_options
            for client_options in options
            if isinstance(client_options, dict) and client_options.get("hostname") == entry.values.get("hostname")
        ]
        options = same[0] if same else {}
    return dict(options) if isinstance(options, dict) else {}


def _ended(document: Parsed) -> int | None:
    """When the document was written. Milliseconds count only if they agree with the seconds: programs that merge or
    rewrite documents may leave anything there.
    """
    values = (document.values.get(name) for name in ("timestamp", "timestamp_ms"))
    second, ms = (value if type(value) is int and value > 0 else None for value in values)
    if ms is not None and second in (None, ms // 1000):
        return ms * 1_000_000
    return None if second is None else second * 1_000_000_000


class _Lines:
    """The lines of the entries' parts, as far as the document has a line for each."""

    def __init__(self, source: Source, document: Parsed, entries: int) -> None:
        self._first = document.line
        names = ("jobname", *_OPERATIONS)
        self._found = {name: list(self._lines(source, document, name)) for name in names}
        self._found = {name: lines for name, lines in self._found.items() if len(lines) == entries}

    @staticmethod
    def _lines(source: Source, document: Parsed, name: str) -> Iterator[int]:
        value = r"\s*:\s*\{" if name in _OPERATIONS else r"\s*:"
        yield from lines_of(source, document, f'"{name}"{value}')

    def of(self, index: int, name: str) -> int:
        """The line of a part of an entry, or the document's."""
        return self._found[name][index] if name in self._found else self._first

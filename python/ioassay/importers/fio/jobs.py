"""A document of fio: its jobs, with what each read and wrote. One entry may stand for several processes.

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
"""What fio measures and the tables have no operation for."""

_WRAPPED = 2**63
"""From here on a counter went below 0: reads of a verification are taken back from those that were counted."""

_ALL = "All clients"
"""The entry in which fio adds up those of all clients."""

_UNKNOWN_ETA = 2**31 - 1
_EARLY_MS = 50
"""What fio may end early."""


@dataclass(frozen=True)
class Moved:
    """What an entry did of one operation. Up to 2.20 `bytes` are whole KiB, without the rest."""

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
    moved: Mapping[Operation, Moved]
    runtime_ms: int
    """Of all directions together: no process of it took longer."""
    processes_ms: int | None
    """What its processes took together; `None` where it is not told."""
    others: Sequence[str]
    """What else it did, in words."""
    impossible: Sequence[str]
    """What of it is left out because it cannot be, in words."""
    started_unix_ns: int | None


@dataclass(frozen=True)
class Execution:
    """One execution of fio."""

    line: int
    version: str
    entries: Sequence[Entry]
    hosts: int
    ended_unix_ns: int | None


def execution(source: Source, told: Parsed) -> Execution:
    """The execution that a document tells of. Raises `Refused`."""
    is_of_clients = "client_stats" in told.values
    entries = told.parts("client_stats" if is_of_clients else "jobs")
    lines = _Lines(source, told, len(entries))
    found = [
        _entry(one, lines, at, _global(told, one), is_of_clients)
        for at, one in enumerate(entries)
        if not (is_of_clients and one.values.get("jobname") == _ALL) and not _is_unused(one)
    ]
    if not any(entry.moved for entry in found):
        raise Refused(_nothing(found), told.line)
    return Execution(
        told.line,
        told.text("fio version").removeprefix("fio-"),
        found,
        len({entry.host for entry in found}),
        _ended(told),
    )


def _is_unused(told: Parsed) -> bool:
    """True for an entry that no job has filled: fio 3.33 prints one where only some jobs have `group_reporting`."""
    parts = [told.part(name) for name in _OPERATIONS if name in told.values]
    return "jobname" not in told.values and bool(parts) and not any(part.whole("io_bytes") for part in parts)


def _nothing(entries: Sequence[Entry]) -> str:
    """Why there is no result."""
    failed = next((entry for entry in entries if entry.error), None)
    if failed is not None:
        return f"has no result: job {failed.name!r} ended with error {failed.error} before it moved any data"
    impossible = [what for entry in entries for what in entry.impossible]
    if impossible:
        return f"has no result: it has {impossible[0]}"
    stopped = next((entry for entry in entries if not entry.options.outlasts_ramp), None)
    if stopped is not None:
        ramp_s, runtime_s = stopped.options.ramp_ms / 1000, (stopped.options.most_runtime_ms or 0) / 1000
        return (
            f"has no result: job {stopped.name!r} ended within its ramp, as ramp_time ({ramp_s:g} s) is not shorter "
            f"than runtime ({runtime_s:g} s)"
        )
    others = [what for entry in entries for what in entry.others]
    return f"has no read and no write: its jobs {others[0]}" if others else "has no result: its jobs moved nothing"


def _entry(told: Parsed, lines: _Lines, at: int, inherited: Mapping[str, str], is_of_clients: bool) -> Entry:
    own = told.part("job options").values if told.has("job options") else {}
    name = told.text("jobname")
    options = Options({key: _last(value) for key, value in {**inherited, **own}.items()}, bool(inherited or own))
    parts: dict[Operation, Parsed] = {
        operation: told.part(operation)
        for operation in _OPERATIONS
        if operation in told.values or "mixed" not in told.values
    }
    others = {name: told.part(name) for name in _OTHERS if told.has(name)}
    impossible = {
        operation: f"impossible counters for {operation} ({what}), which is left out"
        for operation, part in (*parts.items(), *others.items())
        if (what := _impossible(part))
    }
    moved = {
        operation: _moved(part, lines.of(at, operation))
        for operation, part in parts.items()
        if operation not in impossible and part.whole("io_bytes")
    }
    eta_s = told.values.get("eta")
    if isinstance(eta_s, int) and _goes_on(eta_s, options, moved.values()):
        raise Refused(f"ends with a status before the end of job {name!r}: it was cut off", lines.of(at, "jobname"))
    possible = [part for operation, part in (*parts.items(), *others.items()) if operation not in impossible]
    return Entry(
        name=name,
        group=told.whole("groupid"),
        line=lines.of(at, "jobname"),
        error=told.whole("error"),
        ignored_errors=told.whole("total_err") if told.has("total_err") else 0,
        host=told.text("hostname") if is_of_clients else None,
        options=options,
        moved=moved,
        runtime_ms=sum(part.whole("runtime") for part in possible),
        processes_ms=told.whole("job_runtime") if told.has("job_runtime") else None,
        others=[
            words
            for other, words in _OTHERS.items()
            if other in others
            and other not in impossible
            and others[other].whole("io_bytes")
            and not (other == "mixed" and parts)
        ],
        impossible=list(impossible.values()),
        started_unix_ns=told.whole("job_start") * 1_000_000 if told.has("job_start") else None,
    )


def _last(value: object) -> str:
    """Of an option that was given several times fio takes the last."""
    return str(value[-1] if isinstance(value, Repeated) else value)


def _impossible(told: Parsed) -> str:
    """The first counter that went below 0, in words; empty where none did."""
    for name in ("io_bytes", "total_ios", "runtime"):
        value = told.values.get(name)
        if type(value) is int and value >= _WRAPPED:
            return f"{name} {value}"
    return ""


def _goes_on(eta_s: int, options: Options, moved: Collection[Moved]) -> bool:
    """True if fio expected the job to take longer, or did not know and neither time nor amount was reached. At its end
    fio expects nothing, or knows nothing where it took less than some two seconds.
    """
    if 0 <= eta_s < _UNKNOWN_ETA:
        return eta_s > 0
    wanted_ms, size = options.most_runtime_ms, options.size_bytes
    if wanted_ms is None or not size or not sum(one.bytes for one in moved) % size:
        return False
    return all(one.runtime_ms < wanted_ms - _EARLY_MS for one in moved)


def _moved(told: Parsed, line: int) -> Moved:
    at = Parsed(told.values, line, told.what)
    runtime_ms, kib_per_s, iops = at.whole("runtime"), at.whole("bw"), at.number("iops")
    is_exact = at.has("io_kbytes") or at.has("bw_bytes")
    moved = at.whole("io_bytes") * (1 if is_exact else 1024)
    operations = at.whole("total_ios") if at.has("total_ios") else None
    if runtime_ms:
        # fio drops what remains when it divides, and old versions the rest of a KiB before.
        least, most = (amount * 1000 / runtime_ms / 1024 for amount in (moved, moved + (0 if is_exact else 1024)))
        fits = least - 1.01 <= kib_per_s <= most + 0.01
        if at.has("bw_bytes"):
            fits = fits and abs(at.whole("bw_bytes") - moved * 1000 / runtime_ms) <= 1.01
        if operations is not None:
            fits = fits and abs(operations * 1000 / runtime_ms - iops) <= 1.01
        if not fits:
            raise Refused(f"has amounts, times and rates in {told.what} that do not agree, as fio's do", line)
    return Moved(
        line,
        moved,
        operations,
        iops,
        runtime_ms,
        at.whole("short_ios") if at.has("short_ios") else 0,
        bins(at),
        beyond_bins(at),
    )


def _global(told: Parsed, entry: Parsed) -> dict[str, str]:
    """The global options; several clients have a list of them."""
    found = told.values.get("global options", {})
    if isinstance(found, list):
        same = [one for one in found if isinstance(one, dict) and one.get("hostname") == entry.values.get("hostname")]
        found = same[0] if same else {}
    return dict(found) if isinstance(found, dict) else {}


def _ended(told: Parsed) -> int | None:
    """When the document was written. Milliseconds count only where they are of the same second: of what merged or
    rewrote the document they may be anything, and no result rests on them.
    """
    values = (told.values.get(name) for name in ("timestamp", "timestamp_ms"))
    second, ms = (value if type(value) is int and value > 0 else None for value in values)
    if ms is not None and second in (None, ms // 1000):
        return ms * 1_000_000
    return None if second is None else second * 1_000_000_000


class _Lines:
    """Where in the file the entries' parts stand, as far as the document has a line for each."""

    def __init__(self, source: Source, told: Parsed, entries: int) -> None:
        self._first = told.line
        names = ("jobname", *_OPERATIONS)
        self._found = {name: list(self._lines(source, told, name)) for name in names}
        self._found = {name: lines for name, lines in self._found.items() if len(lines) == entries}

    @staticmethod
    def _lines(source: Source, told: Parsed, name: str) -> Iterator[int]:
        value = r"\s*:\s*\{" if name in _OPERATIONS else r"\s*:"
        yield from lines_of(source, told, f'"{name}"{value}')

    def of(self, at: int, name: str) -> int:
        """The line of a part of an entry, or that of the document."""
        return self._found[name][at] if name in self._found else self._first

"""Counters of servers beside a run of the same minutes: as documents of hosts, as agents report them second by second.

What was counted between two readings is spread evenly over the seconds between them. A second that no interval covers
whole has no document: it is unknown, not 0.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ioassay.errors import UsageError
from ioassay.importers.gather import Files
from ioassay.importers.numbers import NS_PER_S
from ioassay.importers.servers.cases import ReadCounters
from ioassay.importers.servers.counters import EARLIEST_NS, Interval, Origin, Reading, Series, series
from ioassay.importers.source import Refused, below
from ioassay.store.lock import Lock
from ioassay.store.moments import moment
from ioassay.store.origin import ImportedFile, RefusedFile
from ioassay.store.run_files import WATCH, WATCH_DOCUMENT, open_run, require_run
from ioassay.store.watch_document import Role, WatchDocument, WatchedHost, read_watch

MARGIN_NS: Final = 600 * NS_PER_S
"""So much before and after a run is kept."""

MOST_AHEAD_S: Final = 2 * 86_400

_LOOK_AFTER_NS: Final = NS_PER_S // 10
"""Agents look so long after each second: their documents are of the second before that."""

_WHOLE_NS: Final = NS_PER_S - 1_000_000
"""A second that is covered by so much is covered."""


@dataclass(frozen=True)
class _Kind:
    """The kind of documents that counters become."""

    name: str
    labels: tuple[str, ...]
    """With the name of what counts, and of its file system."""
    role: Role
    bytes: Mapping[str, str]
    """By counter the field with its bytes."""
    times: Mapping[str, str]
    """By counter the field with its number."""


_KINDS: Final[Mapping[Origin, _Kind]] = {
    "target": _Kind(
        "lustre_target",
        ("target", "file_system"),
        "server",
        {"read": "read_bytes", "write": "write_bytes"},
        {"read": "read_requests", "write": "write_requests"},
    ),
    "client": _Kind(
        "lustre",
        ("", "file_system"),
        "client",
        {"read": "read_bytes", "write": "write_bytes"},
        {"read": "read_calls", "write": "write_calls", "open": "open_calls", "close": "close_calls"},
    ),
    "network": _Kind(
        "network",
        ("interface", ""),
        "server",
        {"receive": "received_bytes", "send": "sent_bytes"},
        {"receive": "received_packets", "send": "sent_packets"},
    ),
    "gpfs": _Kind(
        "gpfs",
        ("", "file_system"),
        "client",
        {"read": "read_bytes", "write": "write_bytes"},
        {"read": "reads", "write": "writes", "open": "opens", "close": "closes"},
    ),
}


@dataclass(frozen=True)
class Host:
    """The counters of a server, and the file that has them."""

    name: str
    file: ImportedFile
    series: Sequence[Series]


def gather(read: ReadCounters, paths: Sequence[Path], ahead_ns: int) -> tuple[list[Host], list[RefusedFile]]:
    """The hosts whose counters lie in files and below directories, and the files that are refused."""
    files = Files(paths)
    hosts: dict[str, Host] = {}
    for path in below(paths):
        if (source := files.open(path)) is not None:
            try:
                found = host(files.read[path], read(source), ahead_ns)
                if same := [one for one in hosts.values() if one.file.sha256 == source.sha256]:
                    raise Refused(f"has the same content as {same[0].file.path}: its bytes would count twice")
                if found.name in hosts:
                    raise Refused(f"would be a host called as that of {hosts[found.name].file.path}: rename it")
                hosts[found.name] = found
            except Refused as error:
                files.refuse(path, error)
    return list(hosts.values()), files.refused


def host(file: ImportedFile, readings: Iterable[Reading], ahead_ns: int = 0) -> Host:
    """The host that a file is named after. `ahead_ns`: so far its clock is ahead of the run's."""
    found = [one for one in series(_earlier(readings, ahead_ns)) if one.of.origin in _KINDS and one.intervals]
    if not found:
        raise Refused("has one reading of its counters: a time line needs two, before and after the run, or more")
    if any(one.readings[0].at_ns is not None and one.readings[0].at_ns < EARLIEST_NS for one in found):
        raise Refused(
            "has times since the server's boot, as Lustre 2.15 prints them: print `date +%s.%N` before each reading"
        )
    return Host(_name(Path(file.path).stem), file, found)


def _earlier(readings: Iterable[Reading], ahead_ns: int) -> Iterator[Reading]:
    for one in readings:
        at, began = one.at_ns, one.began_ns
        yield replace(
            one,
            at_ns=None if at is None else at - ahead_ns,
            began_ns=None if began is None else began - ahead_ns,
        )


def _name(stem: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.")[:200] or "server"


def store(run: Path, hosts: Sequence[Host], began_ns: int, ended_ns: int) -> list[WatchedHost]:
    """Stores the hosts beside the run that took place from `began_ns` to `ended_ns`. One that was imported before is
    replaced. Raises `UsageError` for counters of another time, and for a host that an agent watched.
    """
    documents = {one.name: list(_documents(one, began_ns - MARGIN_NS, ended_ns + MARGIN_NS)) for one in hosts}
    for one in hosts:
        _require_same_time(one, began_ns, ended_ns)
    with open_run(run) as directory:
        require_run(directory)
        directory.require_own("Work on a copy (cp -r).")
        lock = Lock.acquire(directory)
        try:
            watch = read_watch(directory) or WatchDocument()
            for one in hosts:
                before = next((entry for entry in watch.hosts if entry.name == one.name), None)
                if before is not None and not before.imported:
                    raise UsageError(
                        f"{one.name} was watched by an agent during the run.",
                        f"Rename {one.file.path}: counters are of a host called as their file.",
                    )
                kept = [entry for entry in watch.hosts if entry.name != one.name]
                watch.hosts = [*kept, _entry(one)]
            directory.make_directory(WATCH)
            for one in hosts:
                lines = "".join(json.dumps(document) + "\n" for document in documents[one.name])
                directory.write(f"{WATCH}/{_file(one)}", lines.encode())
            directory.write(WATCH_DOCUMENT, watch.model_dump_json(indent=2).encode())
        finally:
            lock.release()
    return [entry for entry in watch.hosts if entry.name in documents]


def _file(one: Host) -> str:
    return f"{one.name}.counters.jsonl"


def _entry(one: Host) -> WatchedHost:
    roles = {_KINDS[counted.of.origin].role for counted in one.series}
    lengths = [interval.end_ns - interval.begin_ns for counted in one.series for interval in counted.intervals]
    return WatchedHost(
        name=one.name,
        role="server" if "server" in roles else "client",
        file=_file(one),
        devices=[],
        imported=[one.file],
        interval_s=max(lengths) / NS_PER_S,
    )


def _require_same_time(one: Host, began_ns: int, ended_ns: int) -> None:
    moments = [
        at for counted in one.series for interval in counted.intervals for at in (interval.begin_ns, interval.end_ns)
    ]
    first, last = min(moments), max(moments)
    if last <= began_ns or first >= ended_ns:
        raise UsageError(
            f"{one.file.path} has counters from {moment(first)} to {moment(last)}, the run took place from "
            f"{moment(began_ns)} to {moment(ended_ns)}.",
            "Use counters of the same time; if the server's clock is off, say by how much with --clock-ahead.",
        )


def _documents(one: Host, begin_ns: int, end_ns: int) -> Iterator[dict[str, object]]:
    """The documents of a host, in the order of time."""
    seconds: dict[tuple[Origin, str, str], _Seconds] = defaultdict(lambda: _Seconds(begin_ns, end_ns))
    # A target's own counters have all its jobs; those of the jobs stand for it where they are alone.
    whole = {
        (counted.of.origin, counted.of.name) for counted in one.series if counted.of.job is None and _moves(counted)
    }
    for counted in one.series:
        of = counted.of
        if of.job is None or (of.origin, of.name) not in whole:
            spread = seconds[of.origin, of.name, of.file_system]
            for interval in counted.intervals:
                if interval.end_ns > begin_ns and interval.begin_ns < end_ns:
                    spread.add(interval, _KINDS[of.origin], is_part=of.job is not None)
    lines = []
    for (origin, name, file_system), spread in seconds.items():
        kind = _KINDS[origin]
        labels = {label: value for label, value in zip(kind.labels, (name, file_system), strict=True) if label}
        if origin == "gpfs":
            labels["cluster"] = ""
        lines += [
            {"kind": kind.name, "second": second, "node": one.name, **labels, **values}
            for second, values in spread.whole()
        ]
    yield from sorted(lines, key=lambda line: line["second"])  # type: ignore[arg-type, return-value]


def _moves(counted: Series) -> bool:
    return any(name in reading.counts for reading in counted.readings for name in ("read", "write"))


class _Seconds:
    """Amounts by second, and how much of each second is known, from `begin_ns` to `end_ns`."""

    def __init__(self, begin_ns: int, end_ns: int) -> None:
        self._first, self._last = begin_ns // NS_PER_S, end_ns // NS_PER_S
        self._amounts: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._covered_ns: dict[int, int] = defaultdict(int)

    def add(self, interval: Interval, kind: _Kind, *, is_part: bool) -> None:
        """Spreads an interval. `is_part`: it is of one of several jobs, and the seconds between them are known too."""
        if interval.counts is None:
            return
        length = interval.end_ns - interval.begin_ns
        amounts = {
            field: value
            for fields, part in ((kind.bytes, "bytes"), (kind.times, "times"))
            for name, field in fields.items()
            if name in interval.counts and (value := getattr(interval.counts[name], part)) is not None
        }
        first = max((interval.begin_ns - _LOOK_AFTER_NS) // NS_PER_S, self._first)
        last = min((interval.end_ns - 1 - _LOOK_AFTER_NS) // NS_PER_S, self._last)
        for second in range(first, last + 1):
            begin = max(interval.begin_ns, second * NS_PER_S + _LOOK_AFTER_NS)
            end = min(interval.end_ns, (second + 1) * NS_PER_S + _LOOK_AFTER_NS)
            self._covered_ns[second] += NS_PER_S if is_part else end - begin
            for name, value in amounts.items():
                at, until = begin - interval.begin_ns, end - interval.begin_ns
                # The parts of all seconds add up to the whole.
                self._amounts[second][name] += value * until // length - value * at // length

    def whole(self) -> Iterator[tuple[int, dict[str, int]]]:
        """The seconds that are known whole."""
        for second in sorted(self._amounts):
            if self._covered_ns[second] >= _WHOLE_NS:
                yield second, dict(self._amounts[second])

"""Counters of servers beside a run of the same time: documents of hosts for each second, like those of agents.

The difference between two readings is spread evenly over the seconds between them. A second that intervals do not
cover entirely has no document: it is unknown, not 0.
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
"""Counters are kept up to this long before and after a run."""

MOST_AHEAD_S: Final = 2 * 86_400

_LOOK_AFTER_NS: Final = NS_PER_S // 10
"""Agents sample this long after each second, for the second before."""

_WHOLE_NS: Final = NS_PER_S - 1_000_000
"""Nanoseconds of a second that must be covered for it to count."""


@dataclass(frozen=True)
class _Kind:
    """The kind of document made of counters."""

    name: str
    labels: tuple[str, ...]
    """The labels of the source's name and of its file system."""
    role: Role
    bytes: Mapping[str, str]
    """The field of the bytes, by counter."""
    times: Mapping[str, str]
    """The field of the number, by counter."""


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
    """The counters of a server, with their file."""

    name: str
    file: ImportedFile
    series: Sequence[Series]


def gather(read: ReadCounters, paths: Sequence[Path], ahead_ns: int) -> tuple[list[Host], list[RefusedFile]]:
    """The hosts whose counters are in files and below directories, and the files that are refused."""
    files = Files(paths)
    hosts: dict[str, Host] = {}
    for path in below(paths):
        if (source := files.open(path)) is not None:
            try:
                parsed_host = host(files.read[path], read(source), ahead_ns)
                if same := [other for other in hosts.values() if other.file.sha256 == source.sha256]:
                    raise Refused(f"has the same content as {same[0].file.path}: its bytes would count twice")
                if parsed_host.name in hosts:
                    raise Refused(f"would be a host called as that of {hosts[parsed_host.name].file.path}: rename it")
                hosts[parsed_host.name] = parsed_host
            except Refused as error:
                files.refuse(path, error)
    return list(hosts.values()), files.refused


def host(file: ImportedFile, readings: Iterable[Reading], ahead_ns: int = 0) -> Host:
    """The host that a file is named after. `ahead_ns` is how far its clock is ahead of the run's."""
    usable_series = [
        counted
        for counted in series(_earlier(readings, ahead_ns))
        if counted.counter_source.origin in _KINDS and counted.intervals
    ]
    if not usable_series:
        raise Refused("has one reading of its counters: a time line needs two, before and after the run, or more")
    if any(
        counted.readings[0].at_ns is not None and counted.readings[0].at_ns < EARLIEST_NS for counted in usable_series
    ):
        raise Refused(
            "has times since the server's boot, as Lustre 2.15 prints them: print `date +%s.%N` before each reading"
        )
    return Host(_name(Path(file.path).stem), file, usable_series)


def _earlier(readings: Iterable[Reading], ahead_ns: int) -> Iterator[Reading]:
    for reading in readings:
        at_ns, began_ns = reading.at_ns, reading.began_ns
        yield replace(
            reading,
            at_ns=None if at_ns is None else at_ns - ahead_ns,
            began_ns=None if began_ns is None else began_ns - ahead_ns,
        )


def _name(stem: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.")[:200] or "server"


def store(run: Path, hosts: Sequence[Host], began_ns: int, ended_ns: int) -> list[WatchedHost]:
    """Stores the hosts beside the run that lasted from `began_ns` to `ended_ns`. A host that was imported before is
    replaced. Raises `UsageError` for counters of another time, and for a host watched by an agent.
    """
    documents = {host_.name: list(_documents(host_, began_ns - MARGIN_NS, ended_ns + MARGIN_NS)) for host_ in hosts}
    for host_ in hosts:
        _require_same_time(host_, began_ns, ended_ns)
    with open_run(run) as directory:
        require_run(directory)
        directory.require_own("Work on a copy (cp -r).")
        lock = Lock.acquire(directory)
        try:
            watch = read_watch(directory) or WatchDocument()
            for host_ in hosts:
                stored_entry = next((entry for entry in watch.hosts if entry.name == host_.name), None)
                if stored_entry is not None and not stored_entry.imported:
                    raise UsageError(
                        f"{host_.name} was watched by an agent during the run.",
                        f"Rename {host_.file.path}: counters are of a host called as their file.",
                    )
                other_entries = [entry for entry in watch.hosts if entry.name != host_.name]
                watch.hosts = [*other_entries, _entry(host_)]
            directory.make_directory(WATCH)
            for host_ in hosts:
                lines = "".join(json.dumps(document) + "\n" for document in documents[host_.name])
                directory.write(f"{WATCH}/{_file(host_)}", lines.encode())
            directory.write(WATCH_DOCUMENT, watch.model_dump_json(indent=2).encode())
        finally:
            lock.release()
    return [entry for entry in watch.hosts if entry.name in documents]


def _file(host_: Host) -> str:
    return f"{host_.name}.counters.jsonl"


def _entry(host_: Host) -> WatchedHost:
    roles = {_KINDS[counted.counter_source.origin].role for counted in host_.series}
    lengths = [interval.end_ns - interval.begin_ns for counted in host_.series for interval in counted.intervals]
    return WatchedHost(
        name=host_.name,
        role="server" if "server" in roles else "client",
        file=_file(host_),
        devices=[],
        imported=[host_.file],
        interval_s=max(lengths) / NS_PER_S,
    )


def _require_same_time(host_: Host, began_ns: int, ended_ns: int) -> None:
    moments = [
        moment_ns
        for counted in host_.series
        for interval in counted.intervals
        for moment_ns in (interval.begin_ns, interval.end_ns)
    ]
    first, last = min(moments), max(moments)
    if last <= began_ns or first >= ended_ns:
        raise UsageError(
            f"{host_.file.path} has counters from {moment(first)} to {moment(last)}, the run took place from "
            f"{moment(began_ns)} to {moment(ended_ns)}.",
            "Use counters of the same time; if the server's clock is off, say by how much with --clock-ahead.",
        )


def _documents(host_: Host, begin_ns: int, end_ns: int) -> Iterator[dict[str, object]]:
    """The documents of a host, in the order of time."""
    seconds: dict[tuple[Origin, str, str], _Seconds] = defaultdict(lambda: _Seconds(begin_ns, end_ns))
    # A target's own counters include all its jobs; without them, those of the jobs represent it.
    complete = {
        (counted.counter_source.origin, counted.counter_source.name)
        for counted in host_.series
        if counted.counter_source.job is None and _moves(counted)
    }
    for counted in host_.series:
        counter_source = counted.counter_source
        if counter_source.job is None or (counter_source.origin, counter_source.name) not in complete:
            spread = seconds[counter_source.origin, counter_source.name, counter_source.file_system]
            for interval in counted.intervals:
                if interval.end_ns > begin_ns and interval.begin_ns < end_ns:
                    spread.add(interval, _KINDS[counter_source.origin], is_part=counter_source.job is not None)
    lines = []
    for (origin, name, file_system), spread in seconds.items():
        kind = _KINDS[origin]
        labels = {label: value for label, value in zip(kind.labels, (name, file_system), strict=True) if label}
        if origin == "gpfs":
            labels["cluster"] = ""
        lines += [
            {"kind": kind.name, "second": second, "node": host_.name, **labels, **values}
            for second, values in spread.covered_seconds()
        ]
    yield from sorted(lines, key=lambda line: line["second"])  # type: ignore[arg-type, return-value]


def _moves(counted: Series) -> bool:
    return any(name in reading.counts for reading in counted.readings for name in ("read", "write"))


class _Seconds:
    """Amounts by second, and how much of each second is covered, from `begin_ns` to `end_ns`."""

    def __init__(self, begin_ns: int, end_ns: int) -> None:
        self._first, self._last = begin_ns // NS_PER_S, end_ns // NS_PER_S
        self._amounts: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._covered_ns: dict[int, int] = defaultdict(int)

    def add(self, interval: Interval, kind: _Kind, *, is_part: bool) -> None:
        """Spreads an interval. `is_part`: it is of one of several jobs, and the seconds between intervals are known
        too.
        """
        if interval.counts is None:
            return
        length = interval.end_ns - interval.begin_ns
        amounts = {
            field: value
            for fields, attribute in ((kind.bytes, "bytes"), (kind.times, "times"))
            for name, field in fields.items()
            if name in interval.counts and (value := getattr(interval.counts[name], attribute)) is not None
        }
        first = max((interval.begin_ns - _LOOK_AFTER_NS) // NS_PER_S, self._first)
        last = min((interval.end_ns - 1 - _LOOK_AFTER_NS) // NS_PER_S, self._last)
        for second in range(first, last + 1):
            begin = max(interval.begin_ns, second * NS_PER_S + _LOOK_AFTER_NS)
            end = min(interval.end_ns, (second + 1) * NS_PER_S + _LOOK_AFTER_NS)
            self._covered_ns[second] += NS_PER_S if is_part else end - begin
            for name, value in amounts.items():
                begin_offset, end_offset = begin - interval.begin_ns, end - interval.begin_ns
                # The amounts of all seconds add up to the interval's.
                self._amounts[second][name] += value * end_offset // length - value * begin_offset // length

    def covered_seconds(self) -> Iterator[tuple[int, dict[str, int]]]:
        """The seconds that are covered."""
        for second in sorted(self._amounts):
            if self._covered_ns[second] >= _WHOLE_NS:
                yield second, dict(self._amounts[second])

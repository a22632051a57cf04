"""Traces of DFTracer → the profile of an application.

Each trace is read twice: first what names stand for and from when to when it goes, then its calls. What is kept grows
with processes, files and operations, not with calls.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ioassay.errors import UsageError
from ioassay.protocol.record_layout import FIRST_TRANSFER, LATENCY_BEGINS_TICKS, SIZE_BEGINS_BYTES
from ioassay.protocol.record_layout import OPERATIONS as CLASSES
from ioassay.results import other_files
from ioassay.results.darshan.timelines import Moves, Timelines, timeline_step
from ioassay.results.dftracer import calls
from ioassay.results.dftracer.lines import Lines, parsed
from ioassay.results.dftracer.recognise import trace_files
from ioassay.results.dftracer.regions import Regions, Thread, is_annotated
from ioassay.results.profile_model import (
    COMMON_SIZES,
    DIRECTION,
    ERRORS,
    FILE_OPERATIONS,
    FILE_PROCESSES,
    FILE_SIZES,
    FILES,
    IN_FLIGHT,
    LATENCIES,
    MAPS,
    ON_STORAGE,
    PROCESS_OPERATIONS,
    PROCESSES,
    FileKind,
    Loss,
    Profile,
)
from ioassay.results.traced_files import elsewhere, kind_of

_NS = 1e9
_MICROSECOND_NS = 1000
_UNITS_NS = {"NS": 1, "US": _MICROSECOND_NS, "MS": 10**6, "SEC": 10**9, "S": 10**9}
"""Of the times of a trace, by its `time_metric`."""

_NAMING = re.compile(rb'"name":\s*"(?:FH|SH|HH|CM|time_metric)"')
_OF_CATEGORY = re.compile(rb'"cat":\s*"([^"]*)"')
_OF_NODE = re.compile(rb'"hhash":\s*"([^"]*)"')
_NO_REGIONS = frozenset(category.encode() for category in calls.OF_LIBRARIES)
_MOMENT = re.compile(rb'"ts":\s*(\d{1,18})')
_MOST_UNIX_NS = 2**62
_LONGEST_NS = 100 * 365 * 86400 * 10**9

_MOST_PENDING = 1 << 16
_MOST_COMMON = 4
_MOST_SIZES = 64
"""Sizes of requests of a file and operation that are counted each; those that come later are not."""

_MAPPED_AND_MOVED = frozenset(CLASSES[FIRST_TRANSFER:])

_UNKNOWN = (
    "DFTracer has times of 1 µs: what is shorter counts as 0, and its latency as below 1 µs.",
    "A trace does not say whether an open, a removal or a rename succeeded, nor with which error a call failed.",
    "DFTracer does not record fprintf, fscanf, the calls of the C library that need no lock (getc_unlocked), io_uring, "
    "and stat with its like of programs built against glibc 2.33 or newer.",
    "Of copy_file_range and sendfile, a trace names only the file that was read.",
    "A trace names files, no descriptors: order and offsets of reads and writes without one of their own (pread) are "
    "known only of files that a process has open once at a time.",
    "DFTracer does not record the sizes of files, the block of the file system, users, and what the kernel counted.",
    "What calls that move no bytes took is known of each process and operation, not of each process over time.",
)

_UNCOUNTED = frozenset({"stat", "glob", "copy to", "submit read", "submit write", "accept", "connect"}) | {
    name for name in CLASSES if name.startswith("MPI")
}


def load_profile(paths: Sequence[Path]) -> Profile:
    """The profile of all traces together. Raises `UsageError` where there is none, or where none names files."""
    traces = [file for path in paths for file in trace_files(path)]
    return _Reading(traces, tuple(map(str, paths))).profile()


@dataclass
class _Operation:
    """What a process did to a file by an operation."""

    calls: int = 0
    failed: int | None = 0
    bytes: int = 0
    ns: int = 0
    slowest_ns: int = 0
    consecutive: int | None = 0
    forward: int | None = 0
    strided: int | None = 0
    begin: int | None = None
    end: int | None = None
    last_end: int = 0
    last_stride: int = -1


@dataclass
class _Use:
    """A file in the hands of a process."""

    opens: int = 0
    """Now."""
    position: int | None = 0
    """Of its descriptor; `None`: unknown, because there were several, or it appends."""
    open_flags: int | None = None
    first_open_ns: int | None = None
    last_close_ns: int | None = None


@dataclass
class _Process:
    node: str
    pid: int
    number: int
    begin_ns: int
    end_ns: int
    parent: int | None = None
    command: str = ""
    executable: str = ""
    directory: str = ""
    has_ended: bool = False
    threads: set[int] = field(default_factory=set)
    uses: dict[int, _Use] = field(default_factory=dict)


class _Reading:
    """What is known of all traces."""

    def __init__(self, traces: Sequence[Path], names: tuple[str, ...]) -> None:
        self._traces, self._sources = traces, names
        self._losses: list[Loss] = []
        self._texts: dict[str, str] = {}
        self._unit_ns: dict[Path, int] = {}
        self._nodes: dict[Path, str] = {}
        """Of each trace, the hash of its node: events that an application annotated in C do not name it."""
        self._regions = Regions()
        begin_ns, end_ns = self._find_names()
        self._begin_ns = begin_ns
        duration_s = min(max(0, end_ns - begin_ns), _LONGEST_NS) / _NS
        self._timelines = Timelines(duration_s, timeline_step(duration_s, [], is_traced=True))
        self._processes: dict[tuple[str, int], _Process] = {}
        self._files: dict[str, int] = {}
        self._kinds: dict[int, FileKind] = {}
        self._sums: dict[tuple[int, int, str], _Operation] = {}
        self._sizes: Counter[tuple[int, str, int]] = Counter()
        self._common: dict[tuple[int, str], Counter[int]] = {}
        self._latencies: Counter[tuple[str, int]] = Counter()
        self._pending: dict[tuple[int, str, bool], list[tuple[int, int, int]]] = {}
        self._count = 0
        self._own_categories: Counter[str] = Counter()
        self._nameless = 0
        self._read_calls()

    def _find_names(self) -> tuple[int, int]:
        """What hashes stand for. Returns when the first call began, and the last."""
        begin_ns, end_ns = _MOST_UNIX_NS, 0
        firsts: dict[Path, int] = {}
        for trace in self._traces:
            first, last, unit_ns = _MOST_UNIX_NS, -1, _MICROSECOND_NS
            for line in Lines(trace).raw():
                if trace not in self._nodes and (node := _OF_NODE.search(line)):
                    self._nodes[trace] = node[1].decode(errors="replace")
                if _NAMING.search(line):
                    unit_ns = self._add_name(line, unit_ns)
                    continue
                if (category := _OF_CATEGORY.search(line)) and category[1] not in _NO_REGIONS:
                    self._add_region(line, trace, unit_ns)
                if moment := _MOMENT.search(line):
                    first, last = min(first, int(moment[1])), max(last, int(moment[1]))
            self._unit_ns[trace] = unit_ns
            firsts[trace] = first * unit_ns
            if last >= 0:
                begin_ns = min(begin_ns, first * unit_ns)
                end_ns = max(end_ns, min(last * unit_ns, _MOST_UNIX_NS))
        self._traces = sorted(self._traces, key=firsts.__getitem__)  # who renames a file comes before who reads it
        if end_ns < begin_ns:
            self._refuse_others()
            raise UsageError(
                f"{', '.join(self._sources)}: no call was recorded, or none can be read.",
                "Name traces of DFTracer with calls, recorded with DFTRACER_ENABLE=1.",
            )
        self._regions.nest()
        return begin_ns, end_ns

    def _refuse_others(self) -> None:
        """Raises `UsageError` for a file that is no trace in spite of its name."""
        for trace in self._traces:
            if not any("ph" in line for line in Lines(trace).objects()):
                with trace.open("rb") as file:
                    beginning = file.read(other_files.BEGINNING_BYTES)
                if not other_files.content_of(beginning).startswith(b"["):  # else it is one that was cut
                    raise other_files.not_a_profile(trace, beginning)

    def _add_region(self, line: bytes, trace: Path, unit_ns: int) -> None:
        found = parsed(line)
        if found is None or not is_annotated(found):
            return
        thread = self._thread(found, trace)
        if thread is not None:
            self._regions.add(thread, found, unit_ns)

    def _thread(self, line: Mapping[str, Any], trace: Path) -> Thread | None:
        """The thread of a line; `None` where a damaged line does not say it."""
        pid, number = calls.number(line.get("pid")), calls.number(line.get("tid"))
        if pid is None:
            return None
        node = _arguments(line).get("hhash", self._nodes.get(trace))
        return Thread(self._texts.get(str(node), ""), pid, number or 0)

    def _add_name(self, line: bytes, unit_ns: int) -> int:
        """Adds what a hash stands for. Returns the unit of times, which a line may say."""
        found = parsed(line)
        if found is None:
            return unit_ns
        arguments = _arguments(found)
        name, value = arguments.get("name"), arguments.get("value")
        if found.get("name") == "CM" and name == "time_metric":
            return _UNITS_NS.get(str(value), unit_ns)
        if isinstance(name, str) and isinstance(value, str | int):
            self._texts[str(value)] = name
        return unit_ns

    def _read_calls(self) -> None:
        for trace in self._traces:
            lines, unit_ns = Lines(trace), self._unit_ns[trace]
            numbers, expected, other_phases, ended, last = 0, None, 0, False, None
            for line in lines.objects():
                if not calls.is_call(line):
                    other_phases += line.get("ph") not in ("M", 4)
                    continue
                numbers += 1
                thread = self._thread(line, trace)
                last = None if thread is None else self._process(thread, line, unit_ns)
                if thread is None or last is None:
                    continue
                if line.get("cat") == calls.OF_TRACER:
                    count = self._add_state(last, line)
                    expected, ended = (count, True) if line.get("name") == "end" else (expected, ended)
                elif is_annotated(line):
                    self._regions.pass_event(thread)
                else:
                    self._add_call(last, thread, line, unit_ns)
            self._note_losses(
                trace, lines.unread_bytes, numbers, expected, other_phases, is_whole=ended or last is None
            )
        self._flush()
        if not self._files:
            raise UsageError(
                f"{', '.join(self._sources)}: its calls have no arguments, so neither files nor bytes are known.",
                "Record again with DFTRACER_INC_METADATA=1.",
            )

    def _note_losses(
        self, trace: Path, unread: int, numbers: int, expected: int | None, others: int, *, is_whole: bool
    ) -> None:
        where = str(trace)
        if unread:
            self._losses.append(Loss("damaged-bytes", unread, where, "they are no lines of JSON"))
        if expected is not None and numbers <= expected:  # it counts all before its last line
            self._losses.append(Loss("untraced-calls", expected + 1 - numbers, where))
        if others:
            reason = f"{others} lines that are no call, such as sums of calls"
            self._losses.append(Loss("partial", 1, where, reason))
        if not is_whole:
            reason = "it has no end: its process was killed, or it was cut"
            self._losses.append(Loss("partial", 1, where, reason))

    def _process(self, thread: Thread, line: Mapping[str, Any], unit_ns: int) -> _Process | None:
        """The process of a line, which it is heard of; `None` where a damaged line does not say when."""
        start, lasted = calls.number(line.get("ts")), calls.number(line.get("dur"))
        if start is None or start < 0 or not 0 <= start * unit_ns - self._begin_ns <= _LONGEST_NS:
            return None
        begin_ns = start * unit_ns
        end_ns = begin_ns + min(max(0, lasted or 0) * unit_ns, _LONGEST_NS)
        key = thread.node, thread.process
        found = self._processes.get(key)
        if found is None:
            found = _Process(*key, len(self._processes), begin_ns, end_ns)
            self._processes[key] = found
        found.begin_ns, found.end_ns = min(found.begin_ns, begin_ns), max(found.end_ns, end_ns)
        found.threads.add(thread.number)
        return found

    def _add_state(self, process: _Process, line: Mapping[str, Any]) -> int | None:
        """What a trace says of its process when that begins and ends. Returns how many calls it has, at its end."""
        arguments = _arguments(line)
        if line.get("name") == "end":
            process.has_ended = True
            return calls.number(arguments.get("num_events"))
        if line.get("name") == "start":
            process.parent = calls.number(arguments.get("ppid"))
            command = self._texts.get(str(arguments.get("cmd_hash")), "")
            process.command = command.replace(";", " ")
            process.directory = self._texts.get(str(arguments.get("cwd")), "")
        return None

    def _add_call(self, process: _Process, thread: Thread, line: Mapping[str, Any], unit_ns: int) -> None:
        name, category, arguments = str(line.get("name")), str(line.get("cat")), _arguments(line)
        path = self._path(process, arguments)
        if name == "chdir" and path is not None:
            process.directory = path
            return
        if category not in calls.OPERATIONS:
            self._own_categories[category] += 1
            return
        operation = calls.OPERATIONS[category].get(name)
        if operation is None:
            return
        if path is None:
            self._nameless += 1
            return
        start = calls.number(line.get("ts")) or 0
        lasted_ns = min(max(0, calls.number(line.get("dur")) or 0) * unit_ns, _LONGEST_NS)
        file = self._file(path, name)
        moved = calls.moved_bytes(name, arguments) if operation in _MAPPED_AND_MOVED and operation != "map" else 0
        own = self._sums.setdefault((process.number, file, operation), _Operation())
        own.calls += 1
        failed = calls.has_failed(name, operation, arguments)
        own.failed = None if failed is None or own.failed is None else own.failed + failed
        own.bytes += moved
        own.ns += lasted_ns
        own.slowest_ns = max(own.slowest_ns, lasted_ns)
        use = process.uses.setdefault(file, _Use())
        begin_ns = start * unit_ns
        if operation in ("open", "close", "seek"):
            _follow(use, operation, arguments, begin_ns, begin_ns + lasted_ns)
        if operation in ("read", "write") and not failed:
            _add_place(own, use, calls.number(arguments.get("offset")), moved)
            self._add_size(file, operation, moved)
        elif moved:
            self._add_size(file, operation, moved)
        if operation == "rename":
            new = self._texts.get(str(arguments.get("newpath_hash")))
            if new is not None:
                self._files.setdefault(_absolute(process.directory, new), file)
        self._add_time((process.number, file, operation), begin_ns, lasted_ns, moved)
        self._regions.add_call(thread, self._shown_operation(file, operation), begin_ns, lasted_ns, moved)

    def _path(self, process: _Process, arguments: Mapping[str, Any]) -> str | None:
        """The path that a line is about. `None`: none, or its name is lost."""
        name = arguments.get("fname") or self._texts.get(str(arguments.get("fhash")))
        return _absolute(process.directory, name) if isinstance(name, str) and name else None

    def _file(self, path: str, function: str) -> int:
        file = self._files.setdefault(path, len(self._files))
        if function == "opendir":
            self._kinds[file] = "directory"
        elif file not in self._kinds:
            self._kinds[file] = kind_of(path)
        return file

    def _add_size(self, file: int, operation: str, moved: int) -> None:
        self._sizes[file, operation, bisect_right(SIZE_BEGINS_BYTES, moved) - 1] += 1
        common = self._common.setdefault((file, operation), Counter())
        if moved in common or len(common) < _MOST_SIZES:
            common[moved] += 1

    def _add_time(self, key: tuple[int, int, str], begin_ns: int, ns: int, moved: int) -> None:
        process, file, operation = key
        is_stored, shown = self._is_stored(file), self._shown_operation(file, operation)
        bucket = bisect_right(LATENCY_BEGINS_TICKS, ns) - 1 if ns >= _MICROSECOND_NS else -1
        self._latencies[shown, bucket] += 1
        row = (begin_ns - self._begin_ns, ns, moved)
        self._pending.setdefault((process, shown, is_stored), []).append(row)
        self._count += 1
        if self._count > _MOST_PENDING:
            self._flush()

    def _flush(self) -> None:
        for (process, operation, is_stored), rows in self._pending.items():
            begin, ns, moved = np.array(rows, dtype=np.float64).T
            direction = DIRECTION.get(operation)
            moves = Moves(
                process, operation, direction == "write", begin / _NS, (begin + ns) / _NS, moved, is_traced=True
            )
            self._timelines.add(moves, is_heat=is_stored and direction in ("read", "write"))
        self._pending.clear()
        self._count = 0

    def _is_stored(self, file: int) -> bool:
        return self._kinds[file] in ON_STORAGE

    def _shown_operation(self, file: int, operation: str) -> str:
        return operation if self._is_stored(file) else elsewhere(operation)

    def profile(self) -> Profile:
        """The profile of all traces."""
        processes = sorted(self._processes.values(), key=lambda one: one.number)
        commands = dict.fromkeys(one.command for one in processes if one.command)
        roots = [one.command for one in processes if one.command and not self._has_parent(one)]
        end_ns = max(one.end_ns for one in processes)
        numbers = {key: one.number for key, one in self._processes.items()}
        return Profile(
            source="dftracer",
            names=self._sources,
            commands=tuple(dict.fromkeys(roots)) or tuple(commands),
            is_running=False,
            begin_unix_ns=self._begin_ns,
            end_unix_ns=end_ns,
            origin_unix_ns=self._begin_ns,
            timeline_step_s=self._timelines.step_s,
            heat_step_s=self._timelines.heat_step_s,
            processes=self._process_frame(processes),
            process_operations=self._process_operations(),
            timeline=self._timelines.timeline(),
            heat=self._timelines.heat(),
            files=self._file_frame(processes),
            file_operations=self._file_operations(),
            file_processes=self._file_processes(processes),
            file_sizes=self._size_frame(),
            common_sizes=self._common_frame(),
            maps=MAPS.to_frame(),
            latencies=self._latency_frame(),
            errors=ERRORS.to_frame(),
            in_flight=IN_FLIGHT.to_frame(),
            losses=(*self._losses, *self._lost_regions()),
            regions=self._regions.stays(numbers, self._begin_ns),
            region_operations=self._regions.operations(numbers),
            unknown=(*_UNKNOWN, *self._left_out()),
            uncounted=_UNCOUNTED,
        )

    def _lost_regions(self) -> Iterator[Loss]:
        for pid, events in self._regions.lost():
            yield Loss("lost-regions", events, f"process {pid}")

    def _left_out(self) -> Iterator[str]:
        if self._nameless:
            yield f"{self._nameless:,} calls have no file in the trace and are left out."
        if self._own_categories:
            named = ", ".join(f"{name} ({count:,})" for name, count in self._own_categories.most_common(5))
            yield f"Events that are no call of POSIX or of streams are left out: {named}."

    def _has_parent(self, one: _Process) -> bool:
        return one.parent is not None and (one.node, one.parent) in self._processes

    def _process_frame(self, processes: Sequence[_Process]) -> pl.DataFrame:
        columns = {"read": ("read_bytes", "read_ns"), "write": ("written_bytes", "write_ns")}
        rows = []
        spent: dict[int, Counter[str]] = {one.number: Counter() for one in processes}
        for (process, file, operation), own in self._sums.items():
            direction = DIRECTION.get(operation)
            if not self._is_stored(file):
                spent[process]["elsewhere_ns"] += own.ns
            elif direction == "metadata":
                spent[process]["metadata_ns"] += own.ns
            elif direction is not None:
                moved, time = columns[direction]
                spent[process][moved] += own.bytes
                spent[process][time] += own.ns
        known = ("read_bytes", "written_bytes", "read_ns", "write_ns", "metadata_ns", "elsewhere_ns")
        for one in processes:
            rows.append(
                {
                    "process": one.number,
                    "node": one.node or None,
                    "pid": one.pid,
                    "parent_pid": one.parent,
                    "command": one.command,
                    "executable": one.executable or None,
                    "begin_unix_ns": one.begin_ns,
                    "end_unix_ns": one.end_ns,
                    "state": "ended" if one.has_ended else "killed",
                    "threads": len(one.threads),
                    "images": 1,
                }
                | {name: spent[one.number][name] for name in known}
            )
        return pl.DataFrame(rows, schema=PROCESSES)

    def _process_operations(self) -> pl.DataFrame:
        rows = [
            (
                process,
                self._shown_operation(file, operation),
                own.calls,
                own.bytes,
                own.ns,
                own.slowest_ns,
            )
            for (process, file, operation), own in self._sums.items()
        ]
        every = pl.DataFrame(rows, schema=PROCESS_OPERATIONS, orient="row")
        sums = every.group_by("process", "operation").agg(
            pl.col("calls", "bytes", "duration_ns").sum(), pl.col("slowest_ns").max()
        )
        return sums.select(list(PROCESS_OPERATIONS)).sort("process", "operation")

    def _sum_frame(self) -> pl.DataFrame:
        """A row for each process, file and operation."""
        names = (
            "calls", "failed", "bytes", "ns", "slowest_ns", "consecutive", "forward", "strided", "begin", "end"
        )  # fmt: skip
        rows = [(*key, *(getattr(own, name) for name in names)) for key, own in self._sums.items()]
        schema = {"process": pl.Int64, "file": pl.Int64, "operation": pl.String} | dict.fromkeys(names, pl.Int64)
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _file_operations(self) -> pl.DataFrame:
        known = ("failed", "consecutive", "forward", "strided")
        moves = pl.col("operation").is_in(list(_MAPPED_AND_MOVED))
        return (
            self._sum_frame()
            .group_by("file", "operation")
            .agg(
                pl.col("calls").sum(),
                *(pl.when(pl.col(name).is_not_null().all()).then(pl.col(name).sum()).alias(name) for name in known),
                pl.col("bytes").sum(),
                pl.col("ns").sum().alias("duration_ns"),
                pl.col("slowest_ns").max(),
                pl.col("process").n_unique().cast(pl.Int64).alias("processes"),
                pl.lit(None, pl.Int64).alias("misaligned"),
                pl.col("begin").min().alias("begin_bytes"),
                pl.col("end").max().alias("end_bytes"),
            )
            .with_columns(pl.when(moves).then(pl.col(name)) for name in ("bytes", "duration_ns", "slowest_ns"))
            .select(list(FILE_OPERATIONS))
            .sort("file", "operation")
        )

    def _file_frame(self, processes: Sequence[_Process]) -> pl.DataFrame:
        sums = self._sum_frame()
        direction = pl.col("operation").replace_strict(DIRECTION, default=None, return_dtype=pl.String)
        of_process = (
            sums.filter(direction.is_in(["read", "write"]))
            .group_by("file", "process")
            .agg(pl.col("bytes", "ns").sum())
            .group_by("file")
            .agg(
                least_process_bytes=pl.col("bytes").min(),
                most_process_bytes=pl.col("bytes").max(),
                fastest_process_ns=pl.col("ns").min(),
                slowest_process_ns=pl.col("ns").max(),
            )
        )
        used = sums.group_by("file").agg(
            processes=pl.col("process").n_unique().cast(pl.Int64),
            metadata_ns=pl.col("ns").filter(direction == "metadata").sum(),
        )
        opened = (
            self._file_processes(processes)
            .group_by("file")
            .agg(
                pl.col("open_flags").drop_nulls().bitwise_or(),
                pl.col("first_open_s").min(),
                pl.col("last_close_s").max(),
            )
        )
        names = Counter(self._files.values())
        first: dict[int, str] = {}
        for path, file in self._files.items():
            first.setdefault(file, path)
        rows = [(file, path, self._kinds[file], names[file]) for file, path in first.items()]
        schema = {"file": pl.Int64, "path": pl.String, "kind": pl.String, "names": pl.Int64}
        files = pl.DataFrame(rows, schema=schema, orient="row")
        for part in (used, of_process, opened):
            files = files.join(part, on="file", how="left")
        return _shaped(files.sort("file"), FILES)

    def _file_processes(self, processes: Sequence[_Process]) -> pl.DataFrame:
        rows: dict[tuple[int, int], dict[str, Any]] = {}
        counted = {
            "create": "creates",
            "remove": "removes",
            "rename": "renames",
            "truncate": "truncates",
            "map": "maps",
        }
        for one in processes:
            for file, use in one.uses.items():
                if self._is_stored(file):
                    rows[file, one.number] = dict.fromkeys(FILE_PROCESSES, 0) | {
                        "file": file,
                        "process": one.number,
                        "processes": 1,
                        "open_flags": use.open_flags,
                        "first_open_s": self._second(use.first_open_ns),
                        "last_close_s": self._second(use.last_close_ns),
                    }
        for (process, file, operation), own in self._sums.items():
            row = rows.get((file, process))
            if row is None:
                continue
            match DIRECTION.get(operation):
                case "read":
                    row["read_bytes"] += own.bytes
                    row["read_ns"] += own.ns
                case "write":
                    row["written_bytes"] += own.bytes
                    row["write_ns"] += own.ns
            if operation in counted:
                row[counted[operation]] += own.calls
        frame = pl.DataFrame(list(rows.values()), schema=FILE_PROCESSES)
        counts = ("read_bytes", "written_bytes", *counted.values())
        is_used = pl.col("first_open_s").is_not_null() | pl.any_horizontal(pl.col(name) > 0 for name in counts)
        return frame.filter(is_used).sort("file", "process")

    def _second(self, unix_ns: int | None) -> float | None:
        return None if unix_ns is None else (unix_ns - self._begin_ns) / _NS

    def _size_frame(self) -> pl.DataFrame:
        ends = [*SIZE_BEGINS_BYTES[1:], None]
        rows = [
            (file, operation, SIZE_BEGINS_BYTES[bucket], ends[bucket], count)
            for (file, operation, bucket), count in sorted(self._sizes.items())
        ]
        return pl.DataFrame(rows, schema=FILE_SIZES, orient="row")

    def _common_frame(self) -> pl.DataFrame:
        rows = [
            (file, operation, size, count)
            for (file, operation), sizes in sorted(self._common.items())
            for size, count in sorted(sizes.most_common(_MOST_COMMON))
        ]
        return pl.DataFrame(rows, schema=COMMON_SIZES, orient="row")

    def _latency_frame(self) -> pl.DataFrame:
        begins = (*map(float, LATENCY_BEGINS_TICKS), None)
        rows = [
            (operation, *((0.0, float(_MICROSECOND_NS)) if bucket < 0 else (begins[bucket], begins[bucket + 1])), count)
            for (operation, bucket), count in self._latencies.items()
        ]
        order = pl.col("operation").cast(pl.Enum(CLASSES))
        return pl.DataFrame(rows, schema=LATENCIES, orient="row").sort(order, "begin_ns")


def _arguments(line: Mapping[str, Any]) -> Mapping[str, Any]:
    found = line.get("args")
    return found if isinstance(found, dict) else {}


@lru_cache(maxsize=1 << 12)
def _absolute(directory: str, name: str) -> str:
    normal = posixpath.normpath(posixpath.join(directory, name))
    return normal[1:] if normal.startswith("//") else normal


def _follow(use: _Use, operation: str, arguments: Mapping[str, Any], begin_ns: int, end_ns: int) -> None:
    """What opens, closes and seeks do to the descriptor of a file."""
    if operation == "open":
        use.opens += 1
        flags = calls.open_flags(arguments)
        use.open_flags = flags | (use.open_flags or 0)
        use.first_open_ns = begin_ns if use.first_open_ns is None else min(begin_ns, use.first_open_ns)
        use.position = 0 if use.opens == 1 and not flags & 0o2000 else None
    elif operation == "close":
        use.opens = max(0, use.opens - 1)
        use.last_close_ns = max(end_ns, use.last_close_ns or 0)
    elif operation == "seek" and use.opens <= 1:
        place = calls.number(arguments.get("ret"))
        use.position = place if place is not None and place >= 0 else use.position


def _add_place(own: _Operation, use: _Use, offset: int | None, moved: int) -> None:
    """Where a request was, against the one before."""
    begin = use.position if offset is None else max(0, offset)
    if offset is None and use.position is not None:
        use.position += moved
    if begin is None or own.consecutive is None or own.forward is None or own.strided is None:
        own.consecutive = own.forward = own.strided = None
        return
    if begin == own.last_end:
        own.consecutive += 1
    elif begin > own.last_end:
        own.forward += 1
        own.strided += begin - own.last_end == own.last_stride
    own.last_stride = begin - own.last_end
    own.last_end = begin + moved
    if moved:
        own.begin = begin if own.begin is None else min(own.begin, begin)
        own.end = max(own.end or 0, begin + moved)


def _shaped(rows: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    return rows.select(
        (pl.col(name) if name in rows.columns else pl.lit(None)).cast(kind, strict=False).alias(name)
        for name, kind in schema.items()
    )

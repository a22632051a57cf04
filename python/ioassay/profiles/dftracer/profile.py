"""Traces of DFTracer → the profile of an application.

Each trace is read twice: first what names stand for and from when to when it goes, then its calls. Memory grows with
the calls of the longest trace.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from ioassay.errors import UsageError
from ioassay.profiles import other_files
from ioassay.profiles.dftracer import calls
from ioassay.profiles.dftracer.lines import Lines, parsed
from ioassay.profiles.dftracer.recognise import trace_files
from ioassay.profiles.dftracer.regions import Regions, Thread, is_annotated
from ioassay.profiles.model import PROCESSES, Loss, Profile
from ioassay.profiles.traced_calls import CALLS, TracedCalls
from ioassay.profiles.traced_files import shown_operation
from ioassay.protocol.record_layout import FIRST_TRANSFER
from ioassay.protocol.record_layout import OPERATIONS as CLASSES

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
"""Calls that are Python's own objects, before they are a part of a frame."""

_MOVES = frozenset(CLASSES[FIRST_TRANSFER:]) - {"map"}

_ROWS = pl.Schema(
    {
        "process": pl.Int32(),
        "path": pl.Int32(),  # its number, as of `new_path`
        "new_path": pl.Int32(),
        "operation": CALLS["operation"],
        "begin_ns": pl.Int64(),  # since the origin
        "ns": pl.Int64(),
    }
    | {name: CALLS[name] for name in ("bytes", "offset", "seek_to", "open_flags", "is_stream", "failed")}
)
"""Of calls, while lines are read."""

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
class _Process:
    node: str
    pid: int
    number: int
    begin_ns: int
    end_ns: int
    parent: int | None = None
    command: str = ""
    directory: str = ""
    has_ended: bool = False
    threads: set[int] = field(default_factory=set)


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
        self._calls = TracedCalls(min(max(0, end_ns - begin_ns), _LONGEST_NS) / _NS, _MICROSECOND_NS)
        self._processes: dict[tuple[str, int], _Process] = {}
        self._paths: dict[str, int] = {}
        """The number of each in the trace that is read."""
        self._numbers: dict[tuple[str, str], int] = {}
        """That of a path, by the directory in which a process was, and the name that it used."""
        self._pending: list[tuple[object, ...]] = []
        self._parts: list[pl.DataFrame] = []
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
        event = parsed(line)
        if event is None or not is_annotated(event):
            return
        thread = self._thread(event, trace)
        if thread is not None:
            self._regions.add(thread, event, unit_ns)

    def _thread(self, line: Mapping[str, Any], trace: Path) -> Thread | None:
        """The thread of a line; `None` where a damaged line does not say it."""
        pid, number = calls.number(line.get("pid")), calls.number(line.get("tid"))
        if pid is None:
            return None
        node = _arguments(line).get("hhash", self._nodes.get(trace))
        return Thread(self._texts.get(str(node), ""), pid, number or 0)

    def _add_name(self, line: bytes, unit_ns: int) -> int:
        """Adds what a hash stands for. Returns the unit of times, which a line may say."""
        event = parsed(line)
        if event is None:
            return unit_ns
        arguments = _arguments(event)
        name, value = arguments.get("name"), arguments.get("value")
        if event.get("name") == "CM" and name == "time_metric":
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
                thread, when = self._thread(line, trace), self._when(line, unit_ns)
                if thread is None or when is None:
                    last = None
                    continue
                last = self._process(thread, *when)
                if line.get("cat") == calls.OF_TRACER:
                    count = self._add_state(last, line)
                    expected, ended = (count, True) if line.get("name") == "end" else (expected, ended)
                elif is_annotated(line):
                    self._regions.pass_event(thread)
                else:
                    self._add_call(last, thread, line, *when)
            self._add_calls()
            self._note_losses(
                trace, lines.unread_bytes, numbers, expected, other_phases, is_whole=ended or last is None
            )
        if self._calls.is_empty:
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

    def _when(self, line: Mapping[str, Any], unit_ns: int) -> tuple[int, int] | None:
        """When what a line says began, and how long it took; `None` where a damaged line does not say when."""
        start, lasted = calls.number(line.get("ts")), calls.number(line.get("dur"))
        if start is None or start < 0 or not 0 <= start * unit_ns - self._begin_ns <= _LONGEST_NS:
            return None
        return start * unit_ns, min(max(0, lasted or 0) * unit_ns, _LONGEST_NS)

    def _process(self, thread: Thread, begin_ns: int, ns: int) -> _Process:
        """The process of a thread, which is heard of."""
        end_ns = begin_ns + ns
        key = thread.node, thread.process
        process = self._processes.get(key)
        if process is None:
            process = _Process(*key, len(self._processes), begin_ns, end_ns)
            self._processes[key] = process
        process.begin_ns = min(process.begin_ns, begin_ns)
        process.end_ns = max(process.end_ns, end_ns)
        process.threads.add(thread.number)
        return process

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

    def _add_call(self, process: _Process, thread: Thread, line: Mapping[str, Any], begin_ns: int, ns: int) -> None:
        name, category, arguments = str(line.get("name")), str(line.get("cat")), _arguments(line)
        given = arguments.get("fname") or self._texts.get(str(arguments.get("fhash")))
        path = given if isinstance(given, str) and given else None
        if name == "chdir" and path is not None:
            process.directory = _absolute(process.directory, path)
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
        new = self._texts.get(str(arguments.get("newpath_hash"))) if operation == "rename" else None
        moved = calls.moved_bytes(name, arguments) if operation in _MOVES else 0
        offset = calls.number(arguments.get("offset")) if operation in ("read", "write") else None
        row = (
            process.number,
            self._path(process, path),
            None if new is None else self._path(process, new),
            operation,
            begin_ns - self._begin_ns,
            ns,
            moved,
            None if offset is None else max(0, offset),
            calls.number(arguments.get("ret")) if operation == "seek" else None,
            calls.open_flags(arguments) if operation == "open" else None,
            category == calls.OF_STREAMS,
            calls.has_failed(name, operation, arguments),
        )
        self._pending.append(row)
        if len(self._pending) >= _MOST_PENDING:
            self._flush()
        if self._regions.has(thread):
            shown = shown_operation(operation, _absolute(process.directory, path))
            self._regions.add_call(thread, shown, begin_ns, ns, moved)

    def _path(self, process: _Process, name: str) -> int:
        """The number of a path."""
        key = process.directory, name
        if key not in self._numbers:
            self._numbers[key] = self._paths.setdefault(_absolute(*key), len(self._paths))
        return self._numbers[key]

    def _flush(self) -> None:
        if self._pending:
            columns = zip(_ROWS, zip(*self._pending, strict=True), strict=True)
            self._parts.append(pl.DataFrame(dict(columns), schema=_ROWS))
            self._pending.clear()

    def _add_calls(self) -> None:
        """Adds the calls of a trace that was read."""
        self._flush()
        if not self._parts:
            return
        paths = pl.lit(pl.Series(list(self._paths), dtype=pl.Categorical))
        begin_ns = pl.col("begin_ns")
        rows = pl.concat(self._parts, rechunk=True)
        self._parts.clear()
        self._calls.add(
            rows.with_columns(
                paths.gather("path").alias("path"),
                paths.gather("new_path").alias("new_path"),
                begin_s=begin_ns / _NS,
                end_s=(begin_ns + pl.col("ns")) / _NS,
            )
        )
        self._paths.clear()
        self._numbers.clear()

    def profile(self) -> Profile:
        """The profile of all traces."""
        processes = sorted(self._processes.values(), key=lambda process: process.number)
        commands = dict.fromkeys(process.command for process in processes if process.command)
        roots = [process.command for process in processes if process.command and not self._has_parent(process)]
        end_ns = max(process.end_ns for process in processes)
        numbers = {key: process.number for key, process in self._processes.items()}
        return self._calls.profile(
            self._process_frame(processes),
            source="dftracer",
            names=self._sources,
            commands=tuple(dict.fromkeys(roots)) or tuple(commands),
            begin_unix_ns=self._begin_ns,
            end_unix_ns=end_ns,
            origin_unix_ns=self._begin_ns,
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

    def _has_parent(self, process: _Process) -> bool:
        return process.parent is not None and (process.node, process.parent) in self._processes

    def _process_frame(self, processes: Sequence[_Process]) -> pl.DataFrame:
        rows = [
            {
                "process": process.number,
                "node": process.node or None,
                "pid": process.pid,
                "parent_pid": process.parent,
                "command": process.command,
                "begin_unix_ns": process.begin_ns,
                "end_unix_ns": process.end_ns,
                "state": "ended" if process.has_ended else "killed",
                "threads": len(process.threads),
                "images": 1,
            }
            for process in processes
        ]
        return pl.DataFrame(rows, schema={name: PROCESSES[name] for name in rows[0]})


def _arguments(line: Mapping[str, Any]) -> Mapping[str, Any]:
    arguments = line.get("args")
    return arguments if isinstance(arguments, dict) else {}


def _absolute(directory: str, name: str) -> str:
    normal = posixpath.normpath(posixpath.join(directory, name))
    return normal[1:] if normal.startswith("//") else normal

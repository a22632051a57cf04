"""Mistral's log lines: text → entries, and back.

A line has fields separated by commas. Within a field, a comma and a backslash are escaped by a backslash, and `\\n` is
a line feed; nothing is quoted. Until October 2019 (version 4 of the plug-in interface, early 5) it was different: as in
CSV, a field with a comma or a quote was quoted, and a backslash had no special meaning. Lines for plug-ins begin with
`SCOPE#KIND#`; those of log files do not, because each scope and kind has its own file. Version 6 (since 2020) has the
file system's type, name and host after the path; older versions do not. Early version 4 has no sequence number, which
is 0 here.

Times are local times of the host, without a time zone.
Not: converting entries (`alerts`), sending them to plug-ins (`plugin_stream`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from ioassay.monitoring.mistral.terms import (
    KINDS,
    LARGEST,
    MEASUREMENTS,
    SCOPES,
    TIMES,
    CallType,
    Kind,
    Measurement,
    Problems,
    Scope,
    SizeRange,
    Units,
    Unreadable,
    format_quantity,
    parse_call_types,
    parse_quantity,
    shown,
    units_of,
    word,
)
from ioassay.yaml_models.source import Origin, Problem

Version = Literal[5, 6]
"""Versions of the plug-in interface."""

VERSIONS: Final[tuple[Version, ...]] = (5, 6)

MOST_COMMAND: Final = 1405
"""Most characters of a command line that Mistral keeps and plug-ins accept."""

_FIELDS: Final[dict[int, Version]] = {17: 5, 20: 6}
"""The version by the number of fields; version 4 has the fields of 5."""

_WITHOUT_SEQUENCE: Final = 16
"""Number of fields in early version 4."""

_NO_RANK: Final = ("", "-1")

_PATH: Final = 2
"""Index of the rule's path."""

_FILE_SYSTEM: Final = slice(3, 6)
"""Indices of the fields of the file system."""

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?", re.ASCII)
_ESCAPED: Final = re.compile(r"\\(.?)", re.DOTALL)
_QUOTED: Final = re.compile(r'"((?:[^"]|"")*)"')
_CSV_FIELD: Final = re.compile(rf"(?:{_QUOTED.pattern}(?=,|\Z)|[^,]*)", re.DOTALL)
_FIELD: Final = re.compile(r"(?:[^\\,]|\\.|\\\Z)*", re.DOTALL)


@dataclass(frozen=True)
class Source:
    """The contract of an entry, one of Mistral's four."""

    scope: Scope
    kind: Kind


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """A log entry that a rule was broken."""

    source: Source
    time: datetime
    """Without a time zone."""
    label: str
    path: str
    """Path of the rule."""
    file_system_type: str = ""
    file_system_name: str = ""
    file_system_host: str = ""
    call_types: tuple[CallType, ...]
    sizes: SizeRange
    measurement: Measurement
    measured: int
    """In the base unit of the measurement: bytes, microseconds, calls."""
    measured_us: int
    """Duration of the measurement."""
    threshold: int
    timeframe_us: int
    host: str
    pid: int
    """The process that contributed most."""
    processor: int
    """The processor of that process's last such call."""
    command: str
    file: str
    """The file of the call that exceeded the threshold."""
    job_group: str
    job: str
    rank: int | None
    sequence: int


@dataclass(frozen=True)
class Log:
    """The entries of a log, and problems with unreadable lines."""

    entries: list[LogEntry]
    unreadable: list[Problem]


def read_log(text: str, file: str, source: Source | None = None) -> Log:
    """Reads a log; `file` is its name in problems, `source` the contract of lines that do not name theirs.

    An unreadable line does not affect others. Raises `SourceError` with a line for each problem if all are unreadable.
    """
    entries: list[LogEntry] = []
    problems = Problems()
    for number, line in enumerate(text.split("\n"), start=1):
        if not line:
            continue
        with problems.collecting(Origin(f"{file}:{number}")):
            entries.append(read_entry(line, source))
    if not entries:
        problems.check()
    return Log(entries, problems.found)


def read_entry(line: str, source: Source | None = None) -> LogEntry:
    """Parses a line without its end. Raises `Unreadable`."""
    fields = _fields(line)
    version = _FIELDS.get(len(fields))
    if version is None:
        counts = " or ".join(str(count) for count in _FIELDS)
        raise Unreadable(f"{len(fields)} fields where a log line has {counts}", "give a log of Mistral 2.12 or later")
    *marks, time = fields[0].split("#")
    if marks:
        if len(marks) != 2:
            raise Unreadable(f"{shown(fields[0])} is not the beginning of a log line", "begin with local#monitor#TIME")
        source = Source(word(marks[0], SCOPES, "scope"), word(marks[1], KINDS, "kind of contract"))
    if source is None:
        raise Unreadable("the line does not say what contract it is of", "say the log's scope and kind")
    file_system = fields[_FILE_SYSTEM] if version == 6 else ["", "", ""]
    if version == 6:
        del fields[_FILE_SYSTEM]
    measurement = word(fields[5], MEASUREMENTS, "measurement")
    units = units_of(measurement)
    measured, measured_us = _rate(fields[6], units)
    threshold, timeframe_us = _rate(fields[7], units)
    return LogEntry(
        source=source,
        time=_moment(time),
        label=fields[1],
        path=fields[2],
        file_system_type=file_system[0],
        file_system_name=file_system[1],
        file_system_host=file_system[2],
        call_types=parse_call_types(fields[3]),
        sizes=SizeRange.parse(fields[4]),
        measurement=measurement,
        measured=measured,
        measured_us=measured_us,
        threshold=threshold,
        timeframe_us=timeframe_us,
        host=fields[8],
        pid=_number(fields[9], "process"),
        processor=_number(fields[10], "processor"),
        command=fields[11],
        file=fields[12],
        job_group=fields[13],
        job=fields[14],
        rank=_number(fields[15], "rank") if fields[15] not in _NO_RANK else None,
        sequence=_number(fields[16], "sequence number"),
    )


def _fields(line: str) -> list[str]:
    """The fields; their number is wrong for an invalid line."""
    fields = [_ESCAPED.sub(_unescaped, field) for field in _split(line)]
    quoted = list(_split_csv(line))
    if any(_needs_quotes(field) for field in quoted):
        plain = [match[1].replace('""', '"') if (match := _QUOTED.fullmatch(field)) else field for field in quoted]
        if len(plain) == _WITHOUT_SEQUENCE:
            plain.append("0")
        if _FIELDS.get(len(plain)) == VERSIONS[0] and not _is_version_6(fields, plain[_PATH]):
            return plain
    return [*fields, "0"] if len(fields) == _WITHOUT_SEQUENCE else fields


def _is_version_6(fields: Sequence[str], path_as_csv: str) -> bool:
    """True for a line of version 6 whose quotes also split it into as many CSV fields as version 5 has.

    A line of version 5 has no call types at their index in version 6, unless its label and path have three commas: then
    the path of the rule, which is absolute, decides.
    """
    if _FIELDS.get(len(fields)) != VERSIONS[1]:
        return False
    try:
        parse_call_types(fields[_FILE_SYSTEM.stop])
    except Unreadable:
        return False
    return fields[_PATH].startswith("/") or not path_as_csv.startswith("/")


def _needs_quotes(field: str) -> bool:
    """True for a quoted field that contains a quote, or a comma without a backslash."""
    match = _QUOTED.fullmatch(field)
    return match is not None and re.search(r'""|(?<!\\),', match[1]) is not None


def _split_csv(line: str) -> Iterator[str]:
    """The fields as in CSV, still quoted."""
    position = 0
    while True:
        match = _CSV_FIELD.match(line, position)
        assert match is not None  # a field may be empty
        yield match[0]
        if match.end() == len(line):
            return
        position = match.end() + 1


def _split(line: str) -> Iterator[str]:
    """The fields, still escaped."""
    position = 0
    while True:
        match = _FIELD.match(line, position)
        assert match is not None  # a field may be empty
        yield match[0]
        if match.end() == len(line):
            return
        position = match.end() + 1


def _unescaped(match: re.Match[str]) -> str:
    return {"n": "\n", "": "\\"}.get(match[1], match[1])


def _moment(text: str) -> datetime:
    if _TIME.fullmatch(text) and text >= "1970":
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            pass  # the 31st of February
    raise Unreadable(f"{shown(text)} is not a time", "write it as 2020-07-30T14:30:05.108355")


def _number(text: str, noun: str) -> int:
    if not re.fullmatch("[0-9]{1,19}", text) or int(text) > LARGEST:
        raise Unreadable(f"the {noun} {shown(text)} is not a number that plug-ins take", "write a whole number")
    return int(text)


def _rate(text: str, units: Units) -> tuple[int, int]:
    """Parses a quantity and a time, such as `2MB/1s`."""
    quantity, slash, time = text.partition("/")
    if not slash:
        raise Unreadable(f"{shown(text)} has no time frame", "write it as 2MB/1s")
    return parse_quantity(quantity, units), parse_quantity(time, TIMES)


def write_log(entries: Iterable[LogEntry], version: Version = 6, *, marked: bool = False) -> str:
    """The text of a log. Only `marked` lines, for plug-ins, name their contract."""
    return "".join(write_entry(entry, version, marked=marked) + "\n" for entry in entries)


def write_entry(entry: LogEntry, version: Version = 6, *, marked: bool = False) -> str:
    """A line without its end."""
    units = units_of(entry.measurement)
    mark = f"{entry.source.scope}#{entry.source.kind}#" if marked else ""
    fields: Sequence[object] = (
        mark + entry.time.isoformat(timespec="microseconds"),
        entry.label,
        entry.path,
        *((entry.file_system_type, entry.file_system_name, entry.file_system_host) if version == 6 else ()),
        "+".join(entry.call_types),
        entry.sizes,
        entry.measurement,
        f"{format_quantity(entry.measured, units)}/{format_quantity(entry.measured_us, TIMES)}",
        f"{format_quantity(entry.threshold, units)}/{format_quantity(entry.timeframe_us, TIMES)}",
        entry.host,
        entry.pid,
        entry.processor,
        entry.command[:MOST_COMMAND],
        entry.file,
        entry.job_group,
        entry.job,
        "" if entry.rank is None else entry.rank,
        entry.sequence,
    )
    return ",".join(_escaped(str(field)) for field in fields)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace(",", r"\,").replace("\n", r"\n")

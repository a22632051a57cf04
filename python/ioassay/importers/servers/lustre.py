"""Lustre 2.8 to 2.17: what `lctl get_param` prints of servers and clients, once or again and again in one file.

Read are `obdfilter.*.stats`, `mdt.*.md_stats` (and `.stats`), `job_stats` of both, `osd-*.*.brw_stats`, `llite.*.stats`
and the `stats` of LNet (`lctl get_param stats`, `lnetctl stats show`). Other parameters of the same file are left out.
A parameter begins with its name and `=`; with its path, as `head`, `tail` and `grep` print it; or, with `-n` or `cat`
of a single one, without either: then it is called as the file.

Formats: lustre-release at c881f8e, `lprocfs_stats_seq_show` and `lprocfs_stats_header` in lustre/obdclass/
lprocfs_status.c, `lprocfs_jobstats_seq_show` in lprocfs_jobstats.c, `brw_stats_seq_show` in lprocfs_status_server.c.
Before 2.10 a moment has a point and then the number of microseconds, without zeros before it: `1.5` is 1 s and 5 µs.
Since 2.15 `start_time` and `elapsed_time` follow it; in 2.15 itself all of them count from the server's boot, so that a
time of day is known only where a script printed one (`date +%s`) before. In `job_stats` the moment is that of the
job's last operation, not that of reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ioassay.importers.numbers import NS_PER_S
from ioassay.importers.servers.counters import (
    EARLIEST_NS,
    LARGEST,
    OPERATIONS,
    STAMP,
    Count,
    CounterSource,
    Origin,
    Reading,
    require_end,
    stamp_ns,
)
from ioassay.importers.source import Refused, Source

_NAME = re.compile(r"([a-z][^\s=:]*)=(.*)")
_PATH = re.compile(
    r"(?:==> )?/(?:proc|sys)/[\w/]*?(?P<name>(?:obdfilter|mdt|mds|llite|osd-\w+|lnet)(?:/[^\s/:=]+)*/?[\w]*)(?: <==|=)"
)
_LINE_OF_GREP = re.compile(r"(/(?:proc|sys)/[^\s:]+):(.*)")
_KINDS = (
    (re.compile(r"obdfilter\.([^.]+)\.stats"), "stats", "target"),
    (re.compile(r"(?:mdt|mds)\.([^.]+)\.(?:md_stats|stats)"), "stats", "target"),
    (re.compile(r"llite\.([^.]+)\.stats"), "stats", "client"),
    (re.compile(r"(?:obdfilter|mdt|mds)\.([^.]+)\.job_stats"), "jobs", "target"),
    (re.compile(r"(?:obdfilter|osd-\w+)\.([^.]+)\.brw_stats"), "histograms", "disks"),
    (re.compile(r"(?:lnet\.)?(stats)"), "network", "network"),
)
"""Parameters: the pattern of their names, how their text is read, and the source of the counters."""

_MOMENT = re.compile(
    r" *(snapshot_time|start_time|elapsed_time) *:? +(\d{1,11})(?:\.(\d{1,9}))?(?: \(?secs\.(usecs|nsecs)\)?)?"
)
_COUNTER = re.compile(r"(\S+) +(\d{1,20}) samples \[([\w/]+)\]((?: -?\d{1,39}){0,4})\s*")
_JOB = re.compile(r"- +job_id: *(.*?)\s*")
_ENTRY = re.compile(r"  (\w+): *\{ *samples: *(\d{1,20})((?:, *\w+: *(?:-?\w+|\{[^{}]*\}))*) *\}\s*")
_PAIR = re.compile(r", *(\w+): *(-?\w+|\{[^{}]*\})")
_ESCAPE = re.compile(r"\\x([0-9A-F]{2})")
_TITLE = re.compile(r"(\S.*?) {2,}(?:rpcs|ios|maps) +% cum % +\| +(?:rpcs|ios|maps) +% cum %")
_SIDES = re.compile(r" +read +\| +write *")
_ROW = re.compile(r"(\d{1,20}[KMGT]?):\s+(\d{1,20}) +\d+ +\d+ +\| +(\d{1,20}) +\d+ +\d+ *")
_MEANWHILE = 1024
"""Requests that a server may count between printing their number and printing their sum."""

_LNET = re.compile(r"\d{1,20}(?: +\d{1,20}){10}")
_LNET_ENTRY = re.compile(r" +(\w+): (\d{1,20})")
_LNET_COLUMNS = {"send": (3, 7), "receive": (4, 8)}
"""Columns of the number of messages, and of their bytes."""

_LNET_NAMES = {"send": ("send_count", "send_length"), "receive": ("recv_count", "recv_length")}
_DATE = re.compile(r"(?:[A-Z][a-z]{2} ){2}[ \d]\d .*\d{4}|\d{4}-\d\d-\d\d[T ][\d:.,]+\S*|[-=#*]{3,}.*")
"""Lines that scripts print between readings."""

_MISSING = re.compile(r"error: .*|.*: No such file or directory|.*: Permission denied")


@dataclass
class _Parameter:
    """A parameter of a file, with the lines of its text."""

    name: str
    line: int
    kind: str
    origin: Origin
    stamp_ns: int | None = None
    """The time that a script printed before it."""
    lines: list[tuple[int, str]] = field(default_factory=list)


def read(source: Source) -> list[Reading]:
    """Raises `Refused`."""
    all_readings: list[Reading] = []
    jobs: dict[str, list[Reading]] = {}
    is_empty = True
    for parameter in _parameters(source):
        is_empty = False
        readers = {"stats": _statistics, "jobs": _jobs, "histograms": _histograms, "network": _network}
        parameter_readings = [_stamped(reading, parameter.stamp_ns) for reading in readers[parameter.kind](parameter)]
        if parameter.kind == "jobs":
            parameter_readings = _with_new_jobs(parameter_readings, jobs.get(parameter.name))
            jobs[parameter.name] = parameter_readings
        all_readings += parameter_readings
    if is_empty:
        raise Refused("has none of Lustre's stats, md_stats, job_stats or brw_stats (lctl get_param NAME)")
    return _with_moments(all_readings)


def _stamped(reading: Reading, stamp_ns: int | None) -> Reading:
    """A reading with the time that was printed before it, if its own is missing or counts from the server's boot."""
    if stamp_ns is None or (reading.at_ns is not None and reading.at_ns >= EARLIEST_NS):
        return reading
    began_ns = (
        None if reading.began_ns is None or reading.at_ns is None else reading.began_ns + stamp_ns - reading.at_ns
    )
    return replace(reading, at_ns=stamp_ns, began_ns=began_ns)


def _with_new_jobs(jobs: list[Reading], before: list[Reading] | None) -> list[Reading]:
    """The jobs of a target, with those marked that are new since `before`. Up to 2.14 a job does not say when it began:
    after the last operation counted before.
    """
    if before is None:
        return jobs
    earlier_jobs = {earlier.counter_source.job for earlier in before}
    last = max((earlier.at_ns for earlier in before if earlier.at_ns is not None), default=None)
    return [
        job
        if job.counter_source.job in earlier_jobs
        else replace(job, is_new=True, began_ns=last if job.began_ns is None else job.began_ns)
        for job in jobs
    ]


def _with_moments(readings: Sequence[Reading]) -> list[Reading]:
    """LNet's statistics have no time: they get that of the preceding parameter, or else of the first one after them."""
    moments = [reading.at_ns if reading.counter_source.job is None else None for reading in readings]
    timed, last_ns = [], next((at_ns for at_ns in moments if at_ns is not None), None)
    for reading, at_ns in zip(readings, moments, strict=True):
        last_ns = last_ns if at_ns is None else at_ns
        timed.append(replace(reading, at_ns=last_ns) if reading.at_ns is None else reading)
    return timed


def _parameters(source: Source) -> Iterator[_Parameter]:
    """The parameters that are read; text without a name is one parameter named after the file."""
    current: _Parameter | None = None
    is_named = False
    stamp: int | None = None
    for number, source_line in enumerate(source.lines, start=1):
        line = source_line
        if (match := _LINE_OF_GREP.fullmatch(line)) and (parameter := _known(_name_of_path(match[1]), number)):
            if current is None or current.name != parameter.name or _begins(match[2], current):
                yield from _ended(current)
                current, is_named = parameter, True
            line = match[2]
        elif (name := _named(line)) is not None:
            yield from _ended(current)
            current, is_named = _known(name[0], number), True
            line = name[1]
            if not line:
                continue
        elif not is_named and (current is None or _begins(line, current)):
            yield from _ended(current)
            current = _unnamed(source, line, number)
        if match := STAMP.fullmatch(line):
            stamp = stamp_ns(match)
        elif current is not None:
            if not current.lines:
                current.stamp_ns = stamp
            current.lines.append((number, line))
    if current is not None:
        require_end(source)
    yield from _ended(current)


def _named(line: str) -> tuple[str, str] | None:
    """The name with which a line begins a parameter, and the rest of the line."""
    if match := _NAME.fullmatch(line):
        return match[1], match[2]
    if match := _PATH.match(line):
        return match["name"].replace("/", "."), line[match.end() :]
    return None


def _name_of_path(path: str) -> str:
    match = _PATH.match(path + "=")
    return match["name"].replace("/", ".") if match else path


def _known(name: str, number: int) -> _Parameter | None:
    for form, kind, origin in _KINDS:
        if match := form.fullmatch(name):
            return _Parameter(match[1], number, kind, origin)  # type: ignore[arg-type]
    return None


def _unnamed(source: Source, line: str, number: int) -> _Parameter | None:
    """A parameter recognised by its first line, named after the file."""
    name = source.path.stem
    if line.startswith("job_stats:"):
        return _Parameter(name, number, "jobs", "target")
    if _MOMENT.fullmatch(line):
        return _Parameter(name, number, *(("histograms", "disks") if ":" in line else ("stats", "target")))
    if line.startswith("statistics:") or _LNET.fullmatch(line):
        return _Parameter(name, number, "network", "network")
    return None


def _begins(line: str, current: _Parameter) -> bool:
    """True if a line begins the next reading of the parameter."""
    if current.kind == "jobs":
        return line.startswith("job_stats:")
    return line.startswith(("snapshot_time", "statistics:")) or bool(_LNET.fullmatch(line))


def _ended(parameter: _Parameter | None) -> Iterator[_Parameter]:
    if parameter is not None:
        yield parameter


def _is_between(line: str) -> bool:
    """True for lines between readings: empty lines, dates and rules of scripts, errors of lctl."""
    return not line.strip() or bool(_DATE.fullmatch(line.strip()) or _MISSING.fullmatch(line))


def _target(parameter: _Parameter) -> CounterSource:
    """The source: `scratch-OST0000` is a target of `scratch`; `scratch-ffff9c1a8b7d2800` a mount of it."""
    system, dash, _ = parameter.name.rpartition("-")
    return CounterSource(parameter.origin, parameter.name, system if dash else parameter.name)


@dataclass
class _Entries:
    """The counters of one reading, while it is parsed."""

    line: int
    times_ns: dict[str, int] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)
    moved: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, unit: str, samples: int, total: str, line: int, *, largest: str) -> None:
        """Adds a counter of an operation. `read_bytes` counts reads; `read` is the same where its unit is bytes (up to
        2.5), and their time elsewhere. Up to 2.11 some others of `obdfilter` have two lines.
        """
        name = name.removesuffix("_bytes") if unit == "bytes" else name
        if name not in OPERATIONS:
            return
        if unit == "bytes":
            if not total.isdigit():
                raise Refused(f"has a counter of bytes without their sum: {name}", line)
            if name in self.moved:
                raise Refused(f"has the counter {name} twice in one reading", line)
            if len(total) > 19 or int(total) >= LARGEST:
                raise Refused(f"has a counter beyond 2^62: {name}", line)
            if largest.isdigit() and int(total) > (samples + _MEANWHILE) * int(largest):
                raise Refused(f"has a sum of {name} that its samples cannot have: the line lacks a number", line)
            self.moved[name] = int(total)
        elif name in self.times and name not in self.moved:
            raise Refused(f"has the counter {name} twice in one reading", line)
        if samples >= LARGEST:
            raise Refused(f"has a counter beyond 2^62: {name}", line)
        if unit == "bytes" or name not in self.times:
            self.times[name] = samples

    def reading(self, counter_source: CounterSource) -> Reading:
        counts = {name: Count(samples, self.moved.get(name)) for name, samples in self.times.items()}
        return Reading(
            counter_source, self.line, self.times_ns.get("snapshot_time"), counts, self.times_ns.get("start_time")
        )


def _statistics(parameter: _Parameter) -> Iterator[Reading]:
    entries = _Entries(parameter.line)
    for number, line in parameter.lines:
        if match := _MOMENT.fullmatch(line):
            _set(entries.times_ns, match, number)
        elif match := _COUNTER.fullmatch(line):
            numbers = match[4].split()
            largest, total = (numbers[1], numbers[2]) if len(numbers) > 2 else ("", "")
            entries.add(match[1], match[3], int(match[2]), total, number, largest=largest)
        elif not _is_between(line):
            raise Refused(f"has a line that is no counter of Lustre, or is cut off: {line[:60]!r}", number)
    if entries.times_ns or entries.times:
        yield entries.reading(_target(parameter))


def _set(times_ns: dict[str, int], match: re.Match[str], line: int) -> None:
    """Adds a time or a duration, in nanoseconds."""
    if match[1] in times_ns:
        raise Refused(f"has {match[1]} twice in one reading", line)
    fraction_ns = int(match[3] or 0) * 1000 if match[4] == "usecs" else int((match[3] or "").ljust(9, "0"))
    if fraction_ns >= NS_PER_S:
        raise Refused(f"has {match[1]} with {match[3]} microseconds", line)
    times_ns[match[1]] = int(match[2]) * NS_PER_S + fraction_ns
    if times_ns[match[1]] >= LARGEST:
        raise Refused(f"has a {match[1]} of {match[2]} s", line)


def _jobs(parameter: _Parameter) -> Iterator[Reading]:
    target = _target(parameter)
    job: CounterSource | None = None
    entries = _Entries(parameter.line)
    for number, line in parameter.lines:
        if match := _JOB.fullmatch(line):
            if job is not None:
                yield entries.reading(job)
            job, entries = replace(target, job=_unquoted(match[1], number)), _Entries(number)
        elif line.startswith("job_stats:") or _is_between(line):
            continue
        elif job is None:
            raise Refused(f"has a line before the first job: {line[:60]!r}", number)
        elif match := _MOMENT.fullmatch(line):
            _set(entries.times_ns, match, number)
        elif match := _ENTRY.fullmatch(line):
            attributes = dict(_PAIR.findall(match[3]))
            unit, largest, total = (attributes.get(key, "") for key in ("unit", "max", "sum"))
            entries.add(match[1], unit, int(match[2]), total, number, largest=largest)
        else:
            raise Refused(f"has a line that is no entry of job_stats, or is cut off: {line[:60]!r}", number)
    if job is not None:
        yield entries.reading(job)


def _unquoted(text: str, line: int) -> str:
    """A job's name: characters other than letters, digits and `.@-_:/` are escaped, and the whole is quoted."""
    if text.startswith('"') and (len(text) < 2 or not text.endswith('"')):
        raise Refused(f"has a job_id that is cut off: {text[:40]!r}", line)
    name = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text[1:-1] if text.startswith('"') else text)
    return "".join(letter if letter.isprintable() else "?" for letter in name)[:255] or "none"


def _histograms(parameter: _Parameter) -> Iterator[Reading]:
    times_ns: dict[str, int] = {}
    histograms: dict[str, dict[str, tuple[int, int]]] = {}
    title = ""
    for number, line in parameter.lines:
        if match := _MOMENT.fullmatch(line):
            _set(times_ns, match, number)
        elif match := _TITLE.fullmatch(line):
            title = match[1]
            if title in histograms:
                raise Refused(f"has the histogram {title!r} twice in one reading", number)
            histograms[title] = {}
        elif (match := _ROW.fullmatch(line)) and title:
            histograms[title][match[1]] = (int(match[2]), int(match[3]))
            if max(histograms[title][match[1]]) >= LARGEST:
                raise Refused("has a counter beyond 2^62", number)
        elif not _SIDES.fullmatch(line) and not _is_between(line):
            raise Refused(f"has a line that is no row of brw_stats, or is cut off: {line[:60]!r}", number)
    if times_ns or histograms:
        sizes = histograms.get(_SIZES, {}).values()
        counts = {
            "disk reads": Count(sum(reads for reads, _ in sizes)),
            "disk writes": Count(sum(writes for _, writes in sizes)),
        }
        yield Reading(
            _target(parameter),
            parameter.line,
            times_ns.get("snapshot_time"),
            counts,
            times_ns.get("start_time"),
            histograms=histograms,
        )


_SIZES = "disk I/O size"


def _network(parameter: _Parameter) -> Iterator[Reading]:
    network = CounterSource("network", "lnet")
    entries: dict[str, int] = {}
    for number, line in parameter.lines:
        if _LNET.fullmatch(line.strip()):
            numbers = [int(text) for text in line.split()]
            counts = {name: Count(numbers[times], numbers[moved]) for name, (times, moved) in _LNET_COLUMNS.items()}
        elif match := _LNET_ENTRY.fullmatch(line):
            entries[match[1]] = int(match[2])
            continue
        elif line.startswith("statistics:") or _is_between(line):
            continue
        else:
            raise Refused(f"has a line that is no statistics of LNet, or is cut off: {line[:60]!r}", number)
        yield Reading(network, number, None, _within(counts, number))
    if entries:
        missing = [name for names in _LNET_NAMES.values() for name in names if name not in entries]
        if missing:
            raise Refused(f"has statistics of LNet without {missing[0]}", parameter.line)
        counts = {name: Count(entries[times], entries[moved]) for name, (times, moved) in _LNET_NAMES.items()}
        yield Reading(network, parameter.line, None, _within(counts, parameter.line))


def _within(counts: dict[str, Count], line: int) -> dict[str, Count]:
    if any(max(count.times or 0, count.bytes or 0) >= LARGEST for count in counts.values()):
        raise Refused("has a counter beyond 2^62", line)
    return counts

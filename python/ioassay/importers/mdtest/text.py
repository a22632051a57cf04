"""What mdtest prints on its standard output.

Of all iterations it prints together the greatest, the least and the mean. Until 3.3 the first two are over iterations
and ranks, later over iterations: with that the colon after an operation went. A section with times came with 3.0 (which
calls itself 1.9). Since 4.1 times are headed `ms/op` and are still seconds. The rows that `-v` prints of each iteration
are of rank 0 alone; which of them tell what all ranks did is for `iterations` to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ioassay.importers.numbers import Printed
from ioassay.importers.source import Refused, Source
from ioassay.importers.transcript import unknown_prefix
from ioassay.store.document import Operation

_LAUNCHED = re.compile(r"mdtest-(\S+) was launched with (\d+) total task\(?s?\)? on (\d+) node")
_STARTED = re.compile(r"-- started at (.+?) --")
_FINISHED = re.compile(r"-- finished at (.+?) --")
_COMMAND = re.compile(r"Command line used: (.*)")
_PATH = re.compile(r"Path\s*: (.+?)\s*$")
_FILE_SYSTEM = re.compile(r"FS\s*: ([\d.]+ \w+)")
_ITEMS = re.compile(r"\d+ tasks, (\d+) (files|directories|files/directories)\s*$")
_STONEWALL = re.compile(r"Continue stonewall hit min: (\d+) max: (\d+) avg: ([\d.]+)")
_SUMMARY = re.compile(r"SUMMARY(?: (rate|time))?(?: \([^)]*\))?: \(of (\d+) iterations\)")
_LINE = re.compile(
    r"\s*(Directory|File|Tree) (creation|stat|read|rename|removal|create \(stonewall\))\s*(:?)((?:\s+\S+)+)\s*$"
)

_ROW = re.compile(
    r"(?:^|.*\s)(Directory|File|Tree) (creation|stat|read|rename|removal)\s*:\s+\d+\.\d+ sec,\s+(\d+\.\d+) ops/sec\s*$"
)

OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        "Directory creation": "create",
        "Directory stat": "stat",
        "Directory rename": "rename",
        "Directory removal": "remove",
        "File creation": "create",
        "File stat": "stat",
        "File read": "read",
        "File removal": "remove",
        "Tree creation": "create-tree",
        "Tree removal": "remove-tree",
    }
)
"""What mdtest calls them, in the order in which it prints them."""

STONEWALL = "File create (stonewall)"
"""The line that tells where file creation stood when its stonewall came."""

_COLUMNS = 4
"""Max, Min, Mean, Std Dev. With statistics by rank, their own columns stand before these."""


@dataclass(frozen=True)
class Line:
    """A line of a summary: rates in operations per second, or times in seconds. `None` where `NA` is printed."""

    line: int
    highest: Printed | None
    lowest: Printed | None
    mean: Printed
    deviation: Printed | None
    by_rank: bool
    """All but the mean are of single ranks, not of iterations."""


@dataclass(frozen=True)
class Row:
    """What rank 0 did of an operation in one iteration."""

    line: int
    rate: Printed
    """Operations per second."""


@dataclass
class Execution:
    """One execution of the program."""

    line: int
    version: str
    tasks: int
    nodes: int
    prefix: str | None = None
    """Why it may have no summary: what stands before its lines is not known."""
    started: str | None = None
    finished: str | None = None
    command: str = ""
    path: str | None = None
    file_system: str | None = None
    items: int | None = None
    """Of all ranks together, as it says before it begins; wrong for trees of directories."""
    stonewalls: list[tuple[int, int, float]] = field(default_factory=list)
    """Of each iteration that met its own: items of the slowest rank, of the fastest, and the mean, when it came."""
    iterations: int = 1
    rates: dict[str, Line] = field(default_factory=dict)
    times: dict[str, Line] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    """By operation, in the order of the iterations; nothing without `-v`."""


def executions(source: Source) -> Iterator[Execution]:
    """The executions in a file. Raises `Refused` for one that has no result, or was cut off."""
    current: Execution | None = None
    started: str | None = None
    section: dict[str, Line] | None = None
    for number, line in enumerate(source.lines, start=1):
        if match := _STARTED.search(line):
            started = match[1]
        elif match := _LAUNCHED.search(line):
            if current is not None:
                yield _finished(current)
            current = Execution(number, match[1], int(match[2]), int(match[3]), started=started)
            current.prefix = unknown_prefix(line, match.start())
            section, started = None, None
        elif current is None:
            continue
        elif match := _SUMMARY.search(line):
            current.iterations = int(match[2])
            section = current.times if match[1] == "time" else current.rates
        elif section is not None and (match := _LINE.match(line)):
            section[f"{match[1]} {match[2]}"] = _line(match[4].split(), number, by_rank=bool(match[3]))
        elif section is None and (match := _ROW.match(line)):
            current.rows.setdefault(f"{match[1]} {match[2]}", []).append(Row(number, Printed.of(match[3], number)))
        elif match := _FINISHED.search(line):
            current.finished = match[1]
        else:
            _note(current, line)
    if current is not None:
        yield _finished(current)


def _note(execution: Execution, line: str) -> None:
    """Keeps what a line tells of the execution."""
    if match := _COMMAND.search(line):
        execution.command = match[1]
    elif match := _PATH.match(line):
        execution.path = match[1]
    elif match := _FILE_SYSTEM.match(line):
        execution.file_system = match[1]
    elif match := _ITEMS.match(line):
        execution.items = int(match[1])
    elif match := _STONEWALL.search(line):
        execution.stonewalls.append((int(match[1]), int(match[2]), float(match[3])))


def _line(words: list[str], line: int, *, by_rank: bool) -> Line:
    if len(words) not in (_COLUMNS, _COLUMNS + 3):
        raise Refused(f"has a summary of {len(words)} numbers instead of {_COLUMNS}", line)
    highest, lowest, mean, deviation = (
        None if word in ("NA", "nan", "-nan") else Printed.of(word, line) for word in words[-_COLUMNS:]
    )
    if mean is None:
        raise Refused("has a summary without a mean", line)
    if len({one.half_unit for one in (highest, lowest, mean, deviation) if one is not None}) > 1:
        raise Refused("has a summary whose numbers differ in their decimals: the line was cut off, or wrapped", line)
    return Line(line, highest, lowest, mean, deviation, by_rank)


def _finished(execution: Execution) -> Execution:
    if not execution.rates:
        cut = "has no summary: mdtest ended, or its output was cut off, before it"
        raise Refused(execution.prefix or cut, execution.line)
    if execution.finished is None:
        last = max(line.line for line in execution.rates.values())
        raise Refused("ends before mdtest says that it has finished: it was cut off", last)
    return execution

"""mdtest's standard output.

It prints the highest, lowest and mean over all iterations. Until 3.3 the first two are over iterations
and ranks, later over iterations, without the colon after an operation. A section with times came with 3.0 (which
calls itself 1.9). Since 4.1 times are headed `ms/op` and are still seconds. The rows that `-v` prints of each iteration
are of rank 0; `iterations` decides which of them represent all ranks.
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
"""By mdtest's names, in the order in which it prints them."""

STONEWALL = "File create (stonewall)"
"""The line with the totals of file creation at its stonewall."""

_COLUMNS = 4
"""Max, Min, Mean, Std Dev. Columns of statistics by rank, if any, come before these."""


@dataclass(frozen=True)
class Line:
    """A line of a summary: rates in operations per second, or times in seconds. `None` where `NA` is printed."""

    line: int
    highest: Printed | None
    lowest: Printed | None
    mean: Printed
    deviation: Printed | None
    by_rank: bool
    """True if all but the mean are of single ranks, not of iterations."""


@dataclass(frozen=True)
class Row:
    """The rate of rank 0 in one iteration of an operation."""

    line: int
    rate: Printed
    """Operations per second."""


@dataclass
class Execution:
    line: int
    version: str
    tasks: int
    nodes: int
    prefix: str | None = None
    """Why it may have no summary: its lines have an unknown prefix."""
    started: str | None = None
    finished: str | None = None
    command: str = ""
    path: str | None = None
    file_system: str | None = None
    items: int | None = None
    """Items of all ranks together, as printed before it begins; wrong for trees of directories."""
    stonewalls: list[tuple[int, int, float]] = field(default_factory=list)
    """For each iteration that met its stonewall: items of the slowest and fastest rank, and the mean, at that time."""
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
    """Adds a line to the execution."""
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
    if len({printed.half_unit for printed in (highest, lowest, mean, deviation) if printed is not None}) > 1:
        raise Refused("has a summary whose numbers differ in their decimals: the line was cut off, or wrapped", line)
    return Line(line, highest, lowest, mean, deviation, by_rank)


def _finished(execution: Execution) -> Execution:
    if not execution.rates:
        reason = "has no summary: mdtest ended, or its output was cut off, before it"
        raise Refused(execution.prefix or reason, execution.line)
    if execution.finished is None:
        last = max(line.line for line in execution.rates.values())
        raise Refused("ends before mdtest says that it has finished: it was cut off", last)
    return execution
